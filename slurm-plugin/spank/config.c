/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 64 /* bytes of a value that a message repeats */

typedef struct {
	const char *name;
	const char *allowed;
	bool required;
	int (*set)(const char *value, config_t *config);
} argument_t;

static int _copy(const char *value, char *out, size_t size)
{
	if (!value[0] || strlen(value) >= size)
		return -1;
	strcpy(out, value);
	return 0;
}

static bool _only(const char *text, const char *more)
{
	for (; *text; text++) {
		bool alnum = (*text >= '0' && *text <= '9') ||
			     (*text >= 'a' && *text <= 'z') ||
			     (*text >= 'A' && *text <= 'Z');

		if (!alnum && !strchr(more, *text))
			return false;
	}
	return true;
}

static int _set_url(const char *value, config_t *config)
{
	const char *host = NULL;

	if (!strncmp(value, "http://", 7))
		host = value + 7;
	else if (!strncmp(value, "https://", 8))
		host = value + 8;
	if (!host || !host[0] || strchr("/:", host[0]) ||
	    !_only(host, ".-_~%:[]/"))
		return -1;
	return _copy(value, config->url, sizeof(config->url));
}

static int _set_key(const char *value, config_t *config)
{
	if (value[0] != '/')
		return -1;
	return _copy(value, config->key, sizeof(config->key));
}

static int _set_cluster(const char *value, config_t *config)
{
	if (!_only(value, "._-"))
		return -1;
	return _copy(value, config->cluster, sizeof(config->cluster));
}

static int _set_token_days(const char *value, config_t *config)
{
	uint32_t days = 0;
	size_t n = strlen(value);

	if (n < 1 || n > 3)
		return -1;
	for (; *value; value++) {
		if (*value < '0' || *value > '9')
			return -1;
		days = days * 10 + (uint32_t)(*value - '0');
	}
	if (days < 1 || days > CONFIG_TOKEN_DAYS_MAX)
		return -1;
	config->token_days = days;
	return 0;
}

static const argument_t arguments[] = {
	{"url", "http://host:port or https://host:port of mlqd", true,
	 _set_url},
	{"key", "the absolute path of the key file", true, _set_key},
	{"cluster", "ClusterName of slurm.conf, 1 to 63 of A-Z a-z 0-9 . _ -",
	 true, _set_cluster},
	{"token_days", "a whole number from 1 to 366", false, _set_token_days},
};
#define ARGUMENTS (sizeof(arguments) / sizeof(arguments[0]))

static size_t _find(const char *arg, size_t name_len)
{
	size_t i = 0;

	while (i < ARGUMENTS && (strlen(arguments[i].name) != name_len ||
				 memcmp(arguments[i].name, arg, name_len)))
		i++;
	return i;
}

static int _apply(const char *arg, bool seen[ARGUMENTS], config_t *config,
		  char *error, size_t error_size)
{
	size_t name_len = strcspn(arg, "=");
	const char *value = arg[name_len] ? arg + name_len + 1 : "";
	size_t i = _find(arg, name_len);

	if (i == ARGUMENTS) {
		snprintf(error, error_size,
			 "unknown argument: given \"%.*s\"; "
			 "allowed: url, key, cluster, token_days",
			 SHOWN, arg);
		return -1;
	}
	if (seen[i]) {
		snprintf(error, error_size,
			 "%s: given twice; allowed: one value",
			 arguments[i].name);
		return -1;
	}
	seen[i] = true;
	if (arguments[i].set(value, config)) {
		snprintf(error, error_size, "%s: given \"%.*s\"; allowed: %s",
			 arguments[i].name, SHOWN, value, arguments[i].allowed);
		return -1;
	}
	return 0;
}

int config_parse(int ac, char **av, config_t *config, char *error,
		 size_t error_size)
{
	bool seen[ARGUMENTS] = {false};

	memset(config, 0, sizeof(*config));
	config->token_days = CONFIG_TOKEN_DAYS_DEFAULT;
	for (int i = 0; i < ac; i++) {
		if (_apply(av[i], seen, config, error, error_size))
			return -1;
	}
	for (size_t i = 0; i < ARGUMENTS; i++) {
		if (arguments[i].required && !seen[i]) {
			snprintf(error, error_size,
				 "%s: not given; allowed: %s",
				 arguments[i].name, arguments[i].allowed);
			return -1;
		}
	}
	return 0;
}
