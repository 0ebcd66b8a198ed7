// SPDX-License-Identifier: GPL-2.0-or-later
// All parts of mlqd put together; its life is the daemon's.
#pragma once

#include <memory>
#include <vector>

#include "tools/mlqd/http_server.hpp"
#include "tools/mlqd/keys.hpp"
#include "tools/mlqd/options.hpp"

namespace mlq::mlqd {

class Daemon {
 public:
  /// Starts to serve. Throws std::runtime_error with a message for the admin.
  explicit Daemon(const Options& options);
  ~Daemon();

  void reload_key();
  /// Lets nobody in, writes what was taken, answers it, ends.
  void stop();

 private:
  const Options options_;
  Keys keys_;
  Store store_;
  Reader reader_;
  Metrics metrics_;
  Writer writer_;
  Service service_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
};

}  // namespace mlq::mlqd
