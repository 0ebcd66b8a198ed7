/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batch sizes for unequal ranks, decided alike on every rank without a central service.
 *
 *     mlq_balancer *b = mlq_balance_create(&(mlq_balance_options){.global_batch = 1024, .ranks = n, .rank =
 * r}); for each iteration:
 *         // this rank takes mlq_balance_sizes(b)[r] samples, from mlq_balance_offsets(b)[r] of the global
 * order on, and
 *         // its mean gradient counts sizes[r] / global batch
 *         mlq_balance_vector(b, seconds_of_own_work, samples, mine);
 *         all-gather mine, MLQ_BALANCE_FIELDS doubles a rank, into all    // MPI_Allgather, gloo, NCCL ...
 *         mlq_balance_next(b, all);                                       // sizes of the next iteration
 *
 * The sizes always sum to the global batch. Every rank passes the same vectors in the same order and so gets
 * the same sizes; each vector carries a hash of the sender's sizes, and ranks that disagree fall back to the
 * equal split together. Not thread-safe; no call throws, exits, or talks to anybody. A thread of the library,
 * one a process, looks at the CPUs beside the training; the speed this rank expects of itself goes out with
 * its vector.
 */
#ifndef MLQ_BALANCE_H
#define MLQ_BALANCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MLQ_BALANCE_API __attribute__((visibility("default")))
#else
#define MLQ_BALANCE_API
#endif

/* seconds, size, speed expected of the next iteration, CPU share, most samples that fit, hash (two halves),
 * version */
#define MLQ_BALANCE_FIELDS 8

typedef struct mlq_balancer mlq_balancer;

typedef struct {
  uint64_t global_batch; /* samples of one iteration over all ranks, > 0 */
  uint32_t ranks;        /* 1..65536 */
  uint32_t rank;         /* < ranks */
  uint64_t grain;        /* sizes are multiples of this but for one rank; 0 = 1 to 8, at least 32 of
                          * them a rank */
  const char* policy;    /* lb, gpu, pair, dbs, static or equal; NULL = lb */
  const char* predictor; /* for lb: best, narx, arx, arima, level, ema or last; NULL = best */
} mlq_balance_options;

/* NULL with errno EINVAL (an option is out of range or unknown) or ENOMEM. */
MLQ_BALANCE_API mlq_balancer* mlq_balance_create(const mlq_balance_options* options);
MLQ_BALANCE_API void mlq_balance_destroy(mlq_balancer* balancer);

/* Shapes (ranks); valid until the next mlq_balance_next(). Offsets are the prefix sums of the sizes. */
MLQ_BALANCE_API const uint64_t* mlq_balance_sizes(const mlq_balancer* balancer);
MLQ_BALANCE_API const uint64_t* mlq_balance_offsets(const mlq_balancer* balancer);

/* The most samples this rank's memory takes; and: it ran out of memory at `size`. Goes out with the next
 * vector. */
MLQ_BALANCE_API void mlq_balance_set_max(mlq_balancer* balancer, uint64_t samples);
MLQ_BALANCE_API void mlq_balance_out_of_memory(mlq_balancer* balancer, uint64_t size);

/* Fills what this rank sends: its own work on `size` samples took `seconds`, waiting excluded. For a rank
 * that had no samples or could not time itself both are 0: what it sent last stands. */
MLQ_BALANCE_API void mlq_balance_vector(mlq_balancer* balancer, double seconds, uint64_t size, double* mine);

/* The state of this rank's node that the newest vector was made with: share of its cores that it can have,
 * bytes of memory that are free, share of its time that it waited for a core. */
MLQ_BALANCE_API void mlq_balance_state(const mlq_balancer* balancer, double* cpu, double* memory,
                                       double* stall);

/* all: shape (ranks, MLQ_BALANCE_FIELDS), by rank. 0, or -1 with errno EPROTO when the ranks disagreed or a
 * vector is not valid: the sizes are the equal split then, on every rank. */
MLQ_BALANCE_API int mlq_balance_next(mlq_balancer* balancer, const double* all);

/* All of it with a call-back that gathers `count` doubles a rank into `all` and returns 0. -1 with errno EIO
 * if it fails. */
typedef int (*mlq_allgather_fn)(const double* mine, int count, double* all, void* context);
MLQ_BALANCE_API int mlq_balance_step(mlq_balancer* balancer, double seconds, uint64_t size,
                                     mlq_allgather_fn allgather, void* context);

/* Splits `samples` (a ragged last batch) like the present sizes; out: shape (ranks), sums to samples exactly.
 */
MLQ_BALANCE_API int mlq_balance_split(const mlq_balancer* balancer, uint64_t samples, uint64_t* out);

#ifdef __cplusplus
}
#endif

#endif
