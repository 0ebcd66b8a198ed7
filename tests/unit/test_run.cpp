// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of mlq run that decide and parse.
#include "tests/unit/test_run.hpp"

#include <string>
#include <vector>

#include "tools/mlq/run/companion_plan.hpp"
#include "tools/mlq/run/companions.hpp"
#include "tools/mlq/run/environment.hpp"
#include "tools/mlq/run/follower.hpp"
#include "tools/mlq/run/message.hpp"
#include "tools/mlq/run/node_size.hpp"
#include "tools/mlq/run/output.hpp"
#include "tools/mlq/run/proof.hpp"

#include "tests/unit/check_cpp.hpp"

using namespace mlq::run;

namespace {

CompanionView joined(std::int64_t units) {
  return {units, CompanionState::joined, "p", 0};
}
CompanionView pending(std::int64_t units, const char* partition = "p") {
  return {units, CompanionState::pending, partition, 0};
}
Target target(std::int64_t units, std::vector<Grant> grants = {}) {
  return {units, 2, std::move(grants), 0, "", {}};
}
std::string numbers(const std::vector<std::size_t>& list) {
  std::string text;
  for (const std::size_t value : list) text += std::to_string(value) + " ";
  return text;
}
std::string grants(const std::vector<Grant>& list) {
  std::string text;
  for (const Grant& grant : list) text += grant.partition + ":" + std::to_string(grant.units) + " ";
  return text;
}

START_TEST(test_growing_asks_for_grants_within_the_target) {
  check_text(grants(plan_companions(target(5, {{"a", 2}, {"b", 1}, {"c", 1}}), {}).submit), "a:2 b:1 ");
  // one that is larger than the room is passed over, a smaller one behind it is not
  check_text(grants(plan_companions(target(4, {{"a", 3}, {"b", 2}}), {}).submit), "b:2 ");
  check_text(grants(plan_companions(target(2, {{"a", 1}}), {}).submit), "");
  check_text(grants(plan_companions(target(5, {}), {}).submit), "");
}
END_TEST

START_TEST(test_growing_does_not_ask_twice) {
  const Target wanted = target(5, {{"p", 2}, {"p", 1}});
  check_text(grants(plan_companions(wanted, {pending(2)}).submit), "p:1 ");
  check_text(grants(plan_companions(wanted, {pending(2), pending(1)}).submit), "");
  // a grant of another partition is another one, but there must be room for it
  check_text(grants(plan_companions(wanted, {pending(2, "q")}).submit), "p:1 ");
  // those on their way out hold nothing
  check_text(grants(plan_companions(wanted, {{3, CompanionState::leaving, "p", 0}}).submit), "p:2 p:1 ");
  check_text(grants(plan_companions(wanted, {joined(2)}).submit), "p:1 ");
}
END_TEST

START_TEST(test_shrinking_lets_the_waiting_go_first) {
  const std::vector<CompanionView> have{joined(2), pending(1), pending(3), joined(1)};
  check_text(numbers(plan_companions(target(8), have).release),
             "2 ");  // 7 asked for or had, 6 wanted: the newest
  check_text(numbers(plan_companions(target(5), have).release), "2 1 ");  // only those that wait
  check_text(numbers(plan_companions(target(4), have).release), "2 1 3 ");
  check_text(numbers(plan_companions(target(2), have).release), "2 1 0 3 ");
  check_text(grants(plan_companions(target(4, {{"p", 1}}), have).submit), "");
}
END_TEST

START_TEST(test_shrinking_keeps_the_most_and_then_the_oldest) {
  check_text(numbers(plan_companions(target(6), {joined(1), joined(4)}).release), "0 ");
  check_text(numbers(plan_companions(target(4), {joined(4), joined(2)}).release), "0 ");
  check_text(numbers(plan_companions(target(4), {joined(2), joined(2), joined(2)}).release), "1 2 ");
  check_text(numbers(plan_companions(target(3), {joined(2), joined(2)}).release), "0 1 ");
  check_text(numbers(plan_companions(target(7), {joined(3), joined(3), joined(2)}).release), "1 ");
  std::vector<CompanionView> many(1000, joined(7));
  ck_assert_uint_eq(plan_companions(target(2 + 7 * 500 + 3), many).release.size(), 500);
}
END_TEST

START_TEST(test_those_that_must_leave_go_whatever_the_sizes_say) {
  std::vector<CompanionView> have{joined(4), joined(2), joined(1), pending(1)};
  for (std::size_t i = 0; i < have.size(); ++i) have[i].job = 101 + static_cast<std::int64_t>(i);
  Target wanted = target(6);
  wanted.leave = {101};  // the one that would have been kept
  check_text(numbers(plan_companions(wanted, have).release), "0 ");
  wanted.leave = {104, 101};
  check_text(numbers(plan_companions(wanted, have).release), "0 3 ");
  wanted = target(4);
  wanted.leave = {102};  // and of the others only what fits
  check_text(numbers(plan_companions(wanted, have).release), "1 3 0 ");
  have[1].state = CompanionState::leaving;  // told already
  check_text(numbers(plan_companions(wanted, have).release), "3 0 ");
  wanted = target(9);
  wanted.leave = {999};  // none of ours
  check_text(numbers(plan_companions(wanted, have).release), "");
}
END_TEST

START_TEST(test_the_answer_names_those_that_must_leave) {
  const auto news = parse_job_news(
      R"({"v":1,"status":{"target":{"units":3,"base":1,"leave":[7,"8",0,-3,9.5,4294967293]}}})");
  ck_assert(news && news->target);
  ck_assert_uint_eq(news->target->leave.size(), 2);
  ck_assert_int_eq(news->target->leave[0], 7);
  ck_assert_int_eq(news->target->leave[1], 4294967293);
}
END_TEST

START_TEST(test_time_limits) {
  ck_assert_int_eq(*companion_minutes("1:30:00"), 90);
  ck_assert_int_eq(*companion_minutes("1-02:03:04"), 1563);
  ck_assert_int_eq(*companion_minutes("5:59"), 5);  // never longer than the parent
  ck_assert_int_eq(*companion_minutes("0:59"), 1);  // 0 would be no limit at all
  ck_assert_int_eq(*companion_minutes("0:00"), 1);
  ck_assert_int_eq(*companion_minutes("UNLIMITED"), 0);
  for (const char* text : {"INVALID", "", "90", "1:2:3:4", "-1:00", "1:-2", "a:b", "1-", "1-2", "1:00x",
                           "99999999999999999999:00"})
    ck_assert_msg(!companion_minutes(text), "%s", text);
}
END_TEST

START_TEST(test_parent_line) {
  const auto parent = parse_parent(
      "8\tother\tlow\tr\t2:00:00\tx\n7\tacc\tnormal\t(null)\t1:00:00\tbig|(small&x)\n77\to\tl\tr\t2:00\tx\n",
      7);
  ck_assert(parent.has_value());
  check_text(parent->account + "," + parent->qos + "," + parent->reservation + "," + parent->constraint,
             "acc,normal,,big|(small&x)");
  ck_assert_int_eq(parent->minutes, 60);
  for (const char* text : {"", "7", "7\tacc\tnormal\t(null)\t1:00:00", "7\tacc\tnormal\t(null)\tINVALID\tx",
                           "77\tacc\tnormal\t(null)\t1:00:00\tx\n"})
    ck_assert_msg(!parse_parent(text, 7), "%s", text);
}
END_TEST

START_TEST(test_sbatch_command) {
  ParentJob parent;
  parent.job = 7;
  parent.name = "n";
  const auto joined_text = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += word + "\n";
    return text;
  };
  const std::string cores = joined_text(sbatch_command(parent, {UnitKind::cores, 4}, {"p", 3}, "/d", "s"));
  ck_assert(cores.find("--cpus-per-task=12\n") != std::string::npos);
  ck_assert(cores.find("--exclusive") == std::string::npos && cores.find("--time") == std::string::npos);
  ck_assert(cores.find("--account") == std::string::npos && cores.find("--gres") == std::string::npos);
  const std::string node = joined_text(sbatch_command(parent, {UnitKind::node, 0}, {"p", 1}, "/d", "s"));
  ck_assert(node.find("--exclusive\n") != std::string::npos &&
            node.find("--cpus-per-task") == std::string::npos);
  check_text(shell_quoted("it's"), "'it'\\''s'");
  ck_assert_int_eq(parse_sbatch("4711\n"), 4711);
  ck_assert_int_eq(parse_sbatch("4711;cluster\n"), 4711);
  for (const char* text : {"", "Submitted batch job 4", "-4", "0", "99999999999", "4x"})
    ck_assert_int_eq(parse_sbatch(text), 0);
}
END_TEST

