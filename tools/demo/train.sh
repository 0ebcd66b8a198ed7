#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The batch script of every training: sbatch --ml-quality tools/demo/train.sh tools/demo/train/cnn.py --channels 32
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=15
# The private cluster claims more cores than the machine has: more than one thread a job would only get in the way.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# nice: the daemons of the cluster run on the same cores
exec nice /usr/bin/python3 "$@"
