// SPDX-License-Identifier: GPL-2.0-or-later

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <stdexcept>

#include "tests/unit/check_cpp.hpp"
#include "tools/mlqd/connections.hpp"
#include "tools/mlqd/listener.hpp"
#include "tools/mlqd/rate_limiter.hpp"

using namespace mlq::mlqd;

namespace {

/// A connected pair: whether mlqd's end was shut down shows at the other end.
class Client {
 public:
  Client() { ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0); }
  ~Client() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void use(Connections::Entry& entry) const { entry.socket = ends_[0]; }
  bool closed() const {
    char byte;
    return read(ends_[1], &byte, 1) == 0;
  }

 private:
  int ends_[2];
};

struct Connected {
  Client client;
  Connections::Entry entry;
};

Connections::Entry& connect(Connections& table, std::deque<Connected>& all, bool local = false,
                            std::uint32_t uid = 0, bool trusted = false) {
  Connected& one = all.emplace_back();
  one.client.use(one.entry);
  one.entry.peer.local = local;
  one.entry.peer.uid = uid;
  one.entry.trusted = trusted;
  table.open(one.entry);
  return one.entry;
}

}  // namespace

START_TEST(bucket_fills_and_goes_into_debt) {
  RateLimiter limiter(10, 50);
  ck_assert_double_eq(limiter.wait("a", 0), 0);
  limiter.spend("a", 250, 0);  // one large request passes
  ck_assert_double_eq_tol(limiter.wait("a", 0), 20.1, 1e-9);
  ck_assert_double_eq_tol(limiter.wait("a", 10), 10.1, 1e-9);
  ck_assert_double_eq(limiter.wait("a", 20.2), 0);
  ck_assert_double_eq(limiter.wait("b", 0), 0);  // the others notice nothing
  limiter.spend("a", 10, 1000);                  // never more than the burst
  ck_assert_double_eq(limiter.wait("a", 1000), 0);
  limiter.spend("a", 40, 1000);
  ck_assert_double_gt(limiter.wait("a", 1000), 0);
  ck_assert_double_gt(limiter.wait("a", 900), 0);  // a clock that went back gives nothing
}
END_TEST

START_TEST(idle_callers_are_forgotten) {
  RateLimiter limiter(1, 10);
  for (int i = 0; i < 5000; ++i) limiter.spend("old" + std::to_string(i), 5, 0);
  limiter.spend("slow", 1000, 0);
  for (int i = 0; i < 20000; ++i) limiter.spend("new" + std::to_string(i), 1, 100);
  ck_assert_uint_lt(limiter.size(), 21000);
  ck_assert_double_gt(limiter.wait("slow", 100), 800);
}
END_TEST

START_TEST(the_longest_silent_stranger_goes) {
  Connections table(3, 100);
  std::deque<Connected> all;
  Connections::Entry& known = connect(table, all);
  table.set_busy(known);
  table.set_idle(known);
  connect(table, all);
  connect(table, all);
  for (const Connected& one : all) ck_assert(!one.client.closed());
  connect(table, all);
  ck_assert(!all[0].client.closed());
  ck_assert(all[1].client.closed());
  ck_assert(!all[2].client.closed());
  for (Connected& one : all) table.close(one.entry);
}
END_TEST

START_TEST(the_busy_and_the_trusted_stay) {
  Connections table(2, 100);
  std::deque<Connected> all;
  connect(table, all, true, 0, true);
  table.set_busy(connect(table, all));
  table.set_busy(connect(table, all));
  connect(table, all);  // nobody idle is there to go
  for (const Connected& one : all) ck_assert(!one.client.closed());
  connect(table, all);
  ck_assert(all[3].client.closed());
  ck_assert(!all[4].client.closed());
  for (Connected& one : all) table.close(one.entry);
}
END_TEST

START_TEST(one_user_does_not_take_all) {
  Connections table(100, 2);
  std::deque<Connected> all;
  connect(table, all, true, 5);
  connect(table, all, true, 5);
  connect(table, all, true, 6);
  connect(table, all, true, 5);
  ck_assert(!all[0].client.closed());
  ck_assert(!all[2].client.closed());
  ck_assert(all[3].client.closed());
  table.close(all[3].entry);
  table.close(all[0].entry);
  connect(table, all, true, 5);
  ck_assert(!all[4].client.closed());
  for (const int i : {1, 2, 4}) table.close(all[static_cast<std::size_t>(i)].entry);
}
END_TEST

START_TEST(listeners_say_what_is_wrong) {
  char folder[] = "/tmp/mlqd-listen-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  const std::string path = std::string(folder) + "/s";
  const auto error_of = [](auto&& open) -> std::string {
    try {
      open();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  for (const char* address : {"", "6850", "a:", "a:b", "127.0.0.1:65536", "127.0.0.1:+1", "::1"})
    ck_assert_msg(!error_of([&] { listen_tcp(address); }).empty(), "%s", address);
  std::ofstream(path) << "x";
  ck_assert_ptr_nonnull(strstr(error_of([&] { listen_unix(path); }).c_str(), "is no socket"));
  unlink(path.c_str());
  {
    const Socket first = listen_unix(path);
    struct stat status {};
    ck_assert_int_eq(stat(path.c_str(), &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0666);
    ck_assert_ptr_nonnull(
        strstr(error_of([&] { listen_unix(path); }).c_str(), "another process listens there"));
  }
  check_text(error_of([&] { listen_unix(path); }).c_str(), "");  // nobody listens any more
  ck_assert(!error_of([&] { listen_unix(std::string(200, 'x')); }).empty());
  unlink(path.c_str());
  rmdir(folder);
}
END_TEST

int main() {
  Suite* suite = suite_create("mlqd limits");
  TCase* cases = tcase_create("limits");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, bucket_fills_and_goes_into_debt);
  tcase_add_test(cases, idle_callers_are_forgotten);
  tcase_add_test(cases, the_longest_silent_stranger_goes);
  tcase_add_test(cases, the_busy_and_the_trusted_stay);
  tcase_add_test(cases, one_user_does_not_take_all);
  tcase_add_test(cases, listeners_say_what_is_wrong);
  suite_add_tcase(suite, cases);
  SRunner* runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