START_TEST(test_news) {
  const auto news = parse_job_news(
      R"({"v":1,"request":"max=4","status":{"target":{"units":3,"base":1,"held":1,"lead":30,"reason":"r","grants":)"
      R"([{"partition":"p","units":2},{"partition":"--evil","units":1},{"partition":"a;b","units":1},{"partition":"q","units":0}]}}})");
  ck_assert(news && news->target);
  ck_assert_int_eq(news->target->units, 3);
  check_text(grants(news->target->grants), "p:2 ");  // what is no partition's name goes into no command
  check_text(news->request, "max=4");
  ck_assert(!parse_job_news(R"({"v":1,"status":{}})")->target);
  for (const char* bad : {R"({"units":1,"base":2})", R"({"units":-1,"base":0})", R"({"units":"3","base":1})",
                          "7", "null", R"({"units":99999999999,"base":1})"})
    ck_assert_msg(!parse_job_news(std::string(R"({"v":1,"status":{"target":)") + bad + "}}")->target, "%s",
                  bad);
  const auto smaller = parse_job_news(
      R"({"v":1,"status":{"target":{"units":1,"base":2,"requeue":{"at":1790000000,"grace":60}}}})");
  ck_assert(smaller && smaller->target);
  ck_assert_double_eq(smaller->target->requeue_at, 1790000000);
  ck_assert_double_eq(smaller->target->requeue_grace, 60);
  for (const char* bad : {"", "[]", R"({"v":2})", R"({"error":"x"})"}) ck_assert(!parse_job_news(bad));
}
END_TEST

