// SPDX-License-Identifier: GPL-2.0-or-later
// How a group goes from one size to the next, with members that only note what they are told.
#include "tests/unit/test_run.hpp"

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "tools/mlq/run/group.hpp"

#include "tests/unit/check_cpp.hpp"

using namespace mlq::run;

namespace {

struct Bench {
  Loop loop;
  std::map<std::string, std::vector<Message>> told;
  std::vector<std::string> gone;
  int code = -1;
  Group group;
  Member* base;

  explicit Bench(bool restart = false) : Bench(restart, options(restart)) {}
  Bench(bool, const GroupOptions& chosen) : group(loop, chosen, hooks()), base(add("base", 2, true)) {}

  static GroupOptions options(bool restart) {
    GroupOptions chosen;
    chosen.address = "127.0.0.1";
    chosen.restart = restart;
    chosen.grace = 3;
    return chosen;
  }
  GroupHooks hooks() {
    return {[](const std::string&) {}, [] {},
            [this](const Member& m, const std::string& why) { gone.push_back(m.name + ":" + why); },
            [this](int result) { code = result; }};
  }
  Member* add(const std::string& name, std::int64_t units, bool is_base = false) {
    Member member;
    member.base = is_base;
    member.units = member.ranks = member.cores = units;
    member.name = name;
    member.send = [this, name](const Message& message) { told[name].push_back(message); };
    return &group.add(std::move(member));
  }
  void say(Member* member, Kind kind, std::int64_t status = 0) {
    Message message;
    message.kind = kind;
    message.generation = group.generation();
    message.status = status;
    message.seconds = kind == Kind::formed ? 0.5 : 0;
    group.take(*member, message);
  }
  const Message& last(const std::string& name) { return told[name].back(); }
  /// Started, elastic, and grown by a companion of one unit.
  Member* grown() {
    group.start();
    say(base, Kind::attached);
    Member* companion = add("c1", 1);
    group.admit(*companion);
    say(companion, Kind::ready);
    say(base, Kind::formed);
    say(companion, Kind::formed);
    return companion;
  }
};

START_TEST(test_start_places_the_base) {
  Bench bench;
  Member* second = bench.add("base2", 3, true);
  bench.group.start();
  const Message& first = bench.last("base");
  ck_assert(first.kind == Kind::start && first.rank == 0 && first.ranks == 2 && first.world == 5 &&
            first.units == 5);
  const Message& other = bench.last("base2");
  ck_assert(other.rank == 2 && other.ranks == 3 && other.port == first.port && other.generation == 1);
  bench.say(second, Kind::attached);
  ck_assert(!bench.group.elastic());  // one of two nodes is not enough
  bench.say(bench.base, Kind::attached);
  ck_assert(bench.group.elastic());
}
END_TEST

START_TEST(test_growth_waits_for_the_newcomer) {
  Bench bench;
  bench.group.start();
  bench.say(bench.base, Kind::attached);
  Member* companion = bench.add("c1", 1);
  bench.group.admit(*companion);
  ck_assert(bench.last("c1").kind == Kind::start && bench.last("c1").flag);
  ck_assert(bench.last("base").kind == Kind::start);  // trains on meanwhile
  bench.say(companion, Kind::ready);
  const Message& base = bench.last("base");
  ck_assert(base.kind == Kind::reform && base.generation == 2 && base.world == 3 && base.rank == 0 &&
            !base.flag);
  ck_assert(bench.last("c1").kind == Kind::reform && bench.last("c1").rank == 2);
  ck_assert_int_ne(base.port, bench.told["base"].front().port);
  ck_assert(bench.group.moving());
  bench.say(bench.base, Kind::formed);
  ck_assert(bench.group.moving());
  bench.say(companion, Kind::formed);
  ck_assert(!bench.group.moving() && bench.group.moves() == 1);
  ck_assert_double_eq(bench.group.lost_seconds(), 0.5);
  ck_assert_int_eq(bench.group.units(), 3);
}
END_TEST

START_TEST(test_a_release_lets_it_leave_and_nobody_is_missed) {
  Bench bench;
  Member* companion = bench.grown();
  bench.group.release(*companion);
  ck_assert(bench.last("c1").kind == Kind::reform && bench.last("c1").ranks == 0);
  ck_assert(bench.last("base").kind == Kind::reform && bench.last("base").world == 2);
  bench.say(bench.base, Kind::formed);
  bench.loop.defer([&] { bench.loop.quit(); });
  bench.loop.run();
  ck_assert_int_eq(bench.group.generation(), 3);  // one move, however long the leaver takes
  bench.say(companion, Kind::exited, 0);
  bench.say(companion, Kind::exited, 143);  // even one that had to be ended
  ck_assert_int_eq(bench.code, -1);
  bench.say(companion, Kind::stopped);
  ck_assert(bench.last("c1").kind == Kind::leave);
  ck_assert_uint_eq(bench.gone.size(), 1);
  check_text(bench.gone[0], "c1:");
  ck_assert(!bench.group.moving() && bench.group.moves() == 2 && bench.group.generation() == 3);
}
END_TEST

START_TEST(test_several_leave_with_one_move) {
  Bench bench;
  Member* first = bench.grown();
  Member* second = bench.add("c2", 1);
  bench.group.admit(*second);
  bench.say(second, Kind::ready);
  for (Member* member : {bench.base, first, second}) bench.say(member, Kind::formed);
  Member* const going[] = {first, second, bench.add("c3", 1)};  // the last has not come in yet
  bench.group.admit(*going[2]);
  bench.group.release(going);
  ck_assert(bench.last("c1").kind == Kind::reform && bench.last("c1").ranks == 0);
  ck_assert(bench.last("c2").kind == Kind::reform && bench.last("c2").ranks == 0);
  ck_assert(bench.last("c3").kind == Kind::leave);
  ck_assert_int_eq(bench.last("base").world, 2);
  bench.say(bench.base, Kind::formed);
  bench.loop.defer([&] { bench.loop.quit(); });
  bench.loop.run();
  ck_assert_int_eq(bench.group.generation(), 4);  // the first of the base, two that grew, one that shrank
}
END_TEST

START_TEST(test_a_lost_companion_is_left_out_at_once) {
  Bench bench;
  Member* companion = bench.grown();
  bench.group.lose(*companion, "gone");
  const Message& base = bench.last("base");
  ck_assert(base.kind == Kind::reform && base.flag && base.world == 2 && base.generation == 3);
  check_text(bench.gone.at(0), "c1:gone");
  // a rank of a companion that fails is the same
  Bench other;
  other.say(other.grown(), Kind::exited, 9);
  ck_assert(other.last("base").kind == Kind::reform && other.last("base").flag);
  ck_assert_int_eq(other.code, -1);
}
END_TEST

START_TEST(test_one_lost_while_it_is_taken_in) {
  Bench bench;
  bench.group.start();
  bench.say(bench.base, Kind::attached);
  Member* companion = bench.add("c1", 1);
  bench.group.admit(*companion);
  bench.say(companion, Kind::ready);
  bench.group.lose(*companion, "gone");
  ck_assert(bench.last("base").generation == 3 && bench.last("base").world == 2);
  bench.say(bench.base, Kind::formed);
  ck_assert(!bench.group.moving());
}
END_TEST

START_TEST(test_a_failing_base_ends_all_with_its_code) {
  Bench bench;
  Member* companion = bench.grown();
  bench.say(bench.base, Kind::exited, 5);
  ck_assert(bench.last("base").kind == Kind::stop && bench.last("c1").kind == Kind::stop);
  ck_assert_double_eq(bench.last("c1").seconds, 3);
  bench.say(bench.base, Kind::stopped);
  ck_assert_int_eq(bench.code, -1);
  bench.say(companion, Kind::exited, 143);
  bench.say(companion, Kind::stopped);
  ck_assert_int_eq(bench.code, 5);
  ck_assert(bench.last("c1").kind == Kind::leave);
}
END_TEST

START_TEST(test_a_training_that_is_over_is_over) {
  Bench bench;
  Member* companion = bench.grown();
  bench.say(bench.base, Kind::exited, 0);
  bench.say(companion, Kind::exited, 0);
  ck_assert_int_eq(bench.code, -1);
  bench.say(bench.base, Kind::exited, 0);  // the last of its two ranks
  bench.say(bench.base, Kind::stopped);
  bench.say(companion, Kind::stopped);
  ck_assert_int_eq(bench.code, 0);
}
END_TEST

START_TEST(test_nothing_moves_once_the_base_has_ended) {
  Bench bench;
  Member* companion = bench.grown();
  Member* second = bench.add("c2", 1);
  bench.group.admit(*second);
  const std::int64_t generation = bench.group.generation();
  bench.say(bench.base, Kind::exited);  // one of its two ranks
  bench.say(second, Kind::ready);
  bench.group.release(*companion);
  ck_assert_int_eq(bench.group.generation(), generation);
  bench.say(bench.base, Kind::exited);
  bench.say(companion, Kind::leaving);  // lost
  ck_assert_int_eq(bench.group.generation(), generation);
  ck_assert(!bench.group.moving());
  bench.say(second, Kind::exited);
  bench.say(bench.base, Kind::stopped);
  bench.say(second, Kind::stopped);
  ck_assert_int_eq(bench.code, 0);
}
END_TEST

START_TEST(test_restart_waits_until_all_have_stopped) {
  Bench bench(true);
  bench.group.start();
  Member* companion = bench.add("c1", 1);
  bench.group.admit(*companion);
  ck_assert(bench.last("base").kind == Kind::stop && bench.last("base").number == SIGTERM);
  ck_assert(bench.told["c1"].empty());  // it has nothing to stop
  bench.say(bench.base, Kind::exited, 143);
  ck_assert_int_eq(bench.code, -1);
  bench.say(bench.base, Kind::stopped);
  ck_assert(bench.last("base").kind == Kind::start && bench.last("base").world == 3 &&
            bench.last("c1").rank == 2);
  bench.group.release(*companion);
  bench.say(bench.base, Kind::stopped);
  ck_assert(bench.last("base").kind == Kind::stop);  // the companion still saves
  bench.say(companion, Kind::stopped);
  ck_assert(bench.last("base").kind == Kind::start && bench.last("base").world == 2);
  ck_assert(bench.last("c1").kind == Kind::leave);
}
END_TEST

START_TEST(test_after_a_terminating_signal_failures_are_the_end) {
  Bench bench;
  Member* companion = bench.grown();
  bench.group.signal(SIGTERM);
  ck_assert(bench.last("c1").kind == Kind::signal && bench.last("c1").number == SIGTERM);
  bench.say(companion, Kind::exited, 143);
  bench.say(companion, Kind::stopped);
  bench.say(bench.base, Kind::exited, 143);
  bench.say(bench.base, Kind::stopped);
  ck_assert_int_eq(bench.code, 143);
}
END_TEST

/// Two nodes, of which the second one's rank ends badly: it was told to end.
void two_save(Bench& bench, Member* second) {
  bench.group.start();
  ck_assert(bench.group.save(20));
  ck_assert(bench.group.saving() && !bench.group.saved());
  bench.say(bench.base, Kind::exited, 0);
  bench.say(bench.base, Kind::stopped);
  ck_assert(!bench.group.saved());
  bench.say(second, Kind::exited, 143);
  bench.say(second, Kind::stopped);
}

START_TEST(test_all_save_and_the_group_stands_still) {
  Bench bench(true);
  Member* second = bench.add("base2", 1, true);
  two_save(bench, second);
  ck_assert(bench.last("base").kind == Kind::stop && bench.last("base").number == SIGTERM);
  ck_assert_double_eq(bench.last("base2").seconds, 20);
  ck_assert(bench.group.saved());
  check_text(bench.group.phase(), "saved");
  ck_assert_int_eq(bench.code, -1);  // it has not ended
  ck_assert(!bench.group.save(20));
  bench.group.go_on();
  ck_assert(bench.last("base2").kind == Kind::start && bench.last("base2").generation == 2);
  ck_assert(!bench.group.saving());
  check_text(bench.group.phase(), "steady");
  bench.say(bench.base, Kind::exited, 7);  // from here on a failure is one
  bench.say(bench.base, Kind::stopped);
  bench.say(second, Kind::stopped);
  ck_assert_int_eq(bench.code, 7);
}
END_TEST

START_TEST(test_what_is_taken_back_while_they_save) {
  Bench bench(true);
  Member* second = bench.add("base2", 1, true);
  bench.group.start();
  bench.group.save(20);
  bench.group.go_on();  // not before they have ended
  ck_assert(bench.last("base2").kind == Kind::stop);
  bench.say(bench.base, Kind::stopped);
  bench.say(second, Kind::stopped);
  ck_assert(bench.last("base2").kind == Kind::start && !bench.group.saving());
  bench.group.finish(0);
  ck_assert(!bench.group.save(20));
  Bench over(true);
  over.group.start();
  over.say(over.base, Kind::exited, 0);  // its training is over: nothing is to be saved
  ck_assert(!over.group.save(20));
  Bench early(true);
  ck_assert(!early.group.save(20));
}
END_TEST

START_TEST(test_the_resize_signal_comes_before_sigterm) {
  GroupOptions options = Bench::options(true);
  options.resize_signal = SIGUSR2;
  Bench bench(true, options);
  bench.group.start();
  ck_assert(bench.group.save(3.2));  // of which 3 are the grace from SIGTERM on
  ck_assert(bench.last("base").kind == Kind::signal && bench.last("base").number == SIGUSR2);
  bench.loop.after(Seconds(0.4), [&] { bench.loop.quit(); });
  bench.loop.run();
  ck_assert(bench.last("base").kind == Kind::stop && bench.last("base").number == SIGTERM);
  ck_assert_double_eq(bench.last("base").seconds, 3);
}
END_TEST

START_TEST(test_nodes_of_the_base_leave_from_the_last_on) {
  Bench bench(true);
  Member* second = bench.add("base2", 1, true);
  Member* third = bench.add("base3", 1, true);
  bench.group.start();
  bench.group.keep_base(2);
  ck_assert(third->state == MemberState::leaving && second->state == MemberState::active);
  for (Member* member : {bench.base, second, third}) bench.say(member, Kind::stopped);
  ck_assert(third->state == MemberState::gone && bench.last("base3").kind == Kind::leave);
  ck_assert(bench.last("base").kind == Kind::start && bench.last("base").world == 3);
  bench.group.lose(*third, "its agent has ended");  // as it was told to
  bench.group.keep_base(2);                         // said again
  ck_assert(second->state == MemberState::active);
  ck_assert_int_eq(bench.group.units(), 3);
  bench.group.keep_base(0);  // the batch host stays
  ck_assert(second->state == MemberState::leaving && bench.base->state == MemberState::active);
  for (Member* member : {bench.base, second}) bench.say(member, Kind::stopped);
  ck_assert(bench.last("base").kind == Kind::start && bench.last("base").world == 2);
  ck_assert_int_eq(bench.code, -1);
  bench.say(bench.base, Kind::exited, 0);
  bench.say(bench.base, Kind::exited, 0);
  ck_assert(bench.group.ending());  // those that left are not waited for
}
END_TEST

START_TEST(test_a_node_of_the_base_leaves_in_the_processes) {
  Bench bench;
  Member* second = bench.add("base2", 1, true);
  bench.group.start();
  bench.group.keep_base(1);  // who does not re-form cannot leave
  ck_assert(second->state == MemberState::active);
  bench.say(bench.base, Kind::attached);
  bench.say(second, Kind::attached);
  bench.group.keep_base(1);
  ck_assert(bench.last("base2").kind == Kind::reform && bench.last("base2").ranks == 0);
  ck_assert(bench.last("base").kind == Kind::reform && bench.last("base").world == 2);
  bench.say(bench.base, Kind::formed);
  bench.say(second, Kind::exited, 0);
  ck_assert(!bench.group.ending());
  bench.say(second, Kind::stopped);
  ck_assert(second->state == MemberState::gone && !bench.group.moving());
}
END_TEST

}  // namespace

