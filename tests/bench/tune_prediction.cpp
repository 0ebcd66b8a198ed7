// SPDX-License-Identifier: GPL-2.0-or-later
// How much of the predictor's figures is owed to its constants having been chosen on the curves it is judged
// by: they are chosen again on one half of the curves and judged on the other, both ways. Halves by a hash of
// where a curve was published, so that two curves of one training never lie on both sides.
//     tune_prediction [--tries N] FOLDER
//     tune_prediction [--tries N] --all FOLDER [TRACES]
// --all chooses on all curves and prints the constants; TRACES, a folder of SLAQ's traces, counts by its
// authors' protocol too.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <string>

#include "tests/bench/curve_scores.hpp"

namespace {

using namespace mlq;
using namespace mlq::bench;

// One constant: where it is, what it may be; `from_one` when its distance from 1 is what matters.
struct Knob {
  const char* name;
  double& (*in)(Tuning&);
  double lowest, highest;
  bool from_one;
};

#define KNOB(field, low, high, from_one)                                       \
  Knob {                                                                       \
#field, [](Tuning & t) -> double& { return t.field; }, low, high, from_one \
  }
const Knob kKnobs[] = {
    KNOB(sharpness, 1, 10, false),
    KNOB(forget, 0.5, 0.99, true),
    KNOB(shortness, 0.3, 6, false),
    KNOB(prior_tests, 0.3, 10, false),
    KNOB(forgiveness, 0.02, 2, false),
    KNOB(noise, 0.2, 10, false),
    KNOB(floor_share, 1e-4, 0.1, false),
    KNOB(trim, 0.05, 0.45, false),
    KNOB(trim_tests, 0.1, 8, false),
    KNOB(damp, 10, 1000, false),
    KNOB(prior_median, 0.2, 5, false),
    KNOB(prior_mean, 0.2, 5, false),
    KNOB(prior_line, 0.2, 5, false),
    KNOB(prior_log, 0.2, 5, false),
    KNOB(families[0].decay, 0.3, 0.98, true),
    KNOB(families[1].decay, 0.3, 0.98, true),
    KNOB(families[2].decay, 0.3, 0.98, true),
    KNOB(families[3].decay, 0.3, 0.98, true),
    KNOB(families[0].prior, 0.1, 5, false),
    KNOB(families[1].prior, 0.1, 5, false),
    KNOB(families[2].prior, 0.1, 5, false),
    KNOB(families[3].prior, 0.1, 5, false),
    KNOB(jump, 3, 20, false),
};

void turn(const Knob& knob, Tuning& tuning, double factor) {
  double& value = knob.in(tuning);
  value = knob.from_one ? 1 - (1 - value) * factor : value * factor;
  value = std::min(std::max(value, knob.lowest), knob.highest);
}

// Points that would count for less than a two-hundredth are left out.
void set_lengths(Tuning& tuning) {
  for (FamilyTuning& family : tuning.families)
    family.length = static_cast<std::size_t>(
        std::min(std::max(std::ceil(std::log(0.005) / std::log(family.decay)), 10.0), 40.0));
}

double figure(const Score& s) {
  return s.reduction_error + 0.1 * s.relative_capped;
}

// Random search: some constants are turned at a time, and kept when the figure falls.
Tuning chosen(const std::function<double(const Tuning&)>& cost, const Tuning& from, unsigned tries,
              unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> gauss;
  Tuning best = from;
  double least = cost(best);
  for (unsigned i = 0; i < tries; ++i) {
    Tuning next = best;
    for (int turned = 0; turned < 3; ++turned)
      turn(kKnobs[random() % std::size(kKnobs)], next, std::exp(0.4 * gauss(random)));
    set_lengths(next);
    const double found = cost(next);
    if (found < least) least = found, best = next;
  }
  return best;
}

std::uint64_t hash(const std::string& text) {  // FNV-1a
  std::uint64_t h = 1469598103934665603ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h ^ (h >> 32);
}

// Round numbers that no curve has had a say in: every member expected to do as well as any other, one memory
// for all. The interval's constants alone stay as they are; the search does not turn them.
Tuning neutral() {
  Tuning t;
  t.sharpness = 2;
  t.forget = 0.8;
  t.shortness = t.prior_tests = t.noise = t.trim_tests = 1;
  t.forgiveness = t.trim = 0.1;
  t.floor_share = 0.01;
  t.damp = 50;
  t.prior_median = t.prior_mean = t.prior_line = t.prior_log = 1;
  for (FamilyTuning& family : t.families) family = {0.8, 20, 1};
  t.jump = 5;
  set_lengths(t);
  return t;
}

void print(const char* chosen_on, const char* judged_on, const Score& s) {
  std::printf("| %s | %s | %zu | %.2f %% | %.4f | %.4f | %.0f %% |\n", chosen_on, judged_on, s.origins,
              100 * s.relative_median, s.reduction_error, s.no_change, 100 * s.covered);
}

void halves(const std::vector<RecordedCurve>& curves, unsigned tries) {
  std::vector<RecordedCurve> half[2];
  for (const RecordedCurve& curve : curves) half[hash(curve.source) & 1].push_back(curve);
  std::printf(
      "| constants chosen on | judged on | origins | median relative error | error of the reduction | of "
      "predicting "
      "no change | in the 80 %% interval |\n|---|---|---|---|---|---|---|\n");
  const char* names[] = {"first half", "second half"};
  const Tuning plain = neutral();
  for (int judged = 0; judged < 2; ++judged) {
    const auto& other = half[1 - judged];
    print("the other half", names[judged],
          score(half[judged],
                chosen([&](const Tuning& t) { return figure(score(other, t)); }, plain, tries, 1)));
    print("the same half", names[judged],
          score(half[judged],
                chosen([&](const Tuning& t) { return figure(score(half[judged], t)); }, plain, tries, 1)));
    print("neutral", names[judged], score(half[judged], plain));
    print("as shipped", names[judged], score(half[judged], Tuning{}));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  unsigned tries = 400;
  bool all = false;
  std::vector<std::string> folders;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--tries") == 0 && i + 1 < argc)
      tries = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (std::strcmp(argv[i], "--all") == 0)
      all = true;
    else
      folders.push_back(argv[i]);
  }
  if (folders.empty()) {
    std::fprintf(stderr, "tune_prediction [--tries N] [--all] FOLDER [TRACES]\n");
    return 1;
  }
  std::vector<std::vector<RecordedCurve>> curves;
  for (const std::string& folder : folders) curves.push_back(read_folder(folder));
  if (!all) {
    halves(curves[0], tries);
    return 0;
  }
  const auto cost = [&](const Tuning& t) {
    double sum = 0;
    for (const auto& collection : curves) sum += figure(score(collection, t));
    for (std::size_t i = 0; curves.size() > 1 && i < curves[1].size(); ++i)
      sum += 0.5 * protocol_error(curves[1][i], t) / static_cast<double>(curves[1].size());
    return sum;
  };
  Tuning best = chosen(cost, Tuning{}, tries, 1);
  std::printf("%.5f before, %.5f after\n", cost(Tuning{}), cost(best));
  for (const Knob& knob : kKnobs) std::printf("%-20s %.4g\n", knob.name, knob.in(best));
  for (const auto& collection : curves) print("all", "all", score(collection, best));
  for (std::size_t i = 0; curves.size() > 1 && i < curves[1].size(); ++i)
    std::printf("%-16s %.3f %%\n", curves[1][i].name.c_str(), 100 * protocol_error(curves[1][i], best));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tune_prediction: %s\n", error.what());
  return 1;
}
