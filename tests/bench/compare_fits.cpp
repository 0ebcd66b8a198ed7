// SPDX-License-Identifier: GPL-2.0-or-later
// The same models on the same windows within the same bounds: this project's fit, which looks for its start
// itself, and Ceres, from that start and from a default one, timed. The problems go to stdout as JSON lines,
// so that compare_fits.py can give them to SciPy as well. compare_fits CURVE.csv...
#include <ceres/ceres.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/quality/curve.hpp"
#include "core/quality/family_fit.hpp"

namespace {

using namespace mlq;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

constexpr SolveOptions kExact{100, 1e-9, 1e-4};  // the tolerance that Ceres is given
constexpr int kWindows = 12;                     // of a curve

// The families in all their parameters, with analytic Jacobians.
struct Sublinear {  // 1/(a x^2 + b x + c) + d
  static constexpr int kParameters = 4;
  using Vector = Eigen::Matrix<double, 4, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double q = 1 / ((p[0] * x + p[1]) * x + p[2]);
    const double q2 = -q * q;
    jacobian << q2 * x * x, q2 * x, q2, 1;
    return q + p[3];
  }
};

struct Hyperbola {  // 1/(b x + c) + d
  static constexpr int kParameters = 3;
  using Vector = Eigen::Matrix<double, 3, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double q = 1 / (p[0] * x + p[1]);
    const double q2 = -q * q;
    jacobian << q2 * x, q2, 1;
    return q + p[2];
  }
};

struct Exponential {  // exp(q - r x) + c
  static constexpr int kParameters = 3;
  using Vector = Eigen::Matrix<double, 3, 1>;
  double operator()(double x, const Vector& p, Vector& jacobian) const {
    const double e = std::exp(std::min(p[0] - p[1] * x, 300.0));
    jacobian << e, -e * x, 1;
    return e + p[2];
  }
};

struct Bounds {
  int parameters = 3;
  Eigen::Vector4d lower = Eigen::Vector4d::Zero(), upper = Eigen::Vector4d::Constant(1e13);
};

Bounds bounds_of(Family family, const FitProblem& problem) {
  Bounds out;
  if (family == Family::sublinear) out.parameters = 4;
  if (family == Family::exponential || family == Family::power)
    out.lower[0] = -1e13;
  else
    out.lower[out.parameters - 2] =
        1e-10;  // no pole within the window; this project's fits keep farther away
  out.lower[out.parameters - 1] = problem.lowest;
  out.upper[out.parameters - 1] = problem.highest;
  return out;
}

// All residuals of a window in one block, with the analytic Jacobian.
template <class Model>
class Residuals : public ceres::CostFunction {
 public:
  explicit Residuals(const FitProblem& problem) : problem_(problem) {
    set_num_residuals(static_cast<int>(problem.x.size()));
    mutable_parameter_block_sizes()->push_back(Model::kParameters);
  }
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    const Eigen::Map<const typename Model::Vector> p(parameters[0]);
    typename Model::Vector row;
    for (std::size_t i = 0; i < problem_.x.size(); ++i) {
      const double weight = std::sqrt(problem_.weights[i]);
      residuals[i] = weight * (model_(problem_.x[i], p, row) - problem_.y[i]);
      if (jacobians != nullptr && jacobians[0] != nullptr)
        for (int j = 0; j < Model::kParameters; ++j)
          jacobians[0][i * Model::kParameters + static_cast<std::size_t>(j)] = weight * row[j];
    }
    return true;
  }

 private:
  const FitProblem& problem_;
  Model model_;
};

template <class Model>
double ceres_cost(const FitProblem& problem, const Bounds& bounds, Eigen::Vector4d p) {
  ceres::Problem built;
  built.AddResidualBlock(new Residuals<Model>(problem), nullptr, p.data());
  for (int i = 0; i < bounds.parameters; ++i) {
    built.SetParameterLowerBound(p.data(), i, bounds.lower[i]);
    built.SetParameterUpperBound(p.data(), i, bounds.upper[i]);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 100;
  options.function_tolerance = 1e-9;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &built, &summary);
  return 2 * summary.final_cost;
}

double ceres_cost(Family family, const FitProblem& problem, const Bounds& bounds,
                  const Eigen::Vector4d& start) {
  if (family == Family::sublinear) return ceres_cost<Sublinear>(problem, bounds, start);
  if (family == Family::hyperbola) return ceres_cost<Hyperbola>(problem, bounds, start);
  return ceres_cost<Exponential>(problem, bounds, start);
}

// What SciPy's curve_fit starts from: the middle of two bounds, one from a single bound, else 1.
Eigen::Vector4d default_start(const Bounds& bounds) {
  Eigen::Vector4d out = Eigen::Vector4d::Ones();
  for (int i = 0; i < bounds.parameters; ++i) {
    const bool below = bounds.lower[i] > -1e13, above = bounds.upper[i] < 1e13;
    if (below && above)
      out[i] = 0.5 * (bounds.lower[i] + bounds.upper[i]);
    else if (below || above)
      out[i] = below ? bounds.lower[i] + 1 : bounds.upper[i] - 1;
  }
  return out;
}

void print(const char* name, std::span<const double> values) {
  std::printf(",\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.17g", i ? "," : "", values[i]);
  std::printf("]");
}

void compare(Family family, const ScaledWindow& window) {
  const FitRange range{window.count, 40, 0.9};
  const FitProblem problem = problem_of(family, window, range);
  if (problem.x.empty()) return;
  auto from = Clock::now();
  const FamilyFit ours = fit_family(family, window, range, nullptr, kExact);
  const double our_time = microseconds(from);
  const FamilyFit start = fit_family(family, window, range, nullptr, {0, 1, 1});
  const Bounds bounds = bounds_of(family, problem);
  std::printf("{\"family\":\"%s\",\"ours\":%.17g,\"ours_us\":%.3f", name_of(family),
              ours.usable ? ours.cost : 1e300, our_time);
  const Eigen::Vector4d given = start.p.cwiseMax(bounds.lower).cwiseMin(bounds.upper);
  for (const bool own : {false, true}) {
    const Eigen::Vector4d first = own ? default_start(bounds) : given;
    from = Clock::now();
    const double theirs = ceres_cost(family, problem, bounds, first);
    const double their_time = microseconds(from);
    const char* name = own ? "ceres_own" : "ceres";
    std::printf(",\"%s\":%.17g,\"%s_us\":%.3f", name, theirs, name, their_time);
  }
  const auto n = static_cast<std::size_t>(bounds.parameters);
  print("x", problem.x);
  print("y", problem.y);
  print("weight", problem.weight());
  print("start", {start.p.data(), n});
  print("lower", {bounds.lower.data(), n});
  print("upper", {bounds.upper.data(), n});
  std::printf("}\n");
}

std::vector<LossPoint> read(const char* path) {
  std::vector<LossPoint> out;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    double step = 0, loss = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf", &step, &loss) == 2) out.push_back({step, loss, 0, 0});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_minloglevel = google::FATAL;  // a step that Ceres refuses is no news
  for (int f = 1; f < argc; ++f) {
    const std::vector<LossPoint> points = read(argv[f]);
    const std::size_t every = std::max<std::size_t>(15, points.size() / kWindows);
    History history(4096, false);
    for (std::size_t i = 0; i < points.size(); ++i) {
      history.add(points[i].iteration, points[i].loss, 0);
      if (i + 1 < 20 || (i + 1) % every != 0) continue;
      const ScaledWindow window = scale(newest(history));
      for (const Family family : kFamilies) compare(family, window);
    }
  }
  return 0;
}
