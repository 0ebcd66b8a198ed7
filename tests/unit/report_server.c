/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/report_server.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BODY_MAX (1 << 20)
#define TIMES_MAX 64

struct report_server {
  struct MHD_Daemon* daemon;
  int socket;
  uint16_t port;
  pthread_mutex_t lock;
  server_behaviour_t behaviour;
  stored_point_t* points;
  size_t count, capacity, repeats, requests;
  double times[TIMES_MAX];
  char authorization[256];
};

typedef struct {
  char* text;
  size_t length;
} body_t;

static int listen_tcp(uint16_t* port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
  socklen_t length = sizeof(address);
  int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd, (struct sockaddr*)&address, sizeof(address)) || listen(fd, 16) ||
      getsockname(fd, (struct sockaddr*)&address, &length)) {
    close(fd);
    return -1;
  }
  *port = ntohs(address.sin_port);
  return fd;
}

static int listen_unix(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
  unlink(path);
  if (bind(fd, (struct sockaddr*)&address, sizeof(address)) || listen(fd, 16)) {
    close(fd);
    return -1;
  }
  return fd;
}

int silent_socket(uint16_t* port) {
  *port = 0;
  return listen_tcp(port);
}

static uint64_t last_number(const report_server_t* server, const char* stream) {
  for (size_t i = server->count; i > 0; i--)
    if (strcmp(server->points[i - 1].stream, stream) == 0) return server->points[i - 1].n;
  return 0;
}

static void keep(report_server_t* server, const char* stream, json_t* json) {
  stored_point_t point = {.n = (uint64_t)json_integer_value(json_object_get(json, "n"))};
  json_t* loss = json_object_get(json, "l");

  if (point.n <= last_number(server, stream)) {
    server->repeats++;
    return;
  }
  snprintf(point.stream, sizeof(point.stream), "%s", stream);
  point.iteration = json_number_value(json_object_get(json, "i"));
  point.loss = json_is_null(loss) ? NAN : json_number_value(loss);
  point.time = json_number_value(json_object_get(json, "t"));
  point.cores = json_number_value(json_object_get(json, "c"));
  if (server->count == server->capacity) {
    server->capacity = server->capacity ? 2 * server->capacity : 1024;
    server->points = realloc(server->points, server->capacity * sizeof(point));
  }
  server->points[server->count++] = point;
}

static bool is_bad(const server_behaviour_t* behaviour, const json_t* points) {
  size_t i;
  json_t* point;

  if (behaviour->has_bad_iteration)
    json_array_foreach(points, i, point) if (json_number_value(json_object_get(point, "i")) ==
                                             behaviour->bad_iteration) return true;
  return false;
}

/* Status of the answer; 0 = cut the connection. */
static int take(report_server_t* server, const body_t* body) {
  server_behaviour_t* behaviour = &server->behaviour;
  json_t *json = json_loadb(body->text, body->length, 0, NULL), *points, *point;
  const char* stream = json_string_value(json_object_get(json, "stream"));
  size_t i;
  int status = 200;

  points = json_object_get(json, "points");
  if (!stream || !json_is_array(points) || json_integer_value(json_object_get(json, "v")) != 1) {
    status = 422; /* no test asks for it: the client sent what the protocol does not allow */
  } else if (behaviour->status_count && behaviour->status != 200) {
    behaviour->status_count -= behaviour->status_count > 0;
    status = behaviour->status;
  } else if (is_bad(behaviour, points)) {
    status = 400;
  } else {
    json_array_foreach(points, i, point) keep(server, stream, point);
    if (behaviour->swallow_count) {
      behaviour->swallow_count--;
      status = 0;
    }
  }
  json_decref(json);
  return status;
}

static enum MHD_Result reply(struct MHD_Connection* connection, int status, const char* retry_after) {
  static const char text[] = "{\"error\": \"as the test wants\"}";
  struct MHD_Response* response =
      MHD_create_response_from_buffer(strlen(text), (void*)text, MHD_RESPMEM_PERSISTENT);
  enum MHD_Result result;

