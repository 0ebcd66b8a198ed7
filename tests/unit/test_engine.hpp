// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <check.h>

TCase* config_cases();
TCase* comment_cases();
TCase* message_cases();
TCase* cycle_cases();
TCase* failure_cases();
TCase* target_cases();
TCase* companion_cases();
TCase* sizing_cases();
TCase* size_limit_cases();
TCase* gpu_sizing_cases();
TCase* requeue_cases();
TCase* het_cases();
TCase* node_cases();
TCase* gpu_cases();
