# SPDX-License-Identifier: GPL-2.0-or-later
"""The MPI examples, run: a slowed rank gets less, and the training is the same."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
LIBRARY = os.environ["MLQ_BALANCE_LIBRARY"]


def run(launcher, ranks, *command):
    # ranks on fewer cores than there are ranks, and as root where the tests run as root
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_mpi_yield_when_idle="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
               LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
    done = subprocess.run([launcher, "-n", str(ranks), *command], capture_output=True, text=True, timeout=300, env=env)
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    loss, batches = re.search(r"loss ([0-9.]+), batches (.*)", done.stdout).groups()
    return float(loss), [int(number) for number in re.findall(r"\d+", batches)]


def has_headers(compiler):
    """A wrapper may be there without what it wraps."""
    return subprocess.run([compiler, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", text=True, capture_output=True).returncode == 0


class Example(unittest.TestCase):
    def check(self, batch, train):
        alone, (size,) = train(1, -1)
        self.assertEqual(size, batch)
        shares = []
        for _ in range(4):  # the last sizes of a run follow whatever else the machine did just then
            loss, sizes = train(2, 1)
            self.assertEqual(sum(sizes), batch)
            self.assertAlmostEqual(loss / alone, 1, delta=1e-6)
            shares.append(sizes[1] / batch)
            if shares[-1] < 0.4:
                return
        self.fail(f"the slowed rank had {shares} of the batch")


@unittest.skipUnless(shutil.which("mpiexec") and importlib.util.find_spec("mpi4py") and importlib.util.find_spec("numpy"),
                     "mpi4py, NumPy or mpiexec is not installed")
class Numpy(Example):
    def test_slow_rank_gets_less_and_the_loss_stays(self):
        script = os.path.join(TOP, "examples", "mpi", "balance_numpy.py")
        self.check(2000, lambda ranks, slow: run("mpiexec", ranks, sys.executable, script, "--batch", "2000", "--slow", str(slow)))


class C(Example):
    def test_slow_rank_gets_less_and_the_loss_stays(self):
        compilers = [(f"mpicc{kind}", f"mpiexec{kind}") for kind in (".openmpi", ".mpich", "")]
        for compiler, launcher in compilers:
            if shutil.which(compiler) and shutil.which(launcher) and has_headers(compiler):
                break
        else:
            self.skipTest("no MPI compiler is installed")
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "balance_mpi")
            subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(TOP, "tools", "client", "balance"),
                            os.path.join(TOP, "examples", "c", "balance_mpi.c"), "-o", program, "-L", os.path.dirname(LIBRARY),
                            "-lmlq_balance", "-lm"], check=True)
            self.check(6000, lambda ranks, slow: run(launcher, ranks, program, str(slow)))


if __name__ == "__main__":
    unittest.main()
