/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "slurm-plugin/spank/mint.h"

int mint_module_path(char *path, size_t size)
{
	Dl_info self;
	const char *slash;
	int length;

	if (!dladdr(MINT_MODULE, &self) || !self.dli_fname)
		return -1;
	slash = strrchr(self.dli_fname, '/');
	if (!slash)
		return -1;
	length = snprintf(path, size, "%.*s/" MINT_MODULE,
			  (int)(slash - self.dli_fname), self.dli_fname);
	return length < 0 || (size_t)length >= size ? -1 : 0;
}
