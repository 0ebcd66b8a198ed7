// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

struct Suite;  // of check.h, whose macros clash with the standard library's headers
struct Suite* group_suite();
struct Suite* run_gpu_suite();
