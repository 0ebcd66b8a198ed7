/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site with a key file, and the ways Slurm calls the plugin. */
#ifndef MLQ_TESTS_SPANK_FIXTURE_H
#define MLQ_TESTS_SPANK_FIXTURE_H

#include <check.h>

#include "tests/unit/spank_stubs.h"

#define SITE_KEY "0123456789abcdef0123456789abcdef-the-site-key"

extern char site_key_path[64], site_key_arg[80];
extern char* site_args[4];

void site_set_up(void);
void site_tear_down(void);

/* Slurm loads its plugins in this context. */
void load(spank_context_t context);

/* As slurmstepd does it: the option if there is one, post_opt. */
void start_job(const char* value);

TCase* spank_node_case(void);
TCase* spank_speeds_case(void);
TCase* spank_text_case(void);

#endif
