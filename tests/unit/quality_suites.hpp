// SPDX-License-Identifier: GPL-2.0-or-later
// Included last: check.h defines a macro `fail`, which C++ headers use as a name.
#pragma once

#include <check.h>

TCase* quality_history_case();
TCase* quality_fit_case();
TCase* quality_curve_case();
TCase* quality_file_case();
