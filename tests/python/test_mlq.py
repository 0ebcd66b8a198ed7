# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python package against a collector in a thread."""

import os
import pickle
import subprocess
import sys
import textwrap
import types
import unittest
import warnings
from unittest import mock

import mlq
from collector import Collector

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

RANKS = ("MLQ_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MLQ_CORES")


class WithCollector(unittest.TestCase):
    def setUp(self):
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in RANKS:
            os.environ.pop(name, None)
        os.environ.update(MLQ_URL=self.collector.url, MLQ_TOKEN="a.b.c")

    def run_python(self, code, **environment):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )


class Reporting(WithCollector):
    def test_numbers_of_all_kinds(self):
        with mlq.attach() as job:
            self.assertTrue(job.active)
            job.report(1, 0.5)
            job.report(2.0, 1)
            expected = [(1, 0.5), (2, 1)]
            if numpy:
                job.report(numpy.int64(3), numpy.float32(0.25))
                job.report(numpy.array(4), numpy.array(0.125))
                expected += [(3, 0.25), (4, 0.125)]
            if torch:
                job.report(torch.tensor(5), torch.tensor(0.75, requires_grad=True))
                expected += [(5, 0.75)]
            job.report(6, float("nan"))
            self.assertTrue(job.flush(30))
            self.assertEqual(self.collector.losses(), expected + [(6, None)])
            self.assertEqual(job.counters, mlq.Counters(len(expected) + 1, len(expected) + 1, 0, 0))
        self.assertEqual(self.collector.tokens, {"Bearer a.b.c"})

    def test_no_number_warns_once_and_never_raises(self):
        with mlq.attach() as job, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            job.report(1, "high")
            job.report(2, None)
            job.report(10**400, 1)
            if numpy:
                job.report(3, numpy.zeros(3))
            if torch:
                job.report(4, torch.zeros(2))
            self.assertEqual(job.counters.reported, 0)
        self.assertEqual([warning.category for warning in caught], [RuntimeWarning])

    def test_whatever_float_raises_stays_inside(self):
        class Lazy:
            def __init__(self, error):
                self.error = error

            def __float__(self):
                raise self.error

        for error in (KeyError("x"), AssertionError(), MemoryError(), AttributeError(), OSError(), Exception()):
            with mlq.attach() as job, self.subTest(error), self.assertWarns(RuntimeWarning):
                job.report(1, Lazy(error))
                self.assertEqual(job.counters.reported, 0)

    def test_closed_by_another_thread_meanwhile(self):
        result = self.run_python(
            """
            import mlq, threading

            class Slow:  # as reading a loss from a GPU: other threads run
                def __float__(self):
                    reading.set()
                    closed.wait(60)
                    return 1.0

            for i in range(20):
                reading, closed = threading.Event(), threading.Event()
                job = mlq.attach()
                threads = [threading.Thread(target=job.report, args=(1, Slow())), threading.Thread(target=job.flush)]
                for thread in threads:
                    thread.start()
                reading.wait(60)
                job.close()
                closed.set()
                for thread in threads:
                    thread.join(60)
                    assert not thread.is_alive()
            """,
            MALLOC_PERTURB_="85",  # what is freed holds no old values
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.collector.losses(), [])

    def test_use_after_close(self):
        job = mlq.attach()
        job.close()
        job.report(1, 1)
        job.close()
        self.assertFalse(job.active)
        self.assertTrue(job.flush())
        self.assertEqual(job.counters, mlq.Counters())
        self.assertEqual(self.collector.losses(), [])

    def test_two_handles_one_stream(self):
        first, second = mlq.attach(), mlq.attach()
        first.report(1, 1)
        first.close()
        second.report(2, 2)
        second.close()
        self.assertEqual(self.collector.losses(), [(1, 1), (2, 2)])
        self.assertEqual(len(self.collector.streams), 1)

    def test_exit_sends_what_is_left(self):
        result = self.run_python(
            """
            import mlq
            job = mlq.attach()
            for i in range(1500):
                job.report(i, 1 / (i + 1))
            """
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([i for i, _ in self.collector.losses()], list(range(1500)))

    def test_exception_in_the_training_sends_too(self):
        result = self.run_python(
            """
            import mlq
            job = mlq.attach()
            job.report(1, float("inf"))
            raise SystemExit(3)
            """
        )
        self.assertEqual(result.returncode, 3)
        self.assertEqual(self.collector.losses(), [(1, None)])


class Nothing(WithCollector):
    CODE = """
        import mlq
        job = mlq.attach()
        job.report(1, 1)
        job.report("x", object())
        assert job.flush() and not job.active
        assert job.counters == mlq.Counters()
        job.close()
        """

    def assert_silent(self, **environment):
        result = self.run_python(self.CODE, **environment)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.collector.losses(), [])

    def test_outside_a_job(self):
        self.assert_silent(MLQ_URL="")

    def test_without_the_library(self):
        self.assert_silent(MLQ_LIBRARY="/nonexistent/libmlq.so.0")

    def test_other_rank(self):
        self.assert_silent(RANK="2")


