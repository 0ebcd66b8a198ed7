# SPDX-License-Identifier: GPL-2.0-or-later
"""Balanced batches for PyTorch's DistributedDataParallel: two changed lines.

    batches = mlq.torch.BalancedBatches(dataset, global_batch=256)     # instead of DistributedSampler
    loader = DataLoader(dataset, batch_sampler=batches)                # with num_workers: tell BalancedBatches too
    model = batches.attach(DistributedDataParallel(model))             # weighs gradients, times, exchanges

Per epoch there is one shuffled order, the same on every rank; iteration k takes the next global batch of it, and each rank its
slice by the prefix sums of the sizes. So every sample comes exactly once an epoch whatever the sizes are, and as each
rank's mean gradient is weighted by its share, the sum is the gradient of the whole global batch. What an all-gather
exchanged after iteration k decides the sizes of iteration k + 1 + lag; lag is how far DataLoader workers run ahead.
"""

from __future__ import annotations

import atexit
import dataclasses
import time
import weakref
from typing import Any, Dict, Iterator, List, Optional, Sized, Tuple

import torch
import torch.distributed as dist

from ._torch_elastic import Elastic, Part
from .balance import FIELDS, Balancer

__all__ = ["BalancedBatches", "Elastic", "Part"]


@dataclasses.dataclass
class _Share:
    """This rank's part of one iteration."""

    epoch: int
    start: int  # of the global batch, in the epoch's order
    size: int  # samples of this rank, 0 for a rank that a small last batch leaves out
    weight: float  # what this rank's mean gradient counts


