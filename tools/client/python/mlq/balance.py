# SPDX-License-Identifier: GPL-2.0-or-later
"""Batch sizes for unequal ranks, for any framework: sizes, offsets and weights from one exchanged vector.

    balancer = mlq.balance.Balancer(global_batch=1024, ranks=n, rank=r)
    for indices in ...:
        mine = order[cursor + balancer.offset : cursor + balancer.offset + balancer.size]
        ...                                    # the mean gradient of `mine` counts balancer.weight
        vectors = allgather(balancer.vector(seconds, len(mine)))   # ranks x FIELDS doubles, by rank
        balancer.update(vectors)

Every rank passes the same vectors and gets the same sizes, which sum to the global batch at all times.
mlq.torch does all of this for PyTorch.
"""

from __future__ import annotations

import ctypes
import errno
import operator
import os
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional

__all__ = ["Balancer", "FIELDS", "NodeState", "equal_split"]

FIELDS = 8
_NAME = "libmlq_balance.so.0"
_MOST = 2**53  # numbers of samples are exchanged as doubles


class _Options(ctypes.Structure):
    _fields_ = [
        ("global_batch", ctypes.c_uint64),
        ("ranks", ctypes.c_uint32),
        ("rank", ctypes.c_uint32),
        ("grain", ctypes.c_uint64),
        ("policy", ctypes.c_char_p),
        ("predictor", ctypes.c_char_p),
    ]


class NodeState(NamedTuple):
    """What a rank's node was like when its newest vector was made."""

    cpu: float
    """share of its cores that the rank can have"""
    memory: float
    """bytes that are free"""
    stall: float
    """share of its time that the rank waited for a core"""


_library: Optional[ctypes.CDLL] = None


def _load() -> ctypes.CDLL:
    global _library
    if _library is not None:
        return _library
    here = Path(__file__).resolve().parent
    tried = [str(f / _NAME) for f in (here, here.parents[2]) if (f / _NAME).is_file()] + [_NAME]
    if "MLQ_BALANCE_LIBRARY" in os.environ:
        tried = [os.environ["MLQ_BALANCE_LIBRARY"]]
    for path in tried:
        try:
            lib = ctypes.CDLL(path, use_errno=True)
        except OSError:
            continue
        handle, sizes = ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)
        doubles = ctypes.POINTER(ctypes.c_double)
        lib.mlq_balance_create.argtypes, lib.mlq_balance_create.restype = [ctypes.POINTER(_Options)], handle
        lib.mlq_balance_destroy.argtypes, lib.mlq_balance_destroy.restype = [handle], None
        for name in ("mlq_balance_sizes", "mlq_balance_offsets"):
            getattr(lib, name).argtypes, getattr(lib, name).restype = [handle], sizes
        for name in ("mlq_balance_set_max", "mlq_balance_out_of_memory"):
            getattr(lib, name).argtypes, getattr(lib, name).restype = [handle, ctypes.c_uint64], None
        lib.mlq_balance_vector.argtypes, lib.mlq_balance_vector.restype = [
            handle, ctypes.c_double, ctypes.c_uint64, doubles], None
        lib.mlq_balance_state.argtypes, lib.mlq_balance_state.restype = [handle, doubles, doubles, doubles], None
        lib.mlq_balance_next.argtypes, lib.mlq_balance_next.restype = [handle, doubles], ctypes.c_int
        lib.mlq_balance_split.argtypes = [handle, ctypes.c_uint64, sizes]
        lib.mlq_balance_split.restype = ctypes.c_int
        _library = lib
        return lib
    raise OSError(f"{_NAME} was not found (tried {', '.join(tried)}): install libmlq or set MLQ_BALANCE_LIBRARY")


def _count(name: str, value: int, least: int = 0) -> int:
    """The value as an int; ctypes would take one that does not fit for another one."""
    number = operator.index(value)
    if not least <= number < _MOST:
        raise ValueError(f"{name} is {number}, it must be from {least} to 2**53 - 1")
    return number


