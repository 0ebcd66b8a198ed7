// SPDX-License-Identifier: GPL-2.0-or-later
// History, fits and predictions on any reports: only finite numbers come out, ordered as promised, in bounded
// time. With libFuzzer (FUZZING_MAIN undefined) or alone: fuzz_quality_run SECONDS [CURVE.csv...], a fixed
// sequence of random, adversarial and mutated real curves.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/quality/curve.hpp"

#define HOLDS(condition)                                  \
  do {                                                    \
    if (!(condition)) {                                   \
      fprintf(stderr, "does not hold: " #condition "\n"); \
      abort();                                            \
    }                                                     \
  } while (0)

namespace {

// Bytes become reports; what is missing at the end reads as 0.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool any() const { return size_ > 0; }
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  double bits() {
    std::uint8_t raw[8] = {};
    for (auto& b : raw) b = byte();
    double value;
    std::memcpy(&value, raw, sizeof value);
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

double loss_of(Bytes& in, double before) {
  switch (in.byte() % 12) {
    case 0:
      return in.bits();
    case 1:
      return NAN;
    case 2:
      return HUGE_VAL;
    case 3:
      return before * std::ldexp(1.0, in.byte() - 128);
    case 4:
      return -before;
    case 5:
      return before;
    case 6:
      return in.byte() * 1e-300;
    case 7:
      return (in.byte() - 128) * 1e148;
    default:
      return before * (1 - 1e-3 * (in.byte() - 100)) + 1e-4 * (in.byte() - 128);
  }
}

double iteration_of(Bytes& in, double before) {
  switch (in.byte() % 16) {
    case 0:
      return in.bits();
    case 1:
      return before - in.byte();
    case 2:
      return before + std::ldexp(1.0, in.byte() % 64);
    case 3:
      return before + 1e-3;
    default:
      return before + 1;
  }
}

void check(const mlq::LossCurve& curve) {
  double before = 0;
  for (const double h : {0.0, 0.5, 1.0, 7.0, 10.0, 100.0, 1e9, 1e300}) {
    const mlq::Forecast f = curve.forecast(h);
    HOLDS(std::isfinite(f.now) && std::isfinite(f.predicted) && std::isfinite(f.lower) &&
          std::isfinite(f.upper));
    HOLDS(f.lower <= f.predicted && f.predicted <= f.upper);
    const double gain = curve.gain(h);
    HOLDS(gain >= before && gain <= 1);
    before = gain;
  }
  HOLDS(curve.fraction_reached() >= 0 && curve.fraction_reached() <= 1);
  HOLDS(curve.spacing() > 0 && std::isfinite(curve.spacing()));
  HOLDS(std::isfinite(curve.first_loss()) && std::isfinite(curve.last_loss()) &&
        std::isfinite(curve.best_loss()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  mlq::CurveOptions options;
  const std::uint8_t flags = in.byte();
  options.goal = flags & 1 ? mlq::Goal::max : mlq::Goal::min;
  options.has_target_loss = flags & 2;
  if (options.has_target_loss) options.target_loss = in.bits();
  options.capacity = flags & 4 ? 64 : 4096;
  mlq::LossCurve curve(options);
  double iteration = 0, loss = 1;
  while (in.any()) {
    iteration = iteration_of(in, iteration);
    if (!std::isfinite(iteration)) iteration = 0;
    const double next = loss_of(in, loss);
    curve.add({iteration, next, 0, 0});
    if (std::isfinite(next)) loss = next;
    if (in.byte() % 8 == 0) {
      curve.refit();
      check(curve);
    }
  }
  curve.refit();
  check(curve);
  return 0;
}

#ifdef FUZZING_MAIN
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using Curve = std::vector<mlq::LossPoint>;

Curve read(const char* path) {
  Curve out;
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    double step = 0, loss = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf", &step, &loss) == 2) out.push_back({step, loss, 0, 0});
  }
  return out;
}

void mutate(Curve& curve, std::mt19937& random) {
  if (curve.empty()) return;
  const auto some = [&] { return random() % curve.size(); };
  switch (random() % 7) {
    case 0:
      curve[some()].loss = NAN;
      break;
    case 1:
      curve[some()].loss *= 1e6;
      break;
    case 2:
      curve[some()].iteration = curve[some()].iteration;
      break;
    case 3:
      for (auto& p : curve) p.loss *= 1e-200;
      break;
    case 4:
      for (auto& p : curve) p.iteration *= 1e12;
      break;
    case 5:
      curve.resize(some() + 1);
      break;
    case 6: {
      const double level = curve[some()].loss;
      for (std::size_t i = some(); i < curve.size(); ++i) curve[i].loss = level;
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(argc > 1 ? std::atof(argv[1]) : 20);
  std::vector<Curve> real;
  for (int i = 2; i < argc; ++i) real.push_back(read(argv[i]));
  const char* source = std::getenv("srcdir");
  const std::filesystem::path data = std::filesystem::path(source == nullptr ? "." : source) / "tests/data";
  std::error_code none;
  if (real.empty())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data, none))
      if (entry.path().extension() == ".csv") real.push_back(read(entry.path().c_str()));
  std::mt19937 random(1);
  std::size_t rounds = 0;
  for (; Clock::now() < end; ++rounds) {
    std::vector<std::uint8_t> bytes(random() % 2000);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    if (real.empty()) continue;
    Curve curve = real[random() % real.size()];
    for (std::size_t i = 0, n = random() % 5; i < n; ++i) mutate(curve, random);
    mlq::LossCurve fitted;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      fitted.add(curve[i]);
      if (random() % 16 != 0 && i + 1 < curve.size()) continue;
      fitted.refit();
      check(fitted);
    }
  }
  std::printf("%zu rounds\n", rounds);
  return rounds > 0 ? 0 : 1;
}
#endif
