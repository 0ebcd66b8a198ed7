// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <check.h>

void add_ranking_tests(Suite* suite);
void add_allocator_tests(Suite* suite);
void add_outlook_tests(Suite* suite);
void add_policy_tests(Suite* suite);
void add_job_memory_tests(Suite* suite);
void add_settle_tests(Suite* suite);
void add_pending_size_tests(Suite* suite);
TCase* packing_cases();
TCase* gpu_packing_cases();