START_TEST(test_pauses) {
  ck_assert_double_eq(poll_pause(0, 60), 1);  // an older mlqd tells none
  ck_assert_double_eq(poll_pause(0.25, 60), 1);
  ck_assert_double_eq(poll_pause(2.5, 60), 2.5);
  ck_assert_double_eq(poll_pause(100, 60), 15);
  ck_assert_double_eq(poll_pause(100, 2000), 30);
  ck_assert_double_eq(poll_pause(100, 2), 1);
  for (const char* odd : {"0", "-1", "1e9", "\"2\"", "null"})
    ck_assert_double_eq(parse_job_news(std::string(R"({"v":1,"poll":)") + odd + "}")->poll, 0);
  ck_assert_double_eq(parse_job_news(R"({"v":1,"poll":2.5})")->poll, 2.5);
  std::minstd_rand random;
  double least = 10, most = 0;
  for (int i = 0; i < 1000; ++i) {
    const double pause = spread(10, random);
    least = std::min(least, pause);
    most = std::max(most, pause);
  }
  ck_assert(least >= 9 && least < 9.1);
  ck_assert(most > 10.9 && most <= 11);
}
END_TEST

START_TEST(test_environments) {
  const Environment own{{"PATH", "/bin"},      {"HOME", "/h"},        {"SLURM_CONF", "/c"},
                        {"SLURM_JOB_ID", "1"}, {"SBATCH_QOS", "q"},   {"SRUN_X", "1"},
                        {"MLQ_TOKEN", "t"},    {"ML_QUALITY", "off"}, {"MLQ_AGENT_SECRET", "s"},
                        {"PMI_RANK", "0"},     {"MINE", "m"},         {"_SLURM_SPANK_OPTION_a_b", "c"}};
  const Environment companion = companion_environment(own);
  ck_assert_uint_eq(companion.size(), 3);
  ck_assert(companion.contains("PATH") && companion.contains("HOME") && companion.contains("SLURM_CONF"));
  const Environment command = command_environment(own);
  ck_assert_uint_eq(command.size(), 4);
  check_text(command.at("MINE"), "m");
  // on a companion: the parent's variables, but Slurm's are those of the companion
  const Environment node{{"SLURM_JOB_ID", "2"}, {"MINE", "other"}, {"SLURM_SUBMIT_DIR", "/x"}};
  const Environment base = base_environment(node, own);
  check_text(base.at("SLURM_JOB_ID"), "2");
  check_text(base.at("MINE"), "m");
  check_text(base.at("MLQ_TOKEN"), "t");
  ck_assert(!base.contains("MLQ_AGENT_SECRET") && !base.contains("SBATCH_QOS"));
  const Environment worker = worker_environment(base, {3, 5, 8, 1, 2, "h", 99, 9, 18, false}, "@s", 7);
  check_text(
      worker.at("RANK") + worker.at("WORLD_SIZE") + worker.at("LOCAL_RANK") + worker.at("LOCAL_WORLD_SIZE"),
      "5812");
  check_text(worker.at("MLQ_UNITS") + "," + worker.at("MLQ_CORES") + "," + worker.at("OMP_NUM_THREADS"),
             "9,18,3");
}
END_TEST

