/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/client/sender.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tools/client/backlog.h"

#define BATCH_MAX 1000	     /* points of a request: about 100 KB, mlqd takes 1 MiB */
#define BATCH_WINDOW_S 0.2   /* a batch at most so often, unless it is full */
#define IDLE_POLL_MIN_MS 50  /* the ring is looked at so often when reports come, */
#define IDLE_POLL_MAX_MS 500 /* and so seldom when none do: no report has to wake the thread */
#define BACKOFF_MIN_S 0.5
#define BACKOFF_MAX_S 15.0
#define DENIED_BACKOFF_MAX_S 256.0 /* a site may set its key right, yet most refusals stay */
#define HURRY_BACKOFF_S 0.2 /* between attempts while somebody waits in mlq_flush() or at exit */
#define RETRY_AFTER_MAX_S 600.0
#define CONNECT_TIMEOUT_MS 3000L
#define REQUEST_TIMEOUT_MS 10000L
#define REASON_MAX 200	 /* bytes of an answer kept for MLQ_DEBUG */
#define BAD_POINTS_MAX 4 /* after so many single points refused in a row, whole batches go */

typedef struct {
	struct mlq_job *job;
	mlq_backlog_t backlog;
	CURL *easy;
	struct curl_slist *headers;
	char *body;   /* of the request under way */
	size_t batch; /* its points; 0 = no request under way */
	size_t batch_limit;
	unsigned failures;   /* in a row */
	unsigned bad_points; /* single points refused in a row */
	unsigned hurry_seen;
	unsigned denials;    /* in a row */
	double last_try, next_try, retry_after_until; /* mlq_monotonic() */
	unsigned short random[3];
	bool gone; /* refused at its end */
	bool noted_refusal, noted_failure;
	char reason[REASON_MAX + 1];
	size_t reason_length;
} sender_t;

double mlq_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void announce(struct mlq_job *job)
{
	pthread_mutex_lock(&job->lock);
	pthread_cond_broadcast(&job->progress);
	pthread_mutex_unlock(&job->lock);
}

static size_t drain(sender_t *sender)
{
	struct mlq_job *job = sender->job;
	size_t taken = 0, given_up = 0;
	mlq_point_t point;

	/* Bounded: a reporter without pause must not keep the thread from sending. */
	for (; taken < 4 * MLQ_RING_SIZE && mlq_ring_pop(&job->ring, &point); taken++)
		given_up += mlq_backlog_add(&sender->backlog, &point);
	if (given_up)
		atomic_fetch_add(&job->thinned, given_up);
	return taken;
}

static size_t keep_reason(char *data, size_t size, size_t count, void *context)
{
	sender_t *sender = context;
	size_t room = REASON_MAX - sender->reason_length;
	size_t taken = size * count < room ? size * count : room;

	for (size_t i = 0; i < taken; i++) {
		char c = data[i];

		sender->reason[sender->reason_length++] = c >= ' ' && c <= '~' ? c : ' ';
	}
	return size * count;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)context;
	(void)purpose;
	/* Programs that the training starts do not get the connection. */
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool set_up(sender_t *sender)
{
	const mlq_settings_t *settings = &sender->job->settings;
	CURL *easy = sender->easy = curl_easy_init();

	sender->headers = curl_slist_append(NULL, settings->authorization);
	sender->headers = curl_slist_append(sender->headers, "Content-Type: application/json");
	sender->headers = curl_slist_append(sender->headers, "Expect:");
	if (!easy || !sender->headers)
		return false;
	curl_easy_setopt(easy, CURLOPT_URL, settings->url);
	if (*settings->socket_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, settings->socket_path);
	if (*settings->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, sender->headers);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "libmlq/" PACKAGE_VERSION);
	curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* the job's http_proxy is not for mlqd */
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, REQUEST_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_reason);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, sender);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* no waiting for a resolver that hangs */
#endif
	return true;
}

