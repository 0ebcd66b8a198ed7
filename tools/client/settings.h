/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the environment of a job says about reporting. */
#ifndef MLQ_CLIENT_SETTINGS_H
#define MLQ_CLIENT_SETTINGS_H

#include <stdbool.h>

#define MLQ_URL_MAX 512
#define MLQ_TOKEN_MAX 8192
#define MLQ_PATH_MAX 512

typedef struct {
	char url[MLQ_URL_MAX + 32];		/* of POST /v1/reports */
	char socket_path[MLQ_URL_MAX];		/* "" = TCP */
	char authorization[MLQ_TOKEN_MAX + 32]; /* the header */
	char ca_file[MLQ_PATH_MAX];		/* "" = the system's certificates */
	double cores;				/* 0 = unknown */
	bool debug;
} mlq_settings_t;

/*
 * MLQ_URL (http://host:port, https://host:port or unix:/path), MLQ_TOKEN, MLQ_CORES, MLQ_CA_FILE,
 * MLQ_DEBUG and the rank. False when there is nothing to report to: outside a job, in a rank other
 * than 0, or with values that cannot be used (then one line on stderr if MLQ_DEBUG is set).
 */
bool mlq_settings_read(mlq_settings_t *out);

/* One line on stderr if MLQ_DEBUG is set. */
void mlq_note(const mlq_settings_t *settings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