START_TEST(test_node_sizes) {
  const auto list = cores_per_node("8(x2),4");
  ck_assert(list && *list == (std::vector<std::int64_t>{8, 8, 4}));
  for (const char* text : {"", "8(x", "8(x0)", "0", "8,", "8(x99999999999)", "a", "8(x2", "8(y2)", "-8"})
    ck_assert_msg(!cores_per_node(text), "%s", text);
  ck_assert(!cores_per_node("1(x65537)") && cores_per_node("1(x65536)"));
  const NodeSize size = node_size({{"SLURM_JOB_ID", "9"},
                                   {"SLURM_JOB_CPUS_PER_NODE", "8,4"},
                                   {"SLURM_NODEID", "1"},
                                   {"SLURM_JOB_NUM_NODES", "2"}});
  ck_assert_int_eq(size.job, 9);
  ck_assert_int_eq(size.cores, 4);
  ck_assert_int_eq(ranks_of(*parse_ranks("unit"), 5), 5);
  ck_assert_int_eq(ranks_of(*parse_ranks("node"), 5), 1);
  ck_assert_int_eq(ranks_of(*parse_ranks("3"), 5), 3);
  for (const char* text : {"", "0", "-1", "4097", "2x", "units"}) ck_assert(!parse_ranks(text));
}
END_TEST

START_TEST(test_messages) {
  Message message;
  message.kind = Kind::start;
  message.generation = 4;
  message.rank = 2;
  message.seconds = 1.5;
  message.flag = true;
  message.command = {"a b", "\xff\xfe", ""};
  message.environment = {{"A", "\x80"}, {"B", "="}};
  message.text = text_of_bytes(std::string("x\0\xff\n", 4));
  std::string line = to_line(message), error;
  ck_assert(line.ends_with('\n') && line.find('\n') == line.size() - 1);
  const auto back = parse_message(line, error);
  ck_assert_msg(back.has_value(), "%s", error.c_str());
  ck_assert(back->kind == Kind::start && back->generation == 4 && back->rank == 2 && back->seconds == 1.5 &&
            back->flag);
  ck_assert(back->command == message.command && back->environment == message.environment);
  ck_assert(bytes_of_text(back->text) == std::string("x\0\xff\n", 4));
  for (const char* bad :
       {"", "[]", R"({"kind":"none"})", R"({"kind":7})", R"({})", R"({"kind":"start","rank":-1})",
        R"({"kind":"start","port":65536})", R"({"kind":"start","rank":1.5})",
        R"({"kind":"start","seconds":-1})", R"({"kind":"start","flag":1})",
        R"({"kind":"start","command":"x"})", R"({"kind":"start","command":[1]})",
        R"({"kind":"start","environment":{"A":1}})", R"({"kind":"start","environment":{"A=B":"1"}})",
        R"({"kind":"start","ranks":1048577})"}) {
    ck_assert_msg(!parse_message(bad, error), "%s", bad);
    ck_assert_msg(!error.empty(), "%s", bad);
  }
  std::string buffer = "a\nbb\nc";
  std::vector<std::string> lines;
  ck_assert(cut_messages(buffer, 4, lines) && lines.size() == 2);
  check_text(buffer, "c");
  buffer = "12345";
  ck_assert(!cut_messages(buffer, 4, lines));
  buffer = "12345\n";
  ck_assert(!cut_messages(buffer, 4, lines));
}
END_TEST

