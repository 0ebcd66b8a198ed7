# SPDX-License-Identifier: GPL-2.0-or-later
"""Elastic training with PyTorch: mlq.torch.Elastic."""

from __future__ import annotations

import datetime
import gc
import io
import os
import time
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.distributed as dist

from .elastic import Agent, Place

__all__ = ["Elastic", "Part"]


class _Resize(BaseException):
    """Ends the training function at an iteration boundary. No Exception: a user's `except Exception` must not keep it."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.generation = generation


class Part:
    """What the training function works with until the group changes: made anew for each size."""

    def __init__(self, elastic: "Elastic", place: Place, state: Dict[str, Any]) -> None:
        self._elastic = elastic
        self.rank, self.world = place.rank, place.world
        self.state = state
        """what boundary() was last given, on every rank; {} at the start"""
        self.batches = elastic._make_batches() if elastic._make_batches else None
        if self.batches is not None and elastic._cursor is not None:
            self.batches.load_state_dict(elastic._cursor)
        self.model = elastic.module
        if self.world > 1:
            self.model = torch.nn.parallel.DistributedDataParallel(elastic.module, **elastic._ddp_options)
        if self.batches is not None:
            self.model = self.batches.attach(self.model)
            if hasattr(self.batches, "count_steps"):
                self.batches.count_steps()

    @property
    def epoch(self) -> int:
        """In which training goes on."""
        return self.batches.state_dict()["epoch"] if self.batches is not None else 0

    def boundary(self, **state: Any) -> None:
        """Between two iterations, right after optimizer.step(), on every rank. `state`: small things of yours that survive a
        resize (rank 0's count). When the group changes here, this does not return: the training function is called anew.
        """
        if state:
            self.state = state
        self._elastic._boundary(self)


class Elastic:
    """A training whose group of ranks may change between any two iterations.

        def train(part):                                    # called once for each size of the group
            loader = DataLoader(data, batch_sampler=part.batches)
            for epoch in range(part.epoch, EPOCHS):
                part.batches.set_epoch(epoch)
                for x, y in loader:
                    loss = criterion(part.model(x), y)
                    optimizer.zero_grad(); loss.backward(); optimizer.step()
                    part.boundary()

        mlq.torch.Elastic(model, optimizer, batches=lambda: BalancedBatches(data, global_batch=256)).run(train)

    The processes stay. At a boundary that all ranks agree on (rank 0's word, broadcast), the process group is destroyed and made
    anew; newcomers get model, optimizer and cursor from rank 0; leavers end with exit code 0. When a rank is lost in the middle
    of an iteration, the others go back to the last boundary that rank 0 passed: no step is half done, and every sample of an
    epoch is trained exactly once. Without `mlq run` around it, it is an ordinary training of the ranks in the environment.

    batches: makes a sampler with state_dict() and load_state_dict(); called for each size. timeout: seconds that a rank waits for
    the others in a collective before it takes one of them for lost; more than the slowest iteration takes.
    """

    def __init__(self, module: torch.nn.Module, optimizer: Optional[Any] = None, *, batches: Optional[Callable[[], Any]] = None,
                 backend: Optional[str] = None, timeout: float = 120.0, ddp_options: Optional[Dict[str, Any]] = None,
                 agent: Optional[Agent] = None) -> None:
        self.module, self.optimizer = module, optimizer
        self.agent = agent or Agent()
        self._make_batches = batches
        self._backend = backend or ("nccl" if torch.cuda.is_available() else "gloo")
        self._timeout = datetime.timedelta(seconds=timeout)
        self._ddp_options = ddp_options or {}
        self._cursor: Optional[Dict[str, Any]] = None  # of the last boundary
        self._state: Dict[str, Any] = {}
        self._kept: List[torch.Tensor] = []  # see _KEPT in torch.py: alive until the group is destroyed

    # --- the run ------------------------------------------------------------------
    def run(self, train: Callable[[Part], Any]) -> Any:
        """Calls train(part) for each size of the group until it returns, and returns what it returned."""
        place = self.agent.first_place()
        while True:
            try:
                part = self._set_up(place)
                result = train(part)
                part = None
                self._tear_down()
                return result
            except _Resize as resize:
                due = resize.generation
            except RuntimeError as error:  # a collective that failed
                due = self._after(error)
            part = None
            self._tear_down()
            place = self._next_place(due)

    def _next_place(self, due: int) -> Place:
        place = self.agent.place(due)
        if place is None:
            self.agent.close()
            raise SystemExit(0)  # this rank leaves
        return place

    def _after(self, error: RuntimeError) -> int:
        """The generation to go to after a failure that a lost rank explains; else the failure goes on to the caller."""
        self.agent.stalled()
        end = time.monotonic() + 15.0  # the agents find out within ten seconds
        while self.agent.active and time.monotonic() < end:
            due = self.agent.due()
            if due:
                return due
            time.sleep(0.05)
        raise error

    # --- between two iterations ------------------------------------------------------
    def _boundary(self, part: Part) -> None:
        if part.batches is not None:
            if hasattr(part.batches, "stepped"):
                part.batches.stepped()
            self._cursor = part.batches.state_dict()
        self._state = part.state
        due = self.agent.due() if part.rank == 0 else 0
        if part.world > 1 and self.agent.active:
            flag = self._tensor([due])
            dist.broadcast(flag, 0)
            due = int(flag.item())
        if due:
            if hasattr(part.batches, "settle"):
                part.batches.settle()
            raise _Resize(due)

    def _device(self) -> torch.device:
        return torch.device("cuda", torch.cuda.current_device()) if self._backend == "nccl" else torch.device("cpu")

    def _tensor(self, values: List[int]) -> torch.Tensor:
        tensor = torch.tensor(values, dtype=torch.int64, device=self._device())
        if len(self._kept) > 4096:  # those of long ago have no work in flight
            del self._kept[:2048]
        self._kept.append(tensor)
        return tensor

    # --- the group ---------------------------------------------------------------------
    def _set_up(self, place: Place) -> Part:
        # PyTorch asks for a store on libuv even where it was built without it, as Debian's is; few ranks don't need one
        os.environ.setdefault("USE_LIBUV", "0")
        dist.init_process_group(self._backend, init_method=f"tcp://{place.address}:{place.port}", rank=place.rank,
                                world_size=place.world, timeout=self._timeout)
        if place.world > 1 and place.generation > 1:
            self._share_state(place)
        part = Part(self, place, self._state)
        self.agent.formed()
        return part

    def _share_state(self, place: Place) -> None:
        """Optimizer, cursor and state from rank 0 to all; the model goes when DistributedDataParallel is made."""
        mine = None
        if place.rank == 0:
            text = io.BytesIO()
            torch.save({"optimizer": self.optimizer.state_dict() if self.optimizer is not None else None,
                        "cursor": self._cursor, "state": self._state}, text)
            mine = torch.frombuffer(bytearray(text.getvalue()), dtype=torch.uint8).to(self._device())
        size = self._tensor([len(mine) if mine is not None else 0])
        dist.broadcast(size, 0)
        if mine is None:
            mine = torch.empty(int(size.item()), dtype=torch.uint8, device=self._device())
        self._kept.append(mine)
        dist.broadcast(mine, 0)
        if place.rank == 0:
            return
        theirs = torch.load(io.BytesIO(mine.cpu().numpy().tobytes()), map_location=self._device())
        if self.optimizer is not None:
            self.optimizer.load_state_dict(theirs["optimizer"])
        self._cursor, self._state = theirs["cursor"], theirs["state"]

    def _tear_down(self) -> None:
        if self.optimizer is not None:
            self.optimizer.zero_grad(set_to_none=True)  # gradients may be views of DistributedDataParallel's buckets
        gc.collect()  # the model's wrapper holds the group
        if dist.is_initialized():
            dist.destroy_process_group()
        self._kept.clear()
