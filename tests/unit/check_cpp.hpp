// SPDX-License-Identifier: GPL-2.0-or-later
// Check for C++: its macro fail() is a name in the standard library's headers.
#pragma once

#include <check.h>
#undef fail

#include <string>

/// Keeps both texts alive while they are compared and shown.
#define check_text(actual, expected)                              \
  do {                                                            \
    const std::string actual_text(actual);                        \
    const std::string expected_text(expected);                    \
    ck_assert_str_eq(actual_text.c_str(), expected_text.c_str()); \
  } while (0)
