/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that takes points from the ring and gets them to mlqd. */
#ifndef MLQ_CLIENT_SENDER_H
#define MLQ_CLIENT_SENDER_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/client/mlq.h"
#include "tools/client/ring.h"
#include "tools/client/settings.h"

#define MLQ_STREAM_SIZE 33 /* 128 random bits in hexadecimal */

struct mlq_job {
	atomic_bool active; /* reports are taken */
	mlq_settings_t settings;
	char stream[MLQ_STREAM_SIZE];

	_Atomic uint64_t reported, sent, thinned, refused;

	/* To the thread. */
	CURLM *multi;		    /* only curl_multi_wakeup() from elsewhere */
	atomic_bool stop;	    /* end once all is sent, at stop_at_ns the latest */
	_Atomic int64_t stop_at_ns; /* CLOCK_MONOTONIC */
	atomic_uint hurry;	    /* grows: somebody waits, do not sit out a back-off */

	/* From the thread. */
	pthread_t thread;
	pthread_mutex_t lock;	 /* of what follows, and for the condition */
	pthread_cond_t progress; /* CLOCK_MONOTONIC */
	bool finished;
	atomic_bool denied; /* mlqd refuses the job: nothing is taken until it does not */

	void *sender;	      /* the thread's own; here so that a forked child still knows of it */
	struct mlq_job *kept; /* the next of those that are never freed */

	mlq_ring_t ring;
};

/* Body of the thread; job is a struct mlq_job. */
void *mlq_sender_main(void *job);

/* Seconds of CLOCK_MONOTONIC. */
double mlq_monotonic(void);

#endif
