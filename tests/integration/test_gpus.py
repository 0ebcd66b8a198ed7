#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A training that counts in GPUs, on a private Slurm whose GPUs are files: it grows over nodes of its type, each of its ranks
sees its node's devices, and an ordinary job that waits for GPUs gets them back."""
import json
import unittest

from agent_case import PACKAGE, PYTHON, AgentCase
from cluster import STAGE, wait_until

LEAD = 5
WORKER = """
import json, mlq, mlq.elastic, os, socket, sys, time
folder, k, job = sys.argv[1], 0, None
agent = mlq.elastic.Agent()
place = agent.first_place()
while place is not None:
    seen = {name: os.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES", "LOCAL_RANK")}
    path = f"{folder}/seen-{place.generation}-{place.rank}"
    with open(f"{folder}/new-{place.generation}-{place.rank}", "w") as out:
        json.dump({**seen, "world": place.world}, out)
    os.rename(out.name, path)
    agent.formed()
    while not agent.due():
        if os.path.exists(folder + "/finish"):
            sys.exit(0)
        time.sleep(0.8 / place.world)  # twice the GPUs, twice as fast
        if place.rank == 0:
            k += 1
            job = job or mlq.attach()
            job.report(k, 0.1 + 2 * 0.5 ** (k / 400))
    place = agent.place(agent.due())
"""


class Gpus(AgentCase):
    options = ("--nodes", "3", "--cpus", "8", "--gpus", "a:4,a:4,b:4", "--parameters",
               f"mlq_interval=1,mlq_horizon=60,mlq_lead={LEAD},mlq_dwell=5")

    def train_on_gpus(self, quality, *options):
        path = self.folder / "worker.py"
        path.write_text(WORKER)
        script = (f"export {self.mark} PYTHONPATH={PACKAGE} OMP_NUM_THREADS=1\n"
                  f"exec {STAGE}/bin/mlq run -- {PYTHON} {path} {self.folder}")
        job = self.c.submit(f"--ml-quality=resize=companion,unit=gpu,{quality}", *options, script=script)
        self.c.wait_state(job, "RUNNING")
        return job

    def seen(self, job):
        """{rank: what it saw} of the newest generation."""
        generation = self.agent(job)["generation"]
        return {int(p.name.split("-")[2]): json.loads(p.read_text()) for p in self.folder.glob(f"seen-{generation}-*")}

    def check_devices(self, job, ranks):
        """Each rank has a device of its own by its LOCAL_RANK among those of its node's job."""
        wait_until("all ranks have looked", lambda: len(self.seen(job)) == ranks, 30)
        seen = self.seen(job)
        self.assertEqual(sorted(seen), list(range(ranks)))
        own = set()
        for one in seen.values():
            self.assertEqual(one["world"], ranks)
            devices = one["CUDA_VISIBLE_DEVICES"].split(",")
            own.add((one["SLURMD_NODENAME"], devices[int(one["LOCAL_RANK"])]))
        self.assertEqual(len(own), ranks, seen)
        return own

    def allocated(self, job):
        """AllocTRES by sacct, which hears of a job a moment later, as a dictionary."""
        text = lambda: "".join("".join(row) for row in self.c.sacct(job, "AllocTRES"))
        wait_until(f"sacct knows what job {job} has", text, 30)
        return dict(entry.split("=") for entry in text().split(","))

    def running(self, job):
        return {i: node for i, (state, node) in self.companions(job).items() if state == "RUNNING"}

    def test_grows_on_gpus_of_its_type_and_gives_them_back(self):
        job = self.train_on_gpus("max=12", "-N1", "-n1", "-c4", "--gres=gpu:a:2")
        self.steady(job, 8, 90)  # all of type a, two of them on its own node, none of type b
        own = self.check_devices(job, 8)
        self.assertEqual({node for node, _ in own}, {"n1", "n2"})
        companions = self.running(job)
        held = {i: self.allocated(i) for i in companions}
        self.assertEqual(sorted(int(h["gres/gpu"]) for h in held.values()), [2, 4])
        for tres in held.values():
            self.assertEqual(int(tres["cpu"]), 2 * int(tres["gres/gpu"]))  # two cores a GPU, as the base
        for companion in companions:
            self.assertIn("gpu:a:", self.c.show(companion)["TresPerNode"])
        target = self.c.status(job)["target"]
        self.assertEqual((target["units"], target["base"], target["held"], target["unit_cores"]), (8, 2, 8, 2))

        plain = self.c.submit("-n1", "--gres=gpu:a:3", script="exec sleep 1000")
        self.c.wait_state(plain, "RUNNING", LEAD + 40)
        self.assertIn(f"job {plain}", self.c.status(job)["resize"]["change"])
        self.steady(job, 4)  # three fit only where the companion of four was
        self.check_devices(job, 4)
        self.c.run("scancel", plain)
        self.steady(job, 8, 90)
        self.finish(job)
        self.nothing_left(job)
        self.core_seconds_agree(job)

    def core_seconds_agree(self, job):
        final = lambda: self.c.sacct(job, "AdminComment")[-1][0]
        own = json.loads(wait_until("the last text is there", lambda: '"final":true' in final() and final(), 60))["mlq"]
        rows = self.c.run("sacct", "-X", "-n", "-P", "-S", "now-1days", "-D", "-o", "JobIDRaw,JobName,ElapsedRaw,AllocCPUS").splitlines()
        rows = [r.split("|") for r in rows]
        mine = [r for r in rows if r[0] == str(job) or r[1] == f"mlq-companion-of-{job}"]
        want = sum(int(elapsed) * int(cpus) for _, _, elapsed, cpus in mine)
        print(f"    core-seconds by sacct {want}, in AdminComment {own['core_s']}", flush=True)
        self.assertAlmostEqual(own["core_s"], want, delta=4 + len(mine))

    def test_any_type_where_it_asked_for_none(self):
        job = self.train_on_gpus("max=12", "-N1", "-n1", "-c2", "--gpus=2")
        self.steady(job, 12, 90)
        self.assertEqual({node for node, _ in self.check_devices(job, 12)}, {"n1", "n2", "n3"})
        self.finish(job)

    def test_a_base_of_two_nodes(self):
        job = self.train_on_gpus("max=4", "-N2", "--ntasks-per-node=1", "-c4", "--gres=gpu:a:2")
        self.steady(job, 4)
        self.assertEqual({node for node, _ in self.check_devices(job, 4)}, {"n1", "n2"})
        wait_until("the target", lambda: self.c.status(job).get("target", {}).get("units") == 4, 30)
        self.assertEqual(self.companions(job), {})
        self.finish(job)

    def test_gpus_without_cores_and_cores_without_gpus(self):
        for node in ("n1", "n2"):  # two cores are left beside four GPUs, and two GPUs beside all cores
            self.c.wait_state(self.c.submit("-n6", f"--nodelist={node}"), "RUNNING")
        self.c.wait_state(self.c.submit("-n1", "--gres=gpu:b:2"), "RUNNING")
        job = self.train_on_gpus("max=12", "-N1", "-n1", "-c2", "--gres=gpu:b:1")
        self.steady(job, 2)
        self.c.wait_cycles(8)
        self.assertEqual(sum(int(self.allocated(i)["gres/gpu"]) for i in self.running(job)), 1)
        any_type = self.train_on_gpus("max=12", "-N1", "-n1", "-c2", "--gres=gpu:a:1")
        self.steady(any_type, 2)  # the other node's last two cores are beside one GPU
        self.finish(job)


if __name__ == "__main__":
    unittest.main()