  if (retry_after && status != 200) MHD_add_response_header(response, "Retry-After", retry_after);
  result = MHD_queue_response(connection, (unsigned)status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result handle(void* context, struct MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* data, size_t* size,
                              void** state) {
  report_server_t* server = context;
  body_t* body = *state;
  const char* authorization;
  struct timespec now;
  int status;

  (void)version;
  if (!body) {
    *state = body = calloc(1, sizeof(*body));
    body->text = malloc(BODY_MAX);
    return MHD_YES;
  }
  if (*size) {
    if (body->length + *size <= BODY_MAX) {
      memcpy(body->text + body->length, data, *size);
      body->length += *size;
    }
    *size = 0;
    return MHD_YES;
  }
  if (strcmp(url, "/v1/reports") || strcmp(method, "POST")) return reply(connection, 404, NULL);
  authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
  clock_gettime(CLOCK_MONOTONIC, &now);
  pthread_mutex_lock(&server->lock);
  snprintf(server->authorization, sizeof(server->authorization), "%s", authorization ? authorization : "");
  if (server->requests < TIMES_MAX)
    server->times[server->requests] = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  server->requests++;
  status = take(server, body);
  pthread_mutex_unlock(&server->lock);
  return status ? reply(connection, status, server->behaviour.retry_after) : MHD_NO;
}

static void done(void* context, struct MHD_Connection* connection, void** state,
                 enum MHD_RequestTerminationCode code) {
  body_t* body = *state;

  (void)context;
  (void)connection;
  (void)code;
  if (body) free(body->text);
  free(body);
  *state = NULL;
}

report_server_t* report_server_start(uint16_t port, const char* path) {
  report_server_t* server = calloc(1, sizeof(*server));

  server->port = port;
  server->socket = path ? listen_unix(path) : listen_tcp(&server->port);
  pthread_mutex_init(&server->lock, NULL);
  server->daemon = server->socket < 0
                       ? NULL
                       : MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, server,
                                          MHD_OPTION_LISTEN_SOCKET, server->socket,
                                          MHD_OPTION_NOTIFY_COMPLETED, done, NULL, MHD_OPTION_END);
  if (!server->daemon) {
    free(server);
    return NULL;
  }
  return server;
}

void report_server_stop(report_server_t* server) {
  MHD_stop_daemon(server->daemon); /* closes the socket */
  pthread_mutex_destroy(&server->lock);
  free(server->points);
  free(server);
}

uint16_t report_server_port(const report_server_t* server) {
  return server->port;
}

void report_server_behave(report_server_t* server, const server_behaviour_t* behaviour) {
  pthread_mutex_lock(&server->lock);
  server->behaviour = *behaviour;
  pthread_mutex_unlock(&server->lock);
}

static size_t locked(report_server_t* server, const size_t* value) {
  size_t copy;

  pthread_mutex_lock(&server->lock);
  copy = *value;
  pthread_mutex_unlock(&server->lock);
  return copy;
}

size_t report_server_count(report_server_t* server) {
  return locked(server, &server->count);
}

size_t report_server_repeats(report_server_t* server) {
  return locked(server, &server->repeats);
}

size_t report_server_requests(report_server_t* server) {
  return locked(server, &server->requests);
}

double report_server_request_time(report_server_t* server, size_t index) {
  double time;

  pthread_mutex_lock(&server->lock);
  time = server->times[index];
  pthread_mutex_unlock(&server->lock);
  return time;
}

stored_point_t report_server_point(report_server_t* server, size_t index) {
  stored_point_t point;

  pthread_mutex_lock(&server->lock);
  point = server->points[index];
  pthread_mutex_unlock(&server->lock);
  return point;
}

void report_server_authorization(report_server_t* server, char* out, size_t size) {
  pthread_mutex_lock(&server->lock);
  snprintf(out, size, "%s", server->authorization);
  pthread_mutex_unlock(&server->lock);
}
