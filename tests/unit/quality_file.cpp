// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/unit/quality_suites.hpp"
#include "tools/mlq/curve_file.hpp"

using mlq::cli::CurveRow;
using Rows = std::vector<CurveRow>;

namespace {

// Writes `text` to a file of its own and reads that; the message of the error comes back in `error`.
Rows read(const std::string& text, const mlq::cli::CurveColumns& columns, std::string& error) {
  char path[] = "/tmp/mlq-curve-XXXXXX";
  const int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(fd);
  Rows rows;
  try {
    rows = mlq::cli::read_curve(path, columns);
  } catch (const mlq::cli::CurveFileError& e) {
    error = e.what();
  }
  unlink(path);
  return rows;
}

Rows read(const std::string& text, const mlq::cli::CurveColumns& columns = {}) {
  std::string error;
  const Rows rows = read(text, columns, error);
  ck_assert_str_eq(error.c_str(), "");
  return rows;
}

void check_error(const std::string& expected, const std::string& text,
                 const mlq::cli::CurveColumns& columns = {}) {
  std::string error;
  read(text, columns, error);
  error.resize(std::min(error.size(), expected.size()));
  ck_assert_str_eq(error.c_str(), expected.c_str());
}

}  // namespace

START_TEST(csv_keeps_rows_and_missing_numbers_apart) {
  const Rows rows =
      read("\xEF\xBB\xBFstep,loss\r\n1,2.5\r\n2,\r\n3,nan\r\n4,-inf\r\n5,1e-3\r\n\r\n6,None\r\n");
  ck_assert_uint_eq(rows.size(), 5);
  ck_assert_double_eq(rows[0].loss, 2.5);
  ck_assert_double_eq(rows[1].step, 3);
  ck_assert(std::isnan(rows[1].loss));
  ck_assert(std::isinf(rows[2].loss));
  ck_assert_double_eq(rows[3].loss, 1e-3);
  ck_assert(std::isnan(rows[4].loss));
}
END_TEST

START_TEST(csv_takes_named_padded_and_quoted_columns) {
  const std::string yolo = "   epoch,   train/box_loss,  \"a, b\"\n  1,  3.0, \"x, y\"\n  2, 2.0, z\n";
  const Rows rows = read(yolo, {"epoch", "train/box_loss"});
  ck_assert_uint_eq(rows.size(), 2);
  ck_assert_double_eq(rows[1].step, 2);
  ck_assert_double_eq(rows[1].loss, 2.0);
  const Rows lightning = read("epoch;step;train_loss;val_loss\n0;49;2.5;\n0;49;;2.4\n0;99;2.0;\n");
  ck_assert_uint_eq(lightning.size(), 2);
  ck_assert_double_eq(lightning[1].step, 99);
  const Rows counted = read("loss\n3\n2\n1\n");
  ck_assert_double_eq(counted[2].step, 2);
}
END_TEST

START_TEST(csv_keeps_empty_first_cells_of_tables_with_tabs) {
  const Rows pandas = read("\tstep\tloss\n0\t10\t2.5\n1\t20\t2.0\n");
  ck_assert_uint_eq(pandas.size(), 2);
  ck_assert_double_eq(pandas[1].step, 20);
  ck_assert_double_eq(pandas[1].loss, 2.0);
  const Rows blank = read("note\tloss\r\n\t2.5\r\na\t2.0\r\n");
  ck_assert_uint_eq(blank.size(), 2);
  ck_assert_double_eq(blank[0].loss, 2.5);
}
END_TEST

START_TEST(usual_names_are_found_in_any_case) {
  const Rows tensorboard = read("Wall time,Step,Value\n1.7e9,10,2.5\n1.7e9,20,2.0\n", {"", "Value"});
  ck_assert_double_eq(tensorboard[1].step, 20);
  ck_assert_double_eq(read("Loss,Epoch\n2.5,3\n")[0].step, 3);
  ck_assert_double_eq(read("STEP,Step,step,loss\n1,2,3,4\n", {"Step", ""})[0].step, 2);
  ck_assert_double_eq(read("{\"Epoch\":4,\"Train_Loss\":2}\n")[0].step, 4);
  check_error("has no loss column 'Loss'; columns: step, loss", "step,loss\n1,2\n", {"", "Loss"});
}
END_TEST

