/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear regression by mini-batches over MPI, each rank's batch sized by what it can do. To build and run:
 *
 *     mpicc -O2 balance_mpi.c -o balance_mpi -lmlq_balance -lm
 *     srun --mpi=pmi2 -n 4 ./balance_mpi     (MPICH; pmix for Open MPI; or: mpiexec -n 4 ./balance_mpi)
 *
 * `./balance_mpi RANK` makes that rank do every sample's work five times, as if its core were slower.
 */
#include <math.h>
#include <mlq_balance.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 6000
#define FEATURES 64
#define ITERATIONS 80
#define RATE 0.5

/* What an all-gather of any library looks like to the balancer. */
static int gather(const double *mine, int count, double *all, void *context)
{
	(void)context;
	return MPI_Allgather(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* Feature f of sample n: any fixed function that is the same on every rank. */
static double feature(uint64_t n, int f)
{
	return sin((double)(n % 9973) * 0.37 * (f + 1));
}

/* Adds the gradient of the mean loss of these samples; returns the loss. */
static double learn(const double *weights, uint64_t first, uint64_t count, double *gradient)
{
	double loss = 0;

	for (int f = 0; f < FEATURES; f++)
		gradient[f] = 0;
	for (uint64_t n = first; n < first + count; n++) {
		double error = 0;

		for (int f = 0; f < FEATURES; f++)
			error += (weights[f] - 1.0 / (f + 1)) * feature(n, f);
		loss += error * error / (double)count;
		for (int f = 0; f < FEATURES; f++)
			gradient[f] += 2 * error * feature(n, f) / (double)count / FEATURES;
	}
	return loss;
}

int main(int argc, char **argv)
{
	double weights[FEATURES] = {0}, sum[FEATURES + 1];
	int rank, ranks, slow = argc > 1 ? atoi(argv[1]) : -1;
	mlq_balancer *balancer;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	balancer = mlq_balance_create(&(mlq_balance_options){
		.global_batch = BATCH, .ranks = (uint32_t)ranks, .rank = (uint32_t)rank});
	if (!balancer) {
		perror("mlq_balance_create");
		MPI_Abort(MPI_COMM_WORLD, 1);
		return 1;
	}
	for (uint64_t i = 0; i < ITERATIONS; i++) {
		uint64_t size = mlq_balance_sizes(balancer)[rank];
		uint64_t first = i * BATCH + mlq_balance_offsets(balancer)[rank];
		double start = MPI_Wtime(), seconds;

		for (int again = rank == slow ? 5 : 1; again > 0; again--)
			sum[FEATURES] = learn(weights, first, size, sum);
		seconds = MPI_Wtime() - start;

		/* Weighted by its share, the sum is the gradient of the whole batch. */
		for (int f = 0; f <= FEATURES; f++)
			sum[f] *= (double)size / BATCH;
		MPI_Allreduce(MPI_IN_PLACE, sum, FEATURES + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int f = 0; f < FEATURES; f++)
			weights[f] -= RATE * sum[f];
		if (mlq_balance_step(balancer, seconds, size, gather, NULL))
			perror("mlq_balance_step");
	}
	if (rank == 0) {
		printf("loss %.9f, batches", sum[FEATURES]);
		for (int r = 0; r < ranks; r++)
			printf(" %llu", (unsigned long long)mlq_balance_sizes(balancer)[r]);
		printf("\n");
	}
	mlq_balance_destroy(balancer);
	MPI_Finalize();
	return 0;
}
