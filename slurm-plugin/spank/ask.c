/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "slurm-plugin/spank/ask.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef ASK_HOSTS
#define ASK_HOSTS "/etc/hosts"
#endif
#define REQUEST_MAX 16384

typedef struct {
	char host[256];
	char port[6];
	const char *prefix; /* path behind the address */
} place_t;

static int64_t _now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* "http://host:port/prefix" or "http://[v6]:port". */
static int _split(const char *url, place_t *place)
{
	const char *at, *end;
	size_t n;

	if (strncmp(url, "http://", 7))
		return -1;
	at = url + 7;
	if (*at == '[') {
		end = strchr(++at, ']');
		if (!end)
			return -1;
	} else {
		end = at + strcspn(at, ":/");
	}
	n = (size_t)(end - at);
	if (!n || n >= sizeof(place->host))
		return -1;
	memcpy(place->host, at, n);
	place->host[n] = '\0';
	if (*end == ']')
		end++;
	strcpy(place->port, "80");
	if (*end == ':') {
		n = strcspn(++end, "/");
		if (!n || n >= sizeof(place->port))
			return -1;
		memcpy(place->port, end, n);
		place->port[n] = '\0';
		end += n;
	}
	if (*end && *end != '/')
		return -1;
	place->prefix = end;
	return 0;
}

/* The address of a name by the file of hosts. */
static bool _look_up(const char *name, char *address, size_t size)
{
	FILE *file = fopen(ASK_HOSTS, "re");
	char line[1024], *save, *word, *first;
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		first = strtok_r(line, " \t", &save);
		while (first && !found &&
		       (word = strtok_r(NULL, " \t", &save)))
			found = !strcasecmp(word, name);
		if (found)
			found = snprintf(address, size, "%s", first) <
				(int)size;
	}
	if (file)
		fclose(file);
	return found;
}

static struct addrinfo *_address(const place_t *place)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV},
			*found = NULL;
	char address[64];

	if (!getaddrinfo(place->host, place->port, &hints, &found))
		return found;
	if (_look_up(place->host, address, sizeof(address)) &&
	    !getaddrinfo(address, place->port, &hints, &found))
		return found;
	return NULL;
}

/* Waits for the socket; false when the deadline has passed. */
static bool _wait(int fd, short events, int64_t until)
{
	struct pollfd one = {.fd = fd, .events = events};
	int64_t left;
	int rc;

	do {
		left = until - _now_ms();
		if (left <= 0)
			return false;
		rc = poll(&one, 1, (int)left);
	} while (rc < 0 && errno == EINTR);
	return rc > 0;
}

static bool _connect(int fd, const struct addrinfo *to, int64_t until)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (!connect(fd, to->ai_addr, to->ai_addrlen))
		return true;
	return errno == EINPROGRESS && _wait(fd, POLLOUT, until) &&
	       !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) && !error;
}

static bool _send(int fd, const char *text, size_t size, int64_t until)
{
	while (size) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

		if (n > 0) {
			text += n;
			size -= (size_t)n;
		} else if ((errno != EAGAIN && errno != EINTR) ||
			   !_wait(fd, POLLOUT, until)) {
			return false;
		}
	}
	return true;
}

/* Up to the end of the connection; -1 if it is late or too long. */
static long _receive(int fd, char *text, size_t size, int64_t until)
{
	size_t used = 0;

	for (;;) {
		ssize_t n = recv(fd, text + used, size - used, 0);

		if (!n)
			break;
		if (n > 0)
			used += (size_t)n;
		else if ((errno != EAGAIN && errno != EINTR) ||
			 !_wait(fd, POLLIN, until))
			return -1;
		if (used == size)
			return -1;
	}
	text[used] = '\0';
	return (long)used;
}

/* Moves the body of a complete "200" to the front. */
static long _body(char *text, long size)
{
	char *end = memmem(text, (size_t)size, "\r\n\r\n", 4), *length;
	long body;

	if (strncmp(text, "HTTP/1.", 7) || strncmp(text + 8, " 200", 4) ||
	    !end)
		return -1;
	*end = '\0';
	length = strcasestr(text, "\r\nContent-Length:");
	body = size - (long)(end + 4 - text);
	if (!length || strtol(length + 17, NULL, 10) != body)
		return -1;
	memmove(text, end + 4, (size_t)body + 1);
	return body;
}

static long _exchange(int fd, const struct addrinfo *to, const char *request,
		      int64_t until, char *answer, size_t size,
		      const char **reason)
{
	long n;

	*reason = "mlqd cannot be reached";
	if (fd < 0 || !_connect(fd, to, until))
		return -1;
	*reason = "mlqd does not answer in time";
	if (!_send(fd, request, strlen(request), until))
		return -1;
	n = _receive(fd, answer, size, until);
	if (n < 0)
		return -1;
	*reason = "mlqd refuses";
	return _body(answer, n);
}

long ask_get(const char *url, const char *path, const char *token,
	     int deadline_ms, char *answer, size_t size, const char **reason)
{
	int64_t until = _now_ms() + deadline_ms;
	char request[REQUEST_MAX];
	struct addrinfo *to;
	place_t place;
	long n;
	int fd;

	*reason = "the address is not http://host:port";
	if (_split(url, &place))
		return -1;
	*reason = "the host is no address and not in " ASK_HOSTS;
	to = _address(&place);
	if (!to)
		return -1;
	*reason = "the request is too long";
	n = snprintf(request, sizeof(request),
		     "GET %.*s%s HTTP/1.1\r\nHost: %s\r\n"
		     "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
		     (int)(strlen(place.prefix) -
			   (*place.prefix && place.prefix[1] == '\0')),
		     place.prefix, path, place.host, token);
	fd = -1;
	if (n > 0 && n < (long)sizeof(request)) {
		fd = socket(to->ai_family,
			    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		n = _exchange(fd, to, request, until, answer, size, reason);
	} else {
		n = -1;
	}
	if (fd >= 0)
		close(fd);
	freeaddrinfo(to);
	return n;
}
