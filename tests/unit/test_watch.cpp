// SPDX-License-Identifier: GPL-2.0-or-later
// How mlq watch reads logs.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tools/mlq/error.hpp"
#include "tools/mlq/log_line.hpp"
#include "tools/mlq/log_tail.hpp"

#include <check.h>  // after the library: its macros clash with <ios>

using namespace mlq::cli;

namespace {

using Lines = std::vector<std::string>;

/// "iteration:loss" of each report, separated by blanks.
std::string read_all(const Lines& lines, LogOptions options = {}) {
  LogReader reader(std::move(options));
  std::string out;
  for (const std::string& line : lines)
    if (const auto report = reader.take(line)) {
      char text[64];
      std::snprintf(text, sizeof text, "%s%g:%g", out.empty() ? "" : " ", report->iteration, report->loss);
      out += text;
    }
  return out;
}

void expect(const std::string& got, const char* wanted) {
  ck_assert_str_eq(got.c_str(), wanted);
}

START_TEST(test_csv) {
  expect(read_all({"step,loss,lr", "1,0.5,1e-3", "2,nan,1e-3", "3,,1e-3", "4,inf,1", "5,0.25", "x,0.1,1"}),
         "1:0.5 2:nan 4:inf");
  expect(read_all({"lr;Train_Loss;iteration", "1;0.5;10", "step 3 loss 7", "1;0.4;20"}), "10:0.5 3:7 20:0.4");
  expect(read_all({"epoch,loss,val_loss", "0,0.5,1", "1,0.25,1"}), "1:0.5 2:0.25");  // Keras counts from 0
  expect(read_all({"\"step\"\t\"loss\"\r", "1\t0.5\r"}), "1:0.5");
  expect(read_all({"n,bce", "5,0.5"}, {.step = "n", .loss = "bce", .pattern = ""}), "5:0.5");
  // appended to once more after a requeue
  expect(read_all({"step,loss", "1,0.5", "2,0.4", "step,loss", "2,0.45"}), "1:0.5 2:0.4 2:0.45");
}
END_TEST

START_TEST(test_json) {
  expect(read_all({R"({"step": 10, "loss": 0.5})", R"({"step": 20, "loss": null})", R"({"step": 30})",
                   R"({"step": 40, "loss": "nan"})", R"({"global_step": 50, "train/loss": 0.25, "lr": 1})"}),
         "10:0.5 20:nan 40:nan 50:0.25");
  expect(read_all({"{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}", "{'loss': 0.25, 'epoch': 0.2}",
                   "{'eval_loss': 0.3, 'epoch': 0.2}"}),
         "1:0.5 2:0.25");
}
END_TEST

START_TEST(test_text) {
  expect(read_all({"step 100 loss: 0.5", "[INFO] Iteration=200, Loss=4e-1", "iter 300 | train loss -.5",
                   "val_loss: 3 step 301", "no numbers in this loss", "lossless 5", "step 400 loss: NaN"}),
         "100:0.5 200:0.4 300:-0.5 400:nan");
  expect(read_all({"loss: 2", "loss: 1"}), "1:2 2:1");
}
END_TEST

START_TEST(test_epochs) {
  expect(
      read_all({"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3", "Train Epoch: 1 [1280/60000 (2%)]\tLoss: 2.2",
                "Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.1"}),
      "640:2.3 1280:2.2 1920:2.1");
  expect(read_all({"Epoch [1/10], Step [100/600], Loss: 0.5", "Epoch [2/10], Step [100/600], Loss: 0.4",
                   "Epoch [2/10], Step [50/600], Loss: 0.45"}),  // resumed within the epoch
         "100:0.5 200:0.4 50:0.45");
  expect(read_all({"Epoch [1/10], Loss: 0.5", "Epoch [2/10], Loss: 0.4", "Epoch [2/10], Loss: 0.3"}),
         "1:0.5 2:0.4 3:0.3");
  expect(read_all({"Epoch 1:   5%|# | 50/1000 [00:05<01:30, 10.5it/s, loss=0.5]"}), "50:0.5");
}
END_TEST

START_TEST(test_pattern) {
  expect(read_all({"i=5 bce=0.5 loss=9", "loss=3", "i=x bce=1"},
                  {.step = "", .loss = "", .pattern = "i=([^ ]+) bce=([^ ]+)"}),
         "5:0.5");
  expect(read_all({"bce 0.5", "bce 0.25"}, {.step = "", .loss = "", .pattern = "bce ([0-9.]+)"}),
         "1:0.5 2:0.25");
  for (const char* wrong : {"(", "loss [0-9]+"}) {
    bool refused = false;
    try {
      LogReader reader({.step = "", .loss = "", .pattern = wrong});
    } catch (const Error&) {
      refused = true;
    }
    ck_assert_msg(refused, "%s was taken", wrong);
  }
}
END_TEST

START_TEST(test_hostile_lines) {
  expect(read_all({std::string(1 << 20, 'x'), std::string("step 1 loss 2\0loss 3", 20),
                   "{\"loss\": [1], \"step\": {}}", std::string(1000, '{'), "step 1e999 loss 1",
                   "step 2 loss 1e999"}),
         "1:2 2:inf");
}
END_TEST

START_TEST(test_cut_lines) {
  std::string buffer = "a\nb\r\nc";
  Lines lines = cut_lines(buffer);
  ck_assert_uint_eq(lines.size(), 3);
  expect(lines[1], "b");
  expect(buffer, "c");
  buffer = std::string((1 << 20) + 1, 'x');
  ck_assert_uint_eq(cut_lines(buffer).size(), 0);
  ck_assert_uint_eq(buffer.size(), 0);
}
END_TEST

START_TEST(test_tail) {
  char folder[] = "/tmp/mlq-test-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const std::string name = std::string(folder) + "/log", other = name + ".new";
  LogTail tail(name, TailFrom::end), later(name, TailFrom::beginning);
  ck_assert_uint_eq(tail.read_lines().size(), 0);  // not there yet

  std::ofstream log(name);
  log << "one\ntwo\nthr" << std::flush;
  tail.read_lines();  // finds it
  ck_assert(tail.read_lines() == (Lines{"one", "two"}));
  log << "ee\n" << std::flush;
  ck_assert(tail.read_lines() == (Lines{"three"}));
  ck_assert(LogTail(name, TailFrom::end).read_lines().empty());

  std::ofstream(name) << "new\n";  // truncated
  ck_assert(tail.read_lines() == (Lines{"new"}));

  std::ofstream(other) << "replaced\nrest";
  ck_assert_int_eq(rename(other.c_str(), name.c_str()), 0);
  tail.read_lines();
  ck_assert(tail.read_lines() == (Lines{"replaced"}));
  expect(tail.rest(), "rest");
  unlink(name.c_str());
  rmdir(folder);
}
END_TEST

}  // namespace

int main() {
  Suite* suite = suite_create("watch");
  TCase* tests = tcase_create("logs");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, test_csv);
  tcase_add_test(tests, test_json);
  tcase_add_test(tests, test_text);
  tcase_add_test(tests, test_epochs);
  tcase_add_test(tests, test_pattern);
  tcase_add_test(tests, test_hostile_lines);
  tcase_add_test(tests, test_cut_lines);
  tcase_add_test(tests, test_tail);
  suite_add_tcase(suite, tests);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