START_TEST(test_proofs) {
  const std::string secret = random_hex(32), nonce = random_hex(32);
  ck_assert_uint_eq(secret.size(), 64);
  ck_assert_str_ne(secret.c_str(), nonce.c_str());
  const std::string proof = prove(secret, "member", nonce);
  ck_assert(proven(proof, secret, "member", nonce));
  ck_assert(!proven(proof, secret, "head", nonce));  // one side's proof is not the other's
  ck_assert(!proven(proof, secret, "member", random_hex(32)));
  ck_assert(!proven(proof, random_hex(32), "member", nonce));
  ck_assert(!proven(prove(secret, "member", ""), secret, "member", ""));
  // {"alg":"none"}: a token without a signature proves nothing
  const std::string unsigned_token =
      "eyJhbGciOiJub25lIn0." + proof.substr(proof.find('.') + 1, proof.rfind('.') - proof.find('.') - 1) +
      ".";
  ck_assert(!proven(unsigned_token, secret, "member", nonce));
  for (const char* bad : {"", ".", "..", "a.b.c"}) ck_assert(!proven(bad, secret, "member", nonce));
}
END_TEST

START_TEST(test_lines) {
  LineBuffer lines("[3] ");
  check_text(lines.take("one\ntw"), "[3] one\n");
  check_text(lines.take("o\n\n"), "[3] two\n[3] \n");
  check_text(lines.take("end"), "");
  check_text(lines.rest(), "[3] end\n");
  check_text(lines.rest(), "");
  LineBuffer plain("");
  const std::string longest(LineBuffer::kLongest + 5, 'x');
  ck_assert_uint_eq(plain.take(longest).size(), LineBuffer::kLongest);
  check_text(plain.rest(), "xxxxx");
}
END_TEST

Suite* decisions() {
  Suite* suite = suite_create("run");
  TCase* tests = tcase_create("decisions");
  tcase_add_test(tests, test_growing_asks_for_grants_within_the_target);
  tcase_add_test(tests, test_growing_does_not_ask_twice);
  tcase_add_test(tests, test_shrinking_lets_the_waiting_go_first);
  tcase_add_test(tests, test_shrinking_keeps_the_most_and_then_the_oldest);
  tcase_add_test(tests, test_those_that_must_leave_go_whatever_the_sizes_say);
  tcase_add_test(tests, test_the_answer_names_those_that_must_leave);
  tcase_add_test(tests, test_time_limits);
  tcase_add_test(tests, test_parent_line);
  tcase_add_test(tests, test_sbatch_command);
  tcase_add_test(tests, test_news);
  tcase_add_test(tests, test_pauses);
  tcase_add_test(tests, test_environments);
  tcase_add_test(tests, test_node_sizes);
  tcase_add_test(tests, test_messages);
  tcase_add_test(tests, test_proofs);
  tcase_add_test(tests, test_lines);
  suite_add_tcase(suite, tests);
  return suite;
}

}  // namespace

int main() {
  SRunner* runner = srunner_create(decisions());
  srunner_add_suite(runner, group_suite());
  srunner_add_suite(runner, run_gpu_suite());
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