static void start_request(sender_t *sender, double now)
{
	struct mlq_job *job = sender->job;
	size_t batch = sender->backlog.count < sender->batch_limit ? sender->backlog.count
								   : sender->batch_limit;

	sender->last_try = now;
	sender->next_try = now + BACKOFF_MIN_S; /* holds when the request cannot even be made */
	sender->body = mlq_backlog_json(&sender->backlog, batch, job->stream, job->settings.cores);
	if (!sender->body)
		return;
	sender->reason_length = 0;
	curl_easy_setopt(sender->easy, CURLOPT_POSTFIELDS, sender->body);
	curl_easy_setopt(sender->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(sender->body));
	if (curl_multi_add_handle(job->multi, sender->easy) != CURLM_OK) {
		free(sender->body);
		sender->body = NULL;
		return;
	}
	sender->batch = sender->backlog.in_flight = batch;
}

static void end_request(sender_t *sender)
{
	if (!sender->batch)
		return;
	curl_multi_remove_handle(sender->job->multi, sender->easy);
	free(sender->body);
	sender->body = NULL;
	sender->batch = sender->backlog.in_flight = 0;
}

static void note_refusal(sender_t *sender, long status)
{
	const mlq_settings_t *settings = &sender->job->settings;

	if (!sender->noted_refusal) {
		sender->reason[sender->reason_length] = '\0';
		mlq_note(settings, "%s refused reports with %ld: %s", settings->url, status,
			 sender->reason);
	}
	sender->noted_refusal = true;
}

static void refuse(sender_t *sender, size_t count)
{
	mlq_backlog_drop(&sender->backlog, count);
	atomic_fetch_add(&sender->job->refused, count);
}

/* The job is, whatever becomes of its points. */
static void accepted(sender_t *sender)
{
	sender->denials = 0;
	atomic_store(&sender->job->denied, false);
}

/* mlqd takes nothing of the request: the guilty point is looked for by halves, and given up alone.
 */
static void answer_bad(sender_t *sender, size_t batch, long status)
{
	accepted(sender);
	if (batch > 1 && (status == 413 || sender->bad_points < BAD_POINTS_MAX)) {
		sender->batch_limit = batch / 2;
		return;
	}
	sender->bad_points++;
	refuse(sender, batch);
	note_refusal(sender, status);
	sender->batch_limit = sender->bad_points < BAD_POINTS_MAX ? 1 : BATCH_MAX;
}

/* Seconds; doubles with each time in a row that it is asked for. */
static double back_off(sender_t *sender, unsigned *times, double most)
{
	double delay = most;

	if (*times < 16 && BACKOFF_MIN_S * (double)(1u << *times) < most)
		delay = BACKOFF_MIN_S * (double)(1u << *times);
	++*times;
	return delay * (0.5 + erand48(sender->random));
}

/* The job is refused, not its points: they are kept for the time when it no longer is. */
static void answer_denied(sender_t *sender, long status, double now)
{
	atomic_store(&sender->job->denied, true);
	note_refusal(sender, status);
	sender->next_try = now + back_off(sender, &sender->denials, DENIED_BACKOFF_MAX_S);
	sender->gone = atomic_load(&sender->job->stop);
}

static void answer_later(sender_t *sender, CURLcode code, long status, double now)
{
	double delay = back_off(sender, &sender->failures, BACKOFF_MAX_S);
	curl_off_t retry_after = 0;

	if (code == CURLE_OK && (status == 429 || status == 503))
		curl_easy_getinfo(sender->easy, CURLINFO_RETRY_AFTER, &retry_after);
	if (retry_after > 0) {
		delay = (double)retry_after < RETRY_AFTER_MAX_S ? (double)retry_after
								: RETRY_AFTER_MAX_S;
		delay *= 1.0 + 0.1 * erand48(sender->random);
		sender->retry_after_until = now + delay;
	}
	sender->next_try = now + delay;
	if (!sender->noted_failure)
		mlq_note(&sender->job->settings, "%s: %s (status %ld), trying again",
			 sender->job->settings.url,
			 code == CURLE_OK ? "not now" : curl_easy_strerror(code), status);
	sender->noted_failure = true;
}

