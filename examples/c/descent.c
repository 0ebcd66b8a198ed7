/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gradient descent that reports its loss. To build and submit:
 *
 *     cc -O2 descent.c -o descent $(pkg-config --cflags --libs mlq)
 *     sbatch --ml-quality=iterations=500 --wrap ./descent
 *
 * Run by hand it does the same and reports to nobody.
 */
#include <mlq.h>
#include <stdio.h>

#define SAMPLES 64
#define ITERATIONS 500
#define RATE 0.1

int main(void)
{
	mlq_job *job = mlq_attach();
	double slope = 0, offset = 0, loss = 0;

	for (int i = 1; i <= ITERATIONS; i++) {
		double by_slope = 0, by_offset = 0;

		loss = 0;
		for (int n = 0; n < SAMPLES; n++) {
			double x = (double)n / SAMPLES;
			double error = slope * x + offset - (3 * x - 1);

			loss += error * error / SAMPLES;
			by_slope += 2 * error * x / SAMPLES;
			by_offset += 2 * error / SAMPLES;
		}
		slope -= RATE * by_slope;
		offset -= RATE * by_offset;
		mlq_report(job, i, loss);
	}
	printf("y = %.3f x %+.3f, loss %.3g, %s\n", slope, offset, loss, mlq_active(job) ? "reported" : "not reported");
	mlq_detach(job);
	return 0;
}