def _cut(sizes: List[int], samples: int) -> List[int]:
    """A smaller batch in the same proportions, by cutting the running sums: exact, and the same on every rank."""
    total, passed, cuts = sum(sizes), 0, [0]
    for size in sizes:
        passed += size
        cuts.append(passed * samples // total)
    return [b - a for a, b in zip(cuts, cuts[1:])]


class BalancedBatches:
    """Batch sampler of this rank's share of each global batch, and the hook that keeps the gradients right.

    dataset: anything with a length, or the length. num_workers, prefetch_factor: as given to the DataLoader, the same on
    every rank. grain: sizes are multiples of it, 0 chooses. micro_batch: most samples one forward may take, see micro_batches().
    policy: "lb" for CPU ranks, "gpu", or a baseline; see mlq.balance.Balancer.
    """

    def __init__(self, dataset: "Sized | int", global_batch: int, *, seed: int = 0, shuffle: bool = True,
                 drop_last: bool = False, num_workers: int = 0, prefetch_factor: int = 2, grain: int = 0,
                 policy: Optional[str] = None, predictor: str = "best", micro_batch: Optional[int] = None,
                 group: Any = None) -> None:
        started = dist.is_available() and dist.is_initialized()
        self.ranks = dist.get_world_size(group) if started else 1
        self.rank = dist.get_rank(group) if started else 0
        self.group = group
        self.length = dataset if isinstance(dataset, int) else len(dataset)
        if policy is None:
            policy = "gpu" if torch.cuda.is_available() else "lb"
        self.balancer = Balancer(global_batch, self.ranks, self.rank, grain=grain, policy=policy, predictor=predictor)
        self.global_batch, self.seed, self.shuffle, self.drop_last = global_batch, seed, shuffle, drop_last
        self.micro_batch = micro_batch
        self.lag = num_workers * prefetch_factor
        self._plan: List[Tuple[int, List[int]]] = [(0, self.balancer.sizes)]  # (from this iteration on, sizes), ascending
        self._shares: Dict[int, _Share] = {}  # of the iterations dealt but not trained
        self._drawn = self._trained = 0  # iterations, over all epochs
        self._position = (0, 0)  # epoch and place in its order that are dealt next
        self._exchange: Optional[_Exchange] = None
        self._counts_steps = False

    # --- dealing -------------------------------------------------------------
    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch's order, as DistributedSampler does; right after load_state_dict() it changes nothing."""
        if epoch != self._position[0]:
            self._position = (epoch, 0)

    def __len__(self) -> int:
        """Iterations of a whole epoch."""
        whole, rest = divmod(self.length, self.global_batch)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[List[int]]:
        epoch, cursor = self._position
        order = self._order(epoch)
        end = self.length - self.length % self.global_batch if self.drop_last else self.length
        while cursor < end:
            samples = min(self.global_batch, self.length - cursor)
            sizes = self._sizes_of(self._drawn)
            if samples < self.global_batch:
                sizes = _cut(sizes, samples)
            size, first = sizes[self.rank], cursor + sum(sizes[: self.rank])
            self._shares[self._drawn] = _Share(epoch, cursor, size, size / samples)
            cursor += samples
            if self._exchange is None and not self._counts_steps:
                self._shares.pop(self._trained - 1, None)
                self._trained = self._drawn
            self._drawn += 1
            self._position = (epoch, cursor) if cursor < end else (epoch + 1, 0)
            # A rank left out of a small last batch still takes part in the collectives: one sample that counts nothing.
            yield order[first : first + size] if size > 0 else order[:1]

    def _order(self, epoch: int) -> List[int]:
        if not self.shuffle:
            return list(range(self.length))
        generator = torch.Generator()
        generator.manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
        return torch.randperm(self.length, generator=generator).tolist()

    def _sizes_of(self, iteration: int) -> List[int]:
        if self._exchange is not None:
            if self._trained < iteration - self.lag:
                raise RuntimeError(
                    f"iteration {iteration} was drawn while {self._trained} is being trained, {self.lag} ahead are allowed: give "
                    "BalancedBatches the num_workers and prefetch_factor of the DataLoader")
            self._exchange.settle()
        while len(self._plan) > 1 and self._plan[1][0] <= iteration:
            self._plan.pop(0)
        return self._plan[0][1]

    # --- the iteration under way -----------------------------------------------
    @property
    def share(self) -> _Share:
        """Of the iteration being trained: size and weight of this rank."""
        return self._shares.get(self._trained) or _Share(0, 0, self.balancer.size, self.balancer.weight)

    def weigh(self, amount: float) -> None:
        """Weighs by `amount`, for example the tokens in this rank's loss, instead of samples. Before backward, on every rank."""
        total = torch.tensor([float(amount)], dtype=torch.float64)
        if self.ranks > 1:
            total = total.to(self._device())
            dist.all_reduce(total, group=self.group)
        self.share.weight = float(amount) / float(total) if float(total) > 0 else 0.0

    def micro_batches(self, *tensors: torch.Tensor) -> Iterator[Tuple[Any, ...]]:
        """Cuts this rank's batch into pieces of at most micro_batch samples, for accumulation with unequal counts:

            for part, last, x, y in batches.micro_batches(x, y):
                with contextlib.nullcontext() if last else model.no_sync():
                    (part * loss(model(x), y)).backward()
        """
        total = len(tensors[0])
        most = self.micro_batch or total
        for first in range(0, total, most):
            pieces = [t[first : first + most] for t in tensors]
            yield (len(pieces[0]) / total, first + most >= total, *pieces)

    # --- gradients, timing, exchange --------------------------------------------
    def attach(self, model: Any) -> Any:
        """Hooks into a DistributedDataParallel model and returns it; any other model is returned as it is."""
        if self.ranks > 1 and hasattr(model, "register_comm_hook"):
            self._exchange = _Exchange(self)
            model.register_forward_pre_hook(self._exchange.begin)
            model.register_comm_hook(self._exchange, _Exchange.reduce)
        return model

    def _device(self) -> torch.device:
        on_gpu = dist.get_backend(self.group) == "nccl"
        return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")

    def _finished(self) -> int:
        """Number of the iteration whose gradients were just handed over."""
        self._shares.pop(self._trained, None)
        self._trained += 1
        return self._trained - 1

    # --- for mlq.torch.Elastic -------------------------------------------------------
    def count_steps(self) -> None:
        """From now on stepped() is called after each iteration: state_dict() is then exact in a group of one rank too."""
        self._counts_steps = True

    def stepped(self) -> None:
        """An iteration is done. Counted here only where no gradients are exchanged, which count otherwise."""
        if self._exchange is None and self._counts_steps:
            self._finished()

    def settle(self) -> None:
        """Waits for what the last iteration exchanged: before the process group is destroyed."""
        if self._exchange is not None:
            self._exchange.settle()

    # --- checkpoint -----------------------------------------------------------------
    def state_dict(self) -> Dict[str, Any]:
        """Where training stands between two iterations, whatever workers have drawn ahead (that much only after attach())."""
        exact = self._exchange is not None or self._counts_steps
        dealt = self._shares.get(self._trained) if exact else None
        epoch, cursor = (dealt.epoch, dealt.start) if dealt else self._position
        return {"version": 1, "seed": self.seed, "epoch": epoch, "cursor": cursor, "length": self.length}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on where state_dict() was taken, at any number of ranks. Before the first iteration."""
        if state.get("version") != 1 or state.get("length") != self.length:
            raise ValueError(f"state is of version {state.get('version')} and a data set of {state.get('length')} samples; "
                             f"version 1 and {self.length} samples are needed")
        self.seed, self._position = state["seed"], (state["epoch"], state["cursor"])


# Tensors of the exchanges live as long as the process. Gloo's threads drop their reference some time after the work is done; if
# that is the last one they need the interpreter lock, which a process group being destroyed holds while it joins them.
_KEPT: List[torch.Tensor] = []


class _First:
    """What DistributedDataParallel takes of a reduction: the first tensor of its result."""

    alive: "weakref.WeakSet[_First]" = weakref.WeakSet()

    def __init__(self) -> None:
        self.alive.add(self)

    def __call__(self, done: Any) -> torch.Tensor:
        return done.value()[0]  # type: ignore[no-any-return]


@atexit.register
def _wait_for_gloo() -> None:
    """Gloo's threads drop a future's callback some time after they have called it, and need the interpreter lock for that: once
    the interpreter is being taken down that ends the process by SIGABRT."""
    until = time.monotonic() + 5
    while len(_First.alive) and time.monotonic() < until:
        time.sleep(0.001)


class _Exchange:
    """Times each iteration's own work and gathers everybody's while the next one runs."""

    def __init__(self, batches: BalancedBatches) -> None:
        self.batches = batches
        self.device = batches._device()
        self.started: Any = None
        self.mine = torch.zeros(FIELDS, dtype=torch.float64, device=self.device)
        self.parts = [torch.zeros_like(self.mine) for _ in range(batches.ranks)]
        self.pending: Optional[Tuple[int, Any]] = None  # iteration, its all-gather
        _KEPT.extend([self.mine, *self.parts])

    def begin(self, module: Any, inputs: Any) -> None:
        """Before a forward; the first one since the last reduction starts the clock."""
        if self.started is None and torch.is_grad_enabled():
            self.settle()
            self.started = self._now()

    def _now(self) -> Any:
        if self.device.type == "cpu":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _seconds(self) -> float:
        now = self._now()
        if self.started is None:
            return 0.0
        if self.device.type == "cpu":
            return now - self.started
        now.synchronize()
        return self.started.elapsed_time(now) / 1000

    def reduce(self, bucket):  # type: ignore[no-untyped-def]  # DDP refuses annotations that are strings
        """The communication hook: weighted sum of the gradients. Own work ends where the last bucket is handed over."""
        batches, gradient = self.batches, bucket.buffer()
        weight = batches.share.weight
        last = bucket.is_last()
        seconds = self._seconds() if last else 0.0
        gradient.mul_(weight) if weight > 0 else gradient.zero_()
        work = dist.all_reduce(gradient, group=batches.group, async_op=True)
        if last:
            self._gather(seconds, batches.share.size)
        return work.get_future().then(_First())

    def _gather(self, seconds: float, samples: int) -> None:
        self.settle()
        self.started = None
        self.mine.copy_(torch.tensor(self.batches.balancer.vector(seconds, samples), dtype=torch.float64))
        work = dist.all_gather(self.parts, self.mine, group=self.batches.group, async_op=True)
        self.pending = (self.batches._finished(), work)

    def settle(self) -> None:
        """Waits for what was gathered, and plans with it."""
        if self.pending is None:
            return
        iteration, work = self.pending
        self.pending = None
        work.wait()
        batches = self.batches
        batches.balancer.update(torch.cat(self.parts).tolist())
        batches._plan.append((iteration + 1 + batches.lag, batches.balancer.sizes))