Suite* group_suite() {
  Suite* suite = suite_create("group");
  TCase* tests = tcase_create("moves");
  tcase_add_test(tests, test_start_places_the_base);
  tcase_add_test(tests, test_growth_waits_for_the_newcomer);
  tcase_add_test(tests, test_a_release_lets_it_leave_and_nobody_is_missed);
  tcase_add_test(tests, test_several_leave_with_one_move);
  tcase_add_test(tests, test_a_lost_companion_is_left_out_at_once);
  tcase_add_test(tests, test_one_lost_while_it_is_taken_in);
  tcase_add_test(tests, test_a_failing_base_ends_all_with_its_code);
  tcase_add_test(tests, test_a_training_that_is_over_is_over);
  tcase_add_test(tests, test_nothing_moves_once_the_base_has_ended);
  tcase_add_test(tests, test_restart_waits_until_all_have_stopped);
  tcase_add_test(tests, test_after_a_terminating_signal_failures_are_the_end);
  tcase_add_test(tests, test_all_save_and_the_group_stands_still);
  tcase_add_test(tests, test_what_is_taken_back_while_they_save);
  tcase_add_test(tests, test_the_resize_signal_comes_before_sigterm);
  tcase_add_test(tests, test_nodes_of_the_base_leave_from_the_last_on);
  tcase_add_test(tests, test_a_node_of_the_base_leaves_in_the_processes);
  suite_add_tcase(suite, tests);
  return suite;
}