def equal_split(samples: int, ranks: int) -> List[int]:
    """Sizes that differ by at most one, larger ones first."""
    return [samples // ranks + (i < samples % ranks) for i in range(ranks)]


class Balancer:
    """One rank's copy of the common decision. Not thread-safe.

    global_batch: samples of one iteration over all ranks. grain: sizes are multiples of it, but for one rank;
    0 takes 8, or 4, 2, 1 where a rank would have less than 32 of them.
    policy: "lb" (CPU ranks), "gpu", "pair", "dbs", "static" or "equal"; predictor, for "lb": "best", "narx", "arx",
    "arima", "level", "ema" or "last". ValueError names what was wrong.
    """

    def __init__(self, global_batch: int, ranks: int, rank: int, *, grain: int = 0, policy: str = "lb",
                 predictor: str = "best") -> None:
        _count("global_batch", global_batch, 1)
        _count("grain", grain)
        if not 1 <= ranks <= 65536:
            raise ValueError(f"ranks is {ranks}, it must be from 1 to 65536")
        if not 0 <= rank < ranks:
            raise ValueError(f"rank is {rank}, it must be from 0 to ranks - 1 = {ranks - 1}")
        if global_batch < ranks * max(grain, 1):
            raise ValueError(f"global_batch is {global_batch} and grain {grain}: global_batch must be at least "
                             f"ranks * grain = {ranks * max(grain, 1)}")
        self._lib = _load()
        options = _Options(global_batch, ranks, rank, grain, policy.encode(), predictor.encode())
        self._handle = self._lib.mlq_balance_create(ctypes.byref(options))
        if not self._handle:
            raise ValueError(
                f"policy '{policy}' with predictor '{predictor}' is not known: policy is one of lb, gpu, pair, dbs, static, "
                f"equal; predictor one of best, narx, arx, arima, level, ema, last ({os.strerror(ctypes.get_errno())})")
        self.global_batch, self.ranks, self.rank = global_batch, ranks, rank

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._lib.mlq_balance_destroy(handle)

    def __reduce__(self):
        # a copy would free the handle a second time
        raise TypeError("a Balancer is neither copied nor pickled: each rank makes its own")

    @property
    def sizes(self) -> List[int]:
        """Samples of each rank in the coming iteration; sums to global_batch."""
        return self._lib.mlq_balance_sizes(self._handle)[: self.ranks]

    @property
    def offsets(self) -> List[int]:
        """Prefix sums of the sizes: where each rank's slice of the global order starts."""
        return self._lib.mlq_balance_offsets(self._handle)[: self.ranks]

    @property
    def size(self) -> int:
        return self.sizes[self.rank]

    @property
    def offset(self) -> int:
        return self.offsets[self.rank]

    @property
    def weight(self) -> float:
        """What this rank's mean gradient counts in the mean over the global batch: size / global_batch."""
        return self.size / self.global_batch

    def vector(self, seconds: float, samples: int) -> List[float]:
        """FIELDS numbers to exchange: own work on `samples` took `seconds`, waiting for others excluded."""
        mine = (ctypes.c_double * FIELDS)()
        self._lib.mlq_balance_vector(self._handle, float(seconds), _count("samples", samples), mine)
        return list(mine)

    @property
    def state(self) -> NodeState:
        """Of this rank's node, as it went into the newest vector()."""
        values = [ctypes.c_double() for _ in NodeState._fields]
        self._lib.mlq_balance_state(self._handle, *map(ctypes.byref, values))
        return NodeState(*(value.value for value in values))

    def update(self, vectors: Iterable[float]) -> bool:
        """Takes what all ranks sent, flat and by rank. False when the ranks had come to differ: all are at the equal split then."""
        flat = [float(x) for x in vectors]
        if len(flat) != self.ranks * FIELDS:
            raise ValueError(f"{len(flat)} numbers were given, ranks * FIELDS = {self.ranks * FIELDS} are needed")
        result = self._lib.mlq_balance_next(self._handle, (ctypes.c_double * len(flat))(*flat))
        if result != 0 and ctypes.get_errno() != errno.EPROTO:
            raise MemoryError("mlq_balance_next")
        return result == 0

    def set_max(self, samples: int) -> None:
        """The most samples that this rank's memory takes."""
        self._lib.mlq_balance_set_max(self._handle, _count("samples", samples))

    def out_of_memory(self, size: int) -> None:
        """This rank ran out of memory at `size` samples: it gets fewer from now on."""
        self._lib.mlq_balance_out_of_memory(self._handle, _count("size", size))

    def split(self, samples: int) -> List[int]:
        """Splits a ragged last batch like the present sizes; sums to samples exactly."""
        out = (ctypes.c_uint64 * self.ranks)()
        self._lib.mlq_balance_split(self._handle, _count("samples", samples), out)
        return list(out)
