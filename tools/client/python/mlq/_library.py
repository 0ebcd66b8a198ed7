# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds and loads libmlq: bundled beside this file, then where `make install` puts it, then as the loader finds it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

_NAME = "libmlq.so.0"


class CountersStruct(ctypes.Structure):
    """mlq_counters of mlq.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("reported", "sent", "thinned", "refused")]


class Library(NamedTuple):
    path: str
    quick: ctypes.PyDLL  # calls that never wait keep the interpreter lock: cheaper
    slow: ctypes.CDLL  # calls that may wait give it up


def _candidates() -> Iterator[str]:
    chosen = os.environ.get("MLQ_LIBRARY")
    if chosen:
        yield chosen
        return
    here = Path(__file__).resolve().parent
    # $(libdir)/python3/dist-packages/mlq -> $(libdir)
    for folder in (here, here.parents[2]):
        if (folder / _NAME).is_file():
            yield str(folder / _NAME)
    yield _NAME


def _declare(quick: ctypes.PyDLL, slow: ctypes.CDLL) -> None:
    job = ctypes.c_void_p
    slow.mlq_attach.argtypes, slow.mlq_attach.restype = [], job
    slow.mlq_flush.argtypes, slow.mlq_flush.restype = [job, ctypes.c_double], ctypes.c_int
    slow.mlq_detach.argtypes, slow.mlq_detach.restype = [job], None
    quick.mlq_report.argtypes, quick.mlq_report.restype = [job, ctypes.c_double, ctypes.c_double], None
    quick.mlq_active.argtypes, quick.mlq_active.restype = [job], ctypes.c_int
    quick.mlq_get_counters.argtypes = [job, ctypes.POINTER(CountersStruct)]
    quick.mlq_get_counters.restype = None
    quick.mlq_version.argtypes, quick.mlq_version.restype = [], ctypes.c_char_p


def _load() -> Optional[Library]:
    for path in _candidates():
        try:
            quick, slow = ctypes.PyDLL(path), ctypes.CDLL(path)
            _declare(quick, slow)
        except (OSError, AttributeError):
            continue
        return Library(path, quick, slow)
    return None


_library: Optional[Library] = None
_tried = False


def library() -> Optional[Library]:
    """The library, loaded at the first call; None where there is none."""
    global _library, _tried
    if not _tried:
        _library, _tried = _load(), True
    return _library


def library_path() -> Optional[str]:
    """Which libmlq is in use, or None."""
    found = library()
    return found.path if found else None


def library_version() -> Optional[str]:
    """Version of the libmlq in use, or None."""
    found = library()
    return found.quick.mlq_version().decode() if found else None
