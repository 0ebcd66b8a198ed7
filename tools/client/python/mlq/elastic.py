# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker of `mlq run` needs to go on in the same process while its group grows and shrinks; for any framework.

    agent = mlq.elastic.Agent()             # inactive outside of mlq run: every call below then says "no change"
    place = agent.first_place()             # rank, size, address of the first group; a joining worker waits for it here
    ...                                     # set the group up
    agent.formed()                          # it stands
    for iteration in ...:
        ...
        due = agent.due()                   # generation that the agent asks for, 0 = none
        # all ranks agree by the framework's own means, for rank 0 has heard of it when `due` is not 0 there:
        #     due = broadcast(due, from rank 0)
        if due:
            place = agent.place(due)        # where this rank goes; None: it leaves, and the process should end with 0
            ...                             # tear the group down, set the new one up, take rank 0's state
            agent.formed()

mlq.torch.Elastic does all of this for PyTorch.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import time
from typing import Optional

__all__ = ["Agent", "Place"]


@dataclasses.dataclass(frozen=True)
class Place:
    """One rank's place in one generation of the group."""

    generation: int
    rank: int
    world: int
    local_rank: int
    local_world: int
    address: str
    port: int
    units: int = 0
    cores: int = 0
    lost: bool = False
    """members were lost: what the ranks hold may differ, rank 0's state counts"""

    def export(self) -> None:
        """Into this process's environment, under the names that frameworks look for."""
        os.environ.update(RANK=str(self.rank), WORLD_SIZE=str(self.world), LOCAL_RANK=str(self.local_rank),
                          LOCAL_WORLD_SIZE=str(self.local_world), MASTER_ADDR=self.address, MASTER_PORT=str(self.port),
                          MLQ_GENERATION=str(self.generation))
        if self.units:
            os.environ["MLQ_UNITS"] = str(self.units)
        if self.cores:
            os.environ["MLQ_CORES"] = str(self.cores)


def _number(name: str, missing: int) -> int:
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return missing


class Agent:
    """This worker's line to the agent of its node (MLQ_AGENT). Not thread-safe; of no use in a forked child."""

    def __init__(self, name: Optional[str] = None) -> None:
        name = os.environ.get("MLQ_AGENT", "") if name is None else name
        self.joining = os.environ.pop("MLQ_JOINING", "") == "1"
        self._socket: Optional[socket.socket] = None
        self._input = b""
        self._newest: Optional[dict] = None  # the newest reform
        self._began: Optional[float] = None  # since when there has been no progress
        self._now = Place(_number("MLQ_GENERATION", 1), _number("RANK", 0), _number("WORLD_SIZE", 1), _number("LOCAL_RANK", 0),
                          _number("LOCAL_WORLD_SIZE", 1), os.environ.get("MASTER_ADDR", "127.0.0.1"),
                          _number("MASTER_PORT", 0), _number("MLQ_UNITS", 0), _number("MLQ_CORES", 0))
        if name.startswith("@"):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(5)
                connection.connect("\0" + name[1:])
                self._socket = connection
                self._send(kind="attached", local_rank=self._now.local_rank)
            except OSError:
                connection.close()
                self._socket = None
        if self.joining and self._socket is None:
            raise RuntimeError("mlq: this process was started to join a running training, but its agent does not answer")

    @property
    def active(self) -> bool:
        """Whether there is an agent that may ask for another size."""
        return self._socket is not None

    @property
    def now(self) -> Place:
        """The present place."""
        return self._now

    # --- talk -----------------------------------------------------------------
    def _send(self, **message: object) -> None:
        if self._socket is None:
            return
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._end()

    def _end(self) -> None:
        """The agent is gone, and soon this process will be."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _receive(self, seconds: float) -> None:
        """Takes what has come, waiting so long for something."""
        if self._socket is None:
            return
        self._socket.settimeout(seconds)
        try:
            got = self._socket.recv(65536)
        except (BlockingIOError, socket.timeout):
            return
        except OSError:
            got = b""
        if not got:
            self._end()
            return
        self._input += got
        *lines, self._input = self._input.split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message.get("kind") == "reform":
                self._newest = message

    # --- what the agent asks for -------------------------------------------------
    def first_place(self, timeout: float = 3600.0) -> Place:
        """The place to start at: at once, but for a worker that joins a running group."""
        if self.joining:
            self._send(kind="ready")
            place = self.wait(self._now.generation + 1, timeout)
            if place is None:
                raise SystemExit(0)  # given back before it was needed
            self._take(place)
        return self._now

    def due(self) -> int:
        """Generation that the agent asks for, 0 when the group may stay as it is. Never waits."""
        self._receive(0.0)
        return self._generation() if self._generation() > self._now.generation else 0

    def _generation(self) -> int:
        return int(self._newest.get("generation", 0)) if self._newest else 0

    def place(self, generation: int, timeout: float = 30.0) -> Optional[Place]:
        """This rank's place in that generation or a later one; None when it is to leave. Progress stops with this call."""
        if self._began is None:
            self._began = time.monotonic()
        place = self.wait(generation, timeout)
        if place is not None:
            self._take(place)
        return place

    def wait(self, generation: int, timeout: float) -> Optional[Place]:
        """As place(), without going there. TimeoutError when the agent has not said so in time."""
        end = time.monotonic() + timeout
        while self._generation() < generation:
            left = end - time.monotonic()
            if self._socket is None or left <= 0:
                raise TimeoutError(f"mlq: the agent did not name a place in generation {generation} within {timeout:g} s")
            self._receive(min(left, 1.0))
        message = self._newest or {}
        if not message.get("ranks"):
            return None
        get = message.get
        return Place(get("generation", 0), get("rank", 0), get("world", 1), get("local_rank", 0), get("ranks", 1),
                     get("address", ""), get("port", 0), get("units", 0), get("cores", 0), bool(get("flag")))

    def stalled(self) -> None:
        """Progress has stopped: a collective failed, for example."""
        if self._began is None:
            self._began = time.monotonic()

    def _take(self, place: Place) -> None:
        self._now = place
        place.export()

    def formed(self) -> None:
        """The group of the present place stands, and training goes on."""
        seconds = 0.0 if self._began is None else time.monotonic() - self._began
        self._began = None
        if self._now.generation > 1 or self.joining:
            self._send(kind="formed", generation=self._now.generation, rank=self._now.rank, seconds=round(seconds, 6))
        self.joining = False

    def close(self) -> None:
        """No more re-forming; the process may go on."""
        self._end()
