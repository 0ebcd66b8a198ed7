// SPDX-License-Identifier: GPL-2.0-or-later
// The same models on the same windows from the same start: this project's solver and Ceres, timed; the
// problems go to stdout as JSON lines, so that compare_fits.py can give them to SciPy as well. compare_fits
// CURVE.csv...
#include <ceres/ceres.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/quality/family_fit.hpp"
#include "core/quality/models.hpp"

namespace {

using namespace mlq;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
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
double ceres_cost(const FitProblem& problem) {
  Eigen::Vector4d p = problem.start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  ceres::Problem built;
  built.AddResidualBlock(new Residuals<Model>(problem), nullptr, p.data());
  for (int i = 0; i < problem.parameters; ++i) {
    built.SetParameterLowerBound(p.data(), i, problem.lower[i]);
    built.SetParameterUpperBound(p.data(), i, problem.upper[i]);
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

double ceres_cost(Family family, const FitProblem& problem) {
  if (family == Family::sublinear) return ceres_cost<Sublinear>(problem);
  return family == Family::hyperbola ? ceres_cost<Hyperbola>(problem) : ceres_cost<Exponential>(problem);
}

void print(const char* name, std::span<const double> values) {
  std::printf(",\"%s\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%s%.17g", i ? "," : "", values[i]);
  std::printf("]");
}

void compare(Family family, const ScaledWindow& window) {
  const FitRange range{window.count, 40, 0.9};
  const FitProblem problem = problem_of(family, window, range);
  if (problem.parameters == 0) return;
  auto from = Clock::now();
  const FamilyFit ours = fit_family(family, window, range, nullptr, SolveOptions{400, 1e-13, 1e-4});
  const double our_time = microseconds(from);
  from = Clock::now();
  const double theirs = ceres_cost(family, problem);
  const double their_time = microseconds(from);
  std::printf("{\"family\":\"%s\",\"ours\":%.17g,\"ours_us\":%.3f,\"ceres\":%.17g,\"ceres_us\":%.3f",
              name_of(family), ours.usable ? ours.cost : 1e300, our_time, theirs, their_time);
  const auto n = static_cast<std::size_t>(problem.parameters);
  print("x", problem.x);
  print("y", problem.y);
  print("weight", problem.weight());
  print("start", {problem.start.data(), n});
  print("lower", {problem.lower.data(), n});
  print("upper", {problem.upper.data(), n});
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  for (int f = 1; f < argc; ++f) {
    History history(4096, false);
    std::ifstream in(argv[f]);
    std::string line;
    for (std::size_t points = 0; std::getline(in, line);) {
      double step = 0, loss = 0;
      if (std::sscanf(line.c_str(), "%lf,%lf", &step, &loss) != 2) continue;
      history.add(step, loss, 0);
      if (++points < 20 || points % 15 != 0) continue;
      const ScaledWindow window = scale(newest(history));
      for (const Family family : kFamilies) compare(family, window);
    }
  }
  return 0;
}