START_TEST(errors_are_one_line_without_control_characters) {
  check_error("has no loss column; name one of these with --loss: a, ?[2Jb", "a,\x1b[2Jb\n1,2\n");
  check_error("line 2: loss '?[31m' is not a number", "loss\n\x1b[31m\n");
  check_error("has no losses; name one of these with --loss: a?b", "{\"a\\nb\": 1}");
}
END_TEST

START_TEST(csv_errors_name_line_and_value) {
  check_error("line 3: loss 'tensor(1)' is not a number", "step,loss\n1,2\n2,tensor(1)\n");
  check_error("line 2: a loss without a step", "step,loss\n,2\n");
  check_error("has no loss column; name one of these with --loss: a, b", "a,b\n1,2\n");
  check_error("has no step column 'x'; columns: a, loss", "a,loss\n1,2\n", {"x", ""});
  check_error("has no losses", "step,loss\n");
  check_error("is empty", " \n");
  check_error("is not text", std::string("step\0loss", 9));
}
END_TEST

START_TEST(trainer_state_gives_its_training_losses) {
  const std::string state =
      "{\"best\": NaN, \"log_history\": [{\"loss\": 2.0, \"step\": 10}, {\"eval_loss\": 9.0, \"step\": 10},\n"
      "{\"loss\": NaN, \"step\": 20}, {\"loss\": \"1.5\", \"step\": 30}, {\"train_loss\": 1.7, \"step\": "
      "30}]}";
  const Rows rows = read(state);
  ck_assert_uint_eq(rows.size(), 3);
  ck_assert_double_eq(rows[0].step, 10);
  ck_assert(std::isnan(rows[1].loss));
  ck_assert_double_eq(rows[2].loss, 1.5);
  const Rows eval = read(state, {"", "eval_loss"});
  ck_assert_uint_eq(eval.size(), 1);
  ck_assert_double_eq(eval[0].loss, 9);
}
END_TEST

START_TEST(json_lines_may_be_cut_at_the_end) {
  const Rows rows =
      read("{\"iteration\":1,\"loss\":2}\n{\"iteration\":2,\"loss\":-Infinity}\n{\"iteration\":3,\"lo");
  ck_assert_uint_eq(rows.size(), 2);
  ck_assert(!std::isfinite(rows[1].loss));
  check_error("line 2 is not JSON", "{\"loss\":1}\n{\"loss\"\n{\"loss\":1}\n");
  check_error("line 1 is not JSON: invalid escape near '\"\\?", "{\"\\\xc6\xab\":1}");
  check_error("entry 1: loss is not a number", "{\"loss\":[1]}\n");
  check_error("entry 1 is not an object", "[1]");
  check_error("has no losses; name one of these with --loss: accuracy, t", "{\"accuracy\":1}\n{\"t\":2}\n");
  check_error("has no losses named 'nope'; keys: loss", "{\"loss\":1}\n", {"", "nope"});
  check_error("has no losses", "{}");
}
END_TEST

TCase* quality_file_case() {
  TCase* c = tcase_create("file");
  tcase_add_test(c, csv_keeps_rows_and_missing_numbers_apart);
  tcase_add_test(c, csv_takes_named_padded_and_quoted_columns);
  tcase_add_test(c, csv_keeps_empty_first_cells_of_tables_with_tabs);
  tcase_add_test(c, usual_names_are_found_in_any_case);
  tcase_add_test(c, errors_are_one_line_without_control_characters);
  tcase_add_test(c, csv_errors_name_line_and_value);
  tcase_add_test(c, trainer_state_gives_its_training_losses);
  tcase_add_test(c, json_lines_may_be_cut_at_the_end);
  return c;
}
