# SPDX-License-Identifier: GPL-2.0-or-later
"""Balanced batches: one decision on all ranks, exact sums, exact gradients, every sample once an epoch."""

import copy
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import unittest

from mlq.balance import FIELDS, Balancer, equal_split

try:
    import torch
except ImportError:
    torch = None
if torch is not None:
    from mlq.torch import BalancedBatches

HERE = os.path.dirname(os.path.abspath(__file__))


def exchange(balancers, seconds):
    """What an all-gather does; returns what each rank's update said."""
    vectors = [v for b, s in zip(balancers, seconds) for v in b.vector(s, b.size)]
    return [b.update(vectors) for b in balancers]


class Decisions(unittest.TestCase):
    def make(self, ranks, batch, **options):
        return [Balancer(batch, ranks, r, **options) for r in range(ranks)]

    def test_all_ranks_decide_alike_and_the_sum_stays(self):
        draw = random.Random(1)
        balancers = self.make(5, 203)
        speeds = [1, 2, 4, 8, 16]
        for _ in range(60):
            seconds = [b.size / s * draw.uniform(0.95, 1.05) for b, s in zip(balancers, speeds)]
            self.assertEqual(exchange(balancers, [max(s, 1e-6) for s in seconds]), [True] * 5)
            self.assertEqual(len({tuple(b.sizes) for b in balancers}), 1)
            self.assertEqual(sum(balancers[0].sizes), 203)
        for size, speed in zip(balancers[0].sizes, speeds):
            self.assertAlmostEqual(size, 203 * speed / 31, delta=5)
        self.assertEqual(balancers[3].offset, sum(balancers[0].sizes[:3]))

    def test_ranks_that_differ_fall_back_together(self):
        balancers = self.make(2, 100)
        for _ in range(5):
            exchange(balancers, [1.0, 2.0])
        self.assertNotEqual(balancers[0].sizes, [50, 50])
        other = Balancer(100, 2, 1)
        self.assertEqual(exchange([balancers[0], other], [1.0, 2.0]), [False, False])
        self.assertEqual([balancers[0].sizes, other.sizes], [[50, 50], [50, 50]])

    def test_hostile_vectors_change_nothing_but_to_equal(self):
        for bad in (float("nan"), float("inf"), -1.0):
            for field in range(FIELDS):
                balancer = Balancer(10, 2, 0)
                vectors = balancer.vector(1.0, 5) + balancer.vector(1.0, 5)
                vectors[FIELDS + field] = bad
                balancer.update(vectors)
                self.assertEqual(sum(balancer.sizes), 10)

    def test_memory_caps(self):
        balancers = self.make(3, 90)
        balancers[0].out_of_memory(30)
        balancers[1].set_max(33)
        for _ in range(20):
            exchange(balancers, [b.size / 10 + 1e-6 for b in balancers])
        self.assertLess(balancers[0].sizes[0], 30)
        self.assertLessEqual(balancers[0].sizes[1], 33)
        self.assertEqual(sum(balancers[0].sizes), 90)

    def test_split_and_bad_arguments(self):
        balancer = Balancer(100, 3, 0)
        for samples in (0, 1, 2, 50, 99):
            self.assertEqual(sum(balancer.split(samples)), samples)
        self.assertEqual(equal_split(7, 3), [3, 2, 2])
        with self.assertRaisesRegex(ValueError, "rank is 3.*from 0 to"):
            Balancer(100, 3, 3)
        for call in (balancer.split, balancer.set_max, balancer.out_of_memory, lambda n: balancer.vector(1.0, n),
                     lambda n: Balancer(n, 3, 0), lambda n: Balancer(100, 3, 0, grain=n)):
            for wrong in (-1, 2**53, 2**64 + 1):  # ctypes takes the last for 1
                with self.assertRaisesRegex(ValueError, rf"is {wrong}, it must be from [01] to 2\*\*53 - 1"):
                    call(wrong)
        self.assertEqual(sum(balancer.split(2**53 - 1)), 2**53 - 1)
        with self.assertRaisesRegex(ValueError, "ranks is 65537"):
            Balancer(100000, 65537, 0)
        with self.assertRaisesRegex(ValueError, "policy 'x'"):
            Balancer(100, 3, 0, policy="x")
        with self.assertRaisesRegex(ValueError, "24 are needed|3 numbers"):
            balancer.update([1, 2, 3])

    def test_a_handle_has_one_owner(self):
        balancer = Balancer(64, 2, 0)
        for take in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.subTest(take), self.assertRaisesRegex(TypeError, "neither copied nor pickled"):
                take(balancer)
        self.assertEqual(sum(balancer.sizes), 64)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Training(unittest.TestCase):
    def train(self, **options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        chosen = dict(ranks=2, dtype="float64", workers=0, micro=None, port=port)
        chosen.update(options)
        run = subprocess.Popen([sys.executable, os.path.join(HERE, "balance_ranks.py"), json.dumps(chosen)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, errors = run.communicate(timeout=400)
        finally:
            if run.poll() is None:  # ranks and their workers end with it
                os.killpg(run.pid, signal.SIGKILL)
        self.assertEqual(run.returncode, 0, errors[-2000:])
        result = json.loads(out.splitlines()[-1])
        self.assertTrue(result["exact"], "a sample was lost or seen twice")
        self.assertGreater(result["sizes"], 3, "the sizes did not move")
        return result["worst"]

    def test_gradient_is_the_single_process_gradient(self):
        for ranks in (2, 8):
            with self.subTest(ranks=ranks):
                self.assertLess(self.train(ranks=ranks), 1e-6)

    def test_gradient_in_single_precision(self):
        self.assertLess(self.train(ranks=4, dtype="float32"), 1e-5)

    def test_workers_that_run_ahead(self):
        self.assertLess(self.train(ranks=2, workers=1), 1e-6)

    def test_accumulation_with_unequal_counts(self):
        self.assertLess(self.train(ranks=3, micro=7), 1e-6)

    def test_the_interpreter_outlives_what_gloo_still_holds(self):
        code = ("import threading, time, mlq.torch as t\n"
                "def hold(first): time.sleep(0.5); print('dropped', flush=True)\n"
                "threading.Thread(target=hold, args=(t._First(),), daemon=True).start()\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "dropped\n"), done.stderr)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Order(unittest.TestCase):
    def test_resume_goes_on_where_it_was(self):
        whole = BalancedBatches(103, 10, seed=2)
        wanted = [i for batch in whole for i in batch] + [i for batch in whole for i in batch]
        first = BalancedBatches(103, 10, seed=2)
        seen = []
        for batch in first:
            seen += batch
            if len(seen) == 40:
                break
        second = BalancedBatches(103, 10, seed=9)
        state = first.state_dict()
        second.load_state_dict(state)
        second.set_epoch(0)
        for _ in range(2):
            seen += [i for batch in second for i in batch]
        self.assertEqual(seen, wanted)
        with self.assertRaisesRegex(ValueError, "103"):
            BalancedBatches(99, 10).load_state_dict(state)

    def test_epochs_differ_and_are_complete(self):
        batches = BalancedBatches(50, 8, seed=1)
        orders = [[i for batch in batches for i in batch] for _ in range(2)]
        self.assertNotEqual(orders[0], orders[1])
        self.assertEqual([sorted(o) for o in orders], [list(range(50))] * 2)
        self.assertEqual(len(batches), 7)
        self.assertEqual(len(list(BalancedBatches(50, 8, drop_last=True))), 6)


if __name__ == "__main__":
    unittest.main()
