#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Trainings that count in GPUs, on a private Slurm whose GPUs are files: they start on as many as are idle and grow over
nodes of their type, each rank sees its node's devices, and an ordinary job that waits for GPUs gets them back."""
import json
import unittest

from agent_case import PACKAGE, PYTHON, AgentCase
from cluster import STAGE, wait_until
from test_requeue import RequeueTest

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


class GpuCase(AgentCase):
    options = ("--nodes", "3", "--cpus", "8", "--gpus", "a:4,a:4,b:4", "--parameters")
    parameters = f"mlq_interval=1,mlq_horizon=60,mlq_lead={LEAD},mlq_dwell=5"

    def allocated(self, job):
        """AllocTRES by sacct, which hears of a job a moment later, as a dictionary."""
        text = lambda: "".join("".join(row) for row in self.c.sacct(job, "AllocTRES"))
        wait_until(f"sacct knows what job {job} has", text, 30)
        return dict(entry.split("=") for entry in text().split(","))


class Gpus(GpuCase):
    # the bases are to start with what they ask for, also when a cycle sees them before
    options = (*GpuCase.options, GpuCase.parameters + ",mlq_sizing=off")

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


class GpuSizing(GpuCase):
    options = (*GpuCase.options, GpuCase.parameters)

    def occupy(self, **gpus):
        """Ordinary jobs on so many GPUs of nodes, one core each."""
        for node, count in gpus.items():
            self.c.wait_state(self.c.submit("-n1", f"--nodelist={node}", f"--gres=gpu:{count}"), "RUNNING")

    def ask(self, *options, quality="unit=gpu,min=1,max=8,resize=companion"):
        script = (f'echo "$SLURM_NTASKS $SLURM_CPUS_PER_TASK ${{SLURM_GPUS:-$SLURM_GPUS_PER_NODE}} '
                  f'$(srun hostname | wc -l)" > {self.c.work}/has-$SLURM_JOB_ID\nexec sleep 1000')
        return self.c.submit(*options, f"--ml-quality={quality}", script=script)

    def started(self, job):
        """What the script found: tasks, CPUs of each, GPUs as asked for, tasks of srun."""
        self.c.wait_state(job, "RUNNING")
        path = self.c.work / f"has-{job}"
        wait_until("the script has written what it has", lambda: path.exists() and path.read_text().strip(), 60)
        return path.read_text().split()

    def check_allocated(self, job, gpus, cpus, nodes):
        tres = self.allocated(job)
        self.assertEqual((tres["gres/gpu"], tres["cpu"], tres["node"]), (str(gpus), str(cpus), str(nodes)), tres)
        self.assertIn(f"gres/gpu={gpus}", self.c.sacct(job, "ReqTRES")[0][0].split(","))

    def why(self, job):
        return self.c.status(job).get("reason", "")

    def test_a_waiting_job_is_sized_to_the_gpus_of_its_type_that_are_idle(self):
        self.occupy(n1=3, n2=2)
        job = self.ask("-n8", "-c2", "--gpus=a:8")
        self.assertEqual(self.started(job), ["3", "2", "a:3", "3"])
        self.check_allocated(job, 3, 6, 2)
        self.assertIn(f"JobId={job} asks for 3 tasks on 6 CPUs now, before 8 on 16: 3 GPUs of 2 to 8: that many can start now",
                      self.c.log())

    def test_a_single_task_is_sized_with_its_cores(self):
        self.occupy(n1=3, n2=2)
        job = self.ask("-N1", "-n1", "-c8", "--gres=gpu:a:4", "--uid=65534", "--gid=65534",  # who is no operator
                       quality="unit=gpu,min=1,max=4,resize=companion")
        self.assertEqual(self.started(job), ["1", "4", "a:2", "1"])
        self.check_allocated(job, 2, 4, 1)
        shown = self.c.show(job)
        self.assertEqual((shown["NodeList"], shown["CPUs/Task"], shown["MinCPUsNode"]), ("n2", "4", "4"))

    def test_gpus_of_tasks_and_nodes(self):
        self.occupy(n1=2, n2=4)
        job = self.ask("-n6", "--gpus-per-task=2", quality="unit=gpu,min=2,max=12,resize=companion")
        self.assertEqual(self.started(job)[0], "3")  # one on n1, two on n3
        self.check_allocated(job, 6, 3, 2)
        self.assertNotIn("TresPerJob", self.c.show(job))
        self.c.cancel_all()
        self.occupy(n1=1)
        job = self.ask("-N3", "--ntasks-per-node=4", "--gpus-per-node=4", quality="unit=node,min=1,max=3,resize=companion")
        self.assertEqual(self.started(job), ["8", "4", "8"])
        self.check_allocated(job, 8, 8, 2)

    def test_the_size_of_a_waiting_job_outlives_a_restart_of_slurmctld(self):
        blocker = self.c.submit("-N3", "--gres=gpu:4", "-n3")
        self.c.wait_state(blocker, "RUNNING")
        job = self.ask("-n8", "--gpus-per-task=1", quality="unit=gpu,min=2,max=4,resize=companion")
        wait_until("it is brought into its range", lambda: self.c.show(job)["NumTasks"] == "4")
        self.c.wait_saved()
        self.c.restart("slurmctld")
        self.c.wait_cycles(2)
        self.assertEqual(self.c.tres(job, "ReqTRES")["gres/gpu"], "4")
        self.c.run("scancel", blocker)
        self.assertEqual(self.started(job)[0], "4")
        self.check_allocated(job, 4, 4, 1)
        self.assertNotRegex(self.c.log(), r"fatal:|gres.*(underflow|error)")

    def test_requests_that_cannot_be_sized_stay_and_say_why(self):
        self.occupy(n1=4, n2=4, n3=4)
        reasons = {
            ("-n4", "--gpus=4", "--mem-per-gpu=10"): "it asks for memory by GPU (--mem-per-gpu)",
            ("--gpus=4", "--ntasks-per-gpu=1"): "it asks for tasks by GPU (--ntasks-per-gpu)",
            ("-n2", "--gpus-per-socket=1", "--sockets-per-node=1"): "it asks for GPUs by socket",
            ("-n2", "--gpus=4", "--gpus-per-node=2"): "it says in several ways how many GPUs it asks for",
            ("-N2", "-n4", "--gres=gpu:2"): "may have several nodes: only unit=node counts those",
            ("-n24",): "its unit is a GPU, and it asks for none",
            ("-n1", "-c3", "--gpus=2"): "its CPUs cannot be the same number for each of its GPUs",
        }
        jobs = {self.ask(*options, quality="unit=gpu,min=1,max=3,resize=companion"): (options, text)
                for options, text in reasons.items()}
        asks = lambda: {job: self.c.run("squeue", "-h", "-j", job, "-o", "%C %D %b") for job in jobs}
        before = asks()
        for job, (options, text) in jobs.items():
            with self.subTest(options=options):
                wait_until(f"job {job}: {text}", lambda: "not chosen: " in self.why(job) and text in self.why(job))
                self.assertIn(text, " ".join(self.c.run("mlq", "explain", job).split()))
        self.c.wait_cycles(2)
        self.assertEqual(asks(), before)


class GpuRequeue(RequeueTest):
    options = (*RequeueTest.options, "--gpus", "a:4,b:4")

    def test_comes_back_with_more_gpus(self):
        job = self.train("--gpus=a:2", quality="resize=requeue,unit=gpu,min=2,max=8")
        wait_until("it is announced", lambda: "4 GPUs, before 2: that pays" in self.reason(job), 90)
        shown = self.second_run(job)
        (_, two, _, _), (saved, cores, tasks, _) = self.runs()
        self.assertEqual((two, cores, tasks, shown["NumCPUs"]), (2, 4, 4, "4"))
        self.assertGreater(saved, 10)
        self.assertIn(f"JobId={job} requeued: it has saved and ended, to go on with 4 GPUs", self.c.log())
        self.assertEqual(self.c.tres(job)["gres/gpu"], "4")
        rows = lambda: self.c.run("sacct", "-X", "-n", "-P", "-D", "-S", "now-1days", "-j", job, "-o", "AllocTRES").split()
        gpus = lambda: [dict(entry.split("=") for entry in row.split(",")).get("gres/gpu") for row in rows()]
        wait_until("sacct has both runs", lambda: gpus() == ["2", "4"], 60)



if __name__ == "__main__":
    unittest.main()