static void answer(sender_t *sender, CURLcode code, double now)
{
	size_t batch = sender->batch;
	long status = 0;

	curl_easy_getinfo(sender->easy, CURLINFO_RESPONSE_CODE, &status);
	end_request(sender);
	sender->next_try = now;
	if (code == CURLE_OK && status >= 200 && status < 300) {
		mlq_backlog_drop(&sender->backlog, batch);
		atomic_fetch_add(&sender->job->sent, batch);
		sender->failures = sender->bad_points = 0;
		accepted(sender);
		sender->batch_limit =
			sender->batch_limit < BATCH_MAX / 2 ? 2 * sender->batch_limit : BATCH_MAX;
		if (sender->backlog.count < sender->batch_limit)
			sender->next_try = now + BATCH_WINDOW_S;
	} else if (code == CURLE_OK && (status == 400 || status == 413)) {
		answer_bad(sender, batch, status);
	} else if (code == CURLE_OK && (status == 401 || status == 403)) {
		answer_denied(sender, status, now);
	} else {
		answer_later(sender, code, status, now);
	}
	announce(sender->job);
}

static void perform(sender_t *sender)
{
	CURLM *multi = sender->job->multi;
	CURLMsg *message;
	int running, left;

	curl_multi_perform(multi, &running);
	while (sender->batch && (message = curl_multi_info_read(multi, &left)))
		if (message->msg == CURLMSG_DONE)
			answer(sender, message->data.result, mlq_monotonic());
}

/* Somebody waits: the back-off is cut short, what mlqd asked for with Retry-After is not. */
static void mind_hurry(sender_t *sender, bool stopping)
{
	unsigned hurry = atomic_load(&sender->job->hurry);
	double soonest = sender->last_try + (sender->failures ? HURRY_BACKOFF_S : 0);

	if (hurry == sender->hurry_seen && !stopping)
		return;
	sender->hurry_seen = hurry;
	if (soonest < sender->retry_after_until)
		soonest = sender->retry_after_until;
	if (sender->next_try > soonest)
		sender->next_try = soonest;
}

/* Milliseconds until the loop has to look again, when no socket and no wake-up is earlier. */
static int pause_ms(const sender_t *sender, int idle_ms, bool stopping, double now)
{
	double wait = 1e-3 * idle_ms;
	double until_stop = 1e-9 * (double)atomic_load(&sender->job->stop_at_ns) - now;

	if (!sender->batch && sender->backlog.count && sender->next_try - now < wait)
		wait = sender->next_try - now;
	if (stopping && until_stop < wait)
		wait = until_stop;
	return wait > 0 ? (int)(1e3 * wait) + 1 : 0;
}

static void run(sender_t *sender)
{
	struct mlq_job *job = sender->job;
	int idle_ms = IDLE_POLL_MIN_MS;

	while (!sender->gone) {
		bool stopping = atomic_load(&job->stop); /* before the ring is emptied */
		size_t taken = drain(sender);
		double now = mlq_monotonic();

		if (sender->batch)
			perform(sender);
		if (stopping && ((!sender->batch && !sender->backlog.count) ||
				 now >= 1e-9 * (double)atomic_load(&job->stop_at_ns)))
			break;
		mind_hurry(sender, stopping);
		if (!sender->gone && !sender->batch && sender->backlog.count &&
		    now >= sender->next_try) {
			start_request(sender, now);
			continue;
		}
		idle_ms = taken || sender->batch ? IDLE_POLL_MIN_MS : 2 * idle_ms;
		if (idle_ms > IDLE_POLL_MAX_MS)
			idle_ms = IDLE_POLL_MAX_MS;
		curl_multi_poll(job->multi, NULL, 0, pause_ms(sender, idle_ms, stopping, now),
				NULL);
	}
}

static void clean_up(sender_t *sender)
{
	end_request(sender);
	curl_easy_cleanup(sender->easy);
	curl_slist_free_all(sender->headers);
	mlq_backlog_free(&sender->backlog);
	free(sender);
}

void *mlq_sender_main(void *context)
{
	struct mlq_job *job = context;
	sender_t *sender = job->sender = calloc(1, sizeof(*sender));

	if (sender) {
		sender->job = job;
		sender->batch_limit = BATCH_MAX;
		memcpy(sender->random, job->stream, sizeof(sender->random));
		if (set_up(sender))
			run(sender);
		if (atomic_load(&job->denied))
			refuse(sender, sender->backlog.count);
		clean_up(sender);
		job->sender = NULL;
	}
	atomic_store(&job->active, false);

	pthread_mutex_lock(&job->lock);
	job->finished = true;
	pthread_cond_broadcast(&job->progress);
	pthread_mutex_unlock(&job->lock);
	return NULL;
}
