/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/client/settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define REPORTS "/v1/reports"

void mlq_note(const mlq_settings_t *settings, const char *format, ...)
{
	char line[512];
	va_list args;

	if (!settings->debug)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "libmlq: %s\n", line);
}

static bool set(const char *value)
{
	return value && *value;
}

/* The launchers' names for the rank, the most particular first. */
static const char *rank_of(void)
{
	static const char *const names[] = {"MLQ_RANK",	 "RANK",     "OMPI_COMM_WORLD_RANK",
					    "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (set(getenv(names[i])))
			return getenv(names[i]);
	return "0";
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static bool read_url(mlq_settings_t *out, const char *url)
{
	size_t length = strlen(url);

	if (length >= MLQ_URL_MAX || !printable(url))
		return false;
	if (starts_with(url, "unix:/")) {
		if (length - strlen("unix:") >= sizeof(((struct sockaddr_un *)0)->sun_path))
			return false;
		snprintf(out->socket_path, sizeof(out->socket_path), "%s", url + strlen("unix:"));
		snprintf(out->url, sizeof(out->url), "http://localhost" REPORTS);
		return true;
	}
	if (!starts_with(url, "http://") && !starts_with(url, "https://"))
		return false;
	while (length && url[length - 1] == '/')
		length--;
	snprintf(out->url, sizeof(out->url), "%.*s" REPORTS, (int)length, url);
	return true;
}

static double read_cores(const mlq_settings_t *settings, const char *text)
{
	char *end;
	double cores;

	if (!set(text))
		return 0;
	cores = strtod(text, &end);
	if (*end || !isfinite(cores) || cores <= 0 || cores > 1e9) {
		mlq_note(settings, "MLQ_CORES=%.64s is not a number of cores, reporting without it",
			 text);
		return 0;
	}
	return cores;
}

bool mlq_settings_read(mlq_settings_t *out)
{
	const char *url = getenv("MLQ_URL"), *token = getenv("MLQ_TOKEN"),
		   *ca_file = getenv("MLQ_CA_FILE");

	*out = (mlq_settings_t){.debug = set(getenv("MLQ_DEBUG"))};
	if (!set(url) || !set(token)) {
		mlq_note(out, "MLQ_URL or MLQ_TOKEN is not set: not a job of --ml-quality, nothing "
			      "is reported");
		return false;
	}
	if (strcmp(rank_of(), "0") != 0) {
		mlq_note(out, "rank %.16s: rank 0 reports for the job", rank_of());
		return false;
	}
	if (!read_url(out, url)) {
		mlq_note(out,
			 "MLQ_URL=%.128s is not http://host:port, https://host:port or unix:/path",
			 url);
		return false;
	}
	if (strlen(token) >= MLQ_TOKEN_MAX || !printable(token)) {
		mlq_note(out, "MLQ_TOKEN is not a token");
		return false;
	}
	snprintf(out->authorization, sizeof(out->authorization), "Authorization: Bearer %s", token);
	if (set(ca_file) && strlen(ca_file) < sizeof(out->ca_file))
		snprintf(out->ca_file, sizeof(out->ca_file), "%s", ca_file);
	out->cores = read_cores(out, getenv("MLQ_CORES"));
	return true;
}
