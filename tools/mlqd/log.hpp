// SPDX-License-Identifier: GPL-2.0-or-later
// One line a message on standard error, with the priority prefix that systemd's journal reads. Never a token
// or a key.
#pragma once

namespace mlq::mlqd {

enum class Level : int { error = 3, warning = 4, info = 6, debug = 7 };

/// Once at the start, before other threads: messages above this level are left out.
void set_log_level(Level level) noexcept;

__attribute__((format(printf, 2, 3))) void log(Level level, const char* format, ...) noexcept;

}  // namespace mlq::mlqd
