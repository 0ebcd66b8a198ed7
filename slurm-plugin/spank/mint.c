/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm-plugin/spank/mint.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

static int _fail(char *error, size_t size, const char *what, const char *why)
{
	snprintf(error, size, "%s: %s", what, why ? why : "unknown error");
	return -1;
}

/* Never unloaded: OpenSSL, once in use, stays in any case. */
int mint(const mlq_claims_t *claims, const char *key_path, char *token,
	 size_t token_size, char *error, size_t error_size)
{
	char path[PATH_MAX];
	void *module;
	mint_f *function;

	if (mint_module_path(path, sizeof(path)))
		return _fail(error, error_size, MINT_MODULE,
			     "where this plugin lies is not known");
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!module)
		return _fail(error, error_size, "the module that signs tokens",
			     dlerror());
	*(void **)&function = dlsym(module, MINT_FUNCTION);
	if (!function)
		return _fail(error, error_size, path, dlerror());
	return function(claims, key_path, token, token_size, error, error_size);
}