class Processes(WithCollector):
    def test_forked_child_is_silent_and_parent_goes_on(self):
        job = mlq.attach()
        job.report(1, 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                job.report(2, 2)
                code = 0 if not job.active and job.flush() else 1
                job.close()
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        job.report(3, 3)
        job.close()
        self.assertEqual(self.collector.losses(), [(1, 1), (3, 3)])

    def test_pickled_job_does_nothing(self):
        with mlq.attach() as job:
            copy = pickle.loads(pickle.dumps(job))
            self.assertFalse(copy.active)
            copy.report(1, 1)
            copy.close()
            self.assertTrue(job.active)

    @unittest.skipUnless(torch, "needs torch")
    def test_data_loader_workers(self):
        result = self.run_python(
            """
            import mlq, torch
            job = mlq.attach()

            class Data(torch.utils.data.Dataset):
                def __len__(self):
                    return 64
                def __getitem__(self, index):
                    job.report(1000 + index, 1.0)  # in a worker: goes nowhere
                    return torch.tensor(float(index))

            for epoch in range(2):
                loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=2)
                for number, batch in enumerate(loader):
                    job.report(epoch * 8 + number, batch.mean())
            """
        )
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([i for i, _ in self.collector.losses()], list(range(16)))


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    return made


class Callbacks(WithCollector):
    """Each framework is stood in for by the base class that its callbacks inherit from."""

    def load(self, name, modules):
        context = mock.patch.dict(sys.modules, modules)
        context.start()
        self.addCleanup(context.stop)
        sys.modules.pop(f"mlq.{name}", None)
        return __import__(f"mlq.{name}", fromlist=["QualityCallback"]).QualityCallback

    def test_keras(self):
        base = type("Callback", (), {})
        callbacks = module("keras.callbacks", Callback=base)
        make = self.load("keras", {"keras": module("keras", callbacks=callbacks), "keras.callbacks": callbacks})
        callback = make()
        self.assertIsInstance(callback, base)
        callback.on_train_batch_end(0, {"loss": 0.5})
        callback.on_train_batch_end(1, {"accuracy": 0.5})
        callback.on_train_batch_end(0, {"loss": 0.25})  # the next epoch counts batches from 0 again
        callback.on_train_end()
        callback.job.close()
        self.assertEqual(self.collector.losses(), [(1, 0.5), (3, 0.25)])

    def test_lightning(self):
        callbacks = module("lightning.pytorch.callbacks", Callback=type("Callback", (), {}))
        make = self.load(
            "lightning",
            {
                "lightning": module("lightning"),
                "lightning.pytorch": module("lightning.pytorch"),
                "lightning.pytorch.callbacks": callbacks,
            },
        )
        trainer = types.SimpleNamespace(is_global_zero=True, global_step=7, callback_metrics={"val": 0.125})
        job = mlq.attach()
        make(job).on_train_batch_end(trainer, None, {"loss": 0.5}, None, 0)
        make(job).on_train_batch_end(trainer, None, 0.25, None, 0)
        make(job).on_train_batch_end(trainer, None, None, None, 0)
        make(job, monitor="val").on_train_batch_end(trainer, None, None, None, 0)
        make(job, every=10).on_train_batch_end(trainer, None, 9.0, None, 5)
        trainer.is_global_zero = False
        make(job).on_train_batch_end(trainer, None, 9.0, None, 0)
        make(job).on_train_end(trainer, None)
        job.close()
        self.assertEqual(self.collector.losses(), [(7, 0.5), (7, 0.25), (7, 0.125)])

    def test_transformers(self):
        make = self.load(
            "transformers", {"transformers": module("transformers", TrainerCallback=type("Base", (), {}))}
        )
        callback = make()
        state = types.SimpleNamespace(global_step=20, is_world_process_zero=True)
        callback.on_log(None, state, None, logs={"loss": 0.5, "epoch": 1})
        callback.on_log(None, state, None, logs={"eval_loss": 0.7}, model=None)
        state.is_world_process_zero = False
        callback.on_log(None, state, None, logs={"loss": 9})
        callback.on_train_end(None, state, None)
        callback.job.close()
        self.assertEqual(self.collector.losses(), [(20, 0.5)])


if __name__ == "__main__":
    unittest.main()
