#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speeds of nodes on a private Slurm: reported by one job, they size the next one's batches; and what is shown meanwhile."""
import json
import unittest

from cluster import STAGE, ClusterTest, wait_until

REPORT = r"""/usr/bin/python3 - <<'END'
import json, os, urllib.request
for node, speed in (("n1", 100), ("n2", 300)):
    body = {"v": 1, "family": os.environ["MLQ_FAMILY"], "unit": os.environ["MLQ_UNIT"], "node": node, "ranks": [[0, 32, speed]]}
    urllib.request.urlopen(urllib.request.Request(os.environ["MLQ_URL"] + "/v1/speeds", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["MLQ_TOKEN"]}), timeout=10).read()
END"""
RANKS = r"""srun -n4 -N2 --ntasks-per-node=2 %s /bin/bash -c \
'echo "$SLURMD_NODENAME $MLQ_BATCH_OFFSET $MLQ_BATCH_SIZE ${MLQ_NODE_SPEEDS-none}"'"""
# A training of two ranks, the other one of which is three times as fast
TRAIN = f"""export PYTHONPATH={STAGE}/lib/python3/dist-packages MLQ_BALANCE_LIBRARY={STAGE}/lib/libmlq_balance.so.0
srun -n1 /usr/bin/python3 - <<'END'
import time
from mlq.balance import Balancer
b = Balancer(400, 2, 0)
for i in range(3000):
    mine = b.vector(b.sizes[0] / 1000, b.sizes[0])
    other = list(mine)
    other[0], other[1], other[2] = b.sizes[1] / 3000, b.sizes[1], 3000
    assert b.update(mine + other)
    time.sleep(0.02)
END"""


class Speeds(ClusterTest):
    options = ("--nodes", "2")

    def lines(self, *options, script):
        job = self.c.submit(*options, script=script)
        self.c.wait_state(job, "COMPLETED", 90)
        return (self.c.work / f"out-{job}").read_text().splitlines()

    def split(self, *options, srun=""):
        """[(node, size)] by offset, after a check that the ranks' parts are a partition of the 400 samples."""
        rows = [line.split() for line in self.lines("-N2", "-n4", "--ntasks-per-node=2", *options, script=RANKS % srun)]
        self.assertEqual({row[3] for row in rows}, {"none"})
        rows = sorted((int(offset), int(size), node) for node, offset, size, _ in rows)
        place = 0
        for offset, size, _ in rows:
            self.assertEqual(offset, place)
            place += size
        self.assertEqual((place, len(rows)), (400, 4))
        return [(node, size) for _, size, node in rows]

    def test_next_job_of_the_family_is_split_by_them(self):
        quality = "--ml-quality=batch=400,family=fast.and.slow"
        equal = [("n1", 100), ("n1", 100), ("n2", 100), ("n2", 100)]
        self.assertEqual(self.split(quality), equal)
        self.lines(quality, script=REPORT)
        learnt = self.split(quality)
        for (node, size), wanted in zip(learnt, (50.5, 50.5, 149.5, 149.5)):
            self.assertLessEqual(abs(size - wanted), 1, learnt)
        self.assertEqual([node for node, _ in learnt], ["n1", "n1", "n2", "n2"])
        # ranks dealt over the nodes in turn: the same parts
        self.assertEqual(sorted(self.split(quality, srun="--distribution=cyclic")), sorted(learnt))
        self.assertEqual(self.split("--ml-quality=batch=400,family=other"), equal)
        self.c.kill("mlqd")
        self.addCleanup(self.c.restart, "mlqd")
        self.assertEqual(self.split(quality), equal)

    def test_ranks_of_a_running_job_are_shown(self):
        job = self.c.submit("-n1", "--ml-quality=batch=400,family=shown", script=TRAIN)
        ask = (STAGE / "bin/mlq", "status", "-j", job, "--url", f"unix:{self.c.store_socket}", "-M", self.c.setting("cluster_name"))

        def ranks():
            done = self.c.try_run(*ask, "--json")
            jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
            return jobs and jobs[0]["ranks"]

        (shown,) = wait_until("the rank is shown", ranks, 60)
        self.assertEqual((shown["rank"], shown["node"]), (0, self.c.show(job)["NodeList"]))
        self.assertAlmostEqual(shown["batch"], 100, delta=10)
        self.assertAlmostEqual(shown["speed"], 1000, delta=1)
        table = self.c.run(*ask).split("\n\n")[1].splitlines()
        self.assertEqual(table[0].split(), ["JOBID", "RANK", "NODE", "BATCH", "SPEED", "AGE"])
        self.assertEqual(table[1].split()[:3], [str(job), "0", shown["node"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
