/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MLQ_SPANK_ASK_H
#define MLQ_SPANK_ASK_H

#include <stddef.h>

/*
 * GET url + path with a job's token, everything within deadline_ms: no thread,
 * no child, no descriptor stays open. url is http://host[:port], its host an
 * address or a name in /etc/hosts, for a resolver keeps no deadline. Returns
 * the length of the answer's body, which is put into answer with a NUL behind
 * it; -1 with a reason if there is none, it is not "200" or it does not fit.
 */
extern long ask_get(const char *url, const char *path, const char *token,
		    int deadline_ms, char *answer, size_t size,
		    const char **reason);

#endif
