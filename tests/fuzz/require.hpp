// SPDX-License-Identifier: GPL-2.0-or-later
// What fuzz targets demand: a broken demand aborts, which the fuzzer reports with the input.
#pragma once

#include <cstdlib>

inline void require(bool holds) {
  if (!holds) std::abort();
}
