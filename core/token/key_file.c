/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/token/job_token.h"

__attribute__((format(printf, 3, 4)))
static int _fail(char *error, size_t error_size, const char *format, ...)
{
	va_list args;

	if (error && error_size) {
		va_start(args, format);
		vsnprintf(error, error_size, format, args);
		va_end(args);
	}
	return -1;
}

/* strerror() may be shared between threads and strerror_r() has two signatures; %m is per thread in glibc and musl. */
static int _check_file(const char *path, int fd, char *error, size_t error_size)
{
	struct stat st;

	if (fstat(fd, &st))
		return _fail(error, error_size, "key file %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return _fail(error, error_size, "key file %s is not a regular file", path);
	if (st.st_mode & 0037)
		return _fail(error, error_size,
			     "key file %s has mode %04o, others can use it: 0600, 0400 or 0640 are allowed", path,
			     (unsigned) (st.st_mode & 07777));
	if (geteuid() && st.st_uid != geteuid() && st.st_uid)
		return _fail(error, error_size, "key file %s belongs to uid %u, %u or root is allowed", path,
			     (unsigned) st.st_uid, (unsigned) geteuid());
	return 0;
}

int mlq_key_load(const char *path, mlq_key_t *key, char *error, size_t error_size)
{
	unsigned char buffer[MLQ_KEY_MAX + 1];
	size_t size = 0;
	ssize_t got;
	int fd, rc = -1;

	key->size = 0;
	/* O_NONBLOCK: a FIFO in its place must not hang the caller */
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0)
		return _fail(error, error_size, "key file %s: %m", path);
	if (_check_file(path, fd, error, error_size))
		goto done;
	while (size < sizeof(buffer)) {
		got = read(fd, buffer + size, sizeof(buffer) - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			_fail(error, error_size, "key file %s: %m", path);
			goto done;
		}
		if (!got)
			break;
		size += (size_t) got;
	}
	if (size < MLQ_KEY_MIN || size > MLQ_KEY_MAX) {
		_fail(error, error_size, "key file %s has %s%zu bytes, %d to %d are allowed", path,
		      size > MLQ_KEY_MAX ? "at least " : "", size, MLQ_KEY_MIN, MLQ_KEY_MAX);
		goto done;
	}
	memcpy(key->bytes, buffer, size);
	key->size = size;
	rc = 0;
done:
	explicit_bzero(buffer, sizeof(buffer));
	close(fd);
	return rc;
}

int mlq_key_create(const char *path, char *error, size_t error_size)
{
	unsigned char bytes[MLQ_KEY_MIN * 2];
	int fd, rc = 0;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
		return _fail(error, error_size, "key file %s: no random bytes: %m", path);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0) {
		rc = _fail(error, error_size, "key file %s: %m", path);
	} else if (write(fd, bytes, sizeof(bytes)) != (ssize_t) sizeof(bytes) || fsync(fd)) {
		rc = _fail(error, error_size, "key file %s could not be written: %m", path);
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
	explicit_bzero(bytes, sizeof(bytes));
	return rc;
}

void mlq_key_wipe(mlq_key_t *key)
{
	explicit_bzero(key, sizeof(*key));
}
