# SPDX-License-Identifier: GPL-2.0-or-later
"""The handle of a job."""

from __future__ import annotations

import ctypes
import os
import warnings
from types import TracebackType
from typing import NamedTuple, Optional, SupportsFloat, Type

from ._library import CountersStruct, library


class Counters(NamedTuple):
    """What became of the reports of this process."""

    reported: int = 0
    sent: int = 0
    """acknowledged by mlqd"""
    thinned: int = 0
    """given up to make room for newer ones while mlqd was away"""
    refused: int = 0
    """mlqd said no for good"""


class Job:
    """A job that losses are reported for. Made by attach(); no call raises, whatever mlqd does."""

    def __init__(self, handle: Optional[int]) -> None:
        self._library = library()
        self._handle = handle if self._library else None
        self._pid = os.getpid()
        self._warned = False

    @property
    def active(self) -> bool:
        """Whether reports go to an mlqd; False outside a job, in a rank other than 0, in forked children and while
        mlqd refuses the job."""
        return self._handle is not None and bool(self._library.quick.mlq_active(self._handle))

    def report(self, iteration: SupportsFloat, loss: SupportsFloat) -> None:
        """Reports the loss at an iteration. Takes anything that float() takes: Python, NumPy and torch scalars.

        A loss of NaN or infinity says that the training diverged. What is not a number is left out, with one warning.
        """
        if not self.active:
            return
        try:
            iteration, loss = float(iteration), float(loss)
        except Exception as error:  # __float__ of a user's or a framework's class may raise whatever it likes
            self._warn(error)
            return
        # read last: float() lets other threads run, and one of them may have closed the job
        self._library.quick.mlq_report(self._handle, iteration, loss)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"mlq: a report was left out: {error}", RuntimeWarning, stacklevel=3)

    def flush(self, timeout: float = 2.0) -> bool:
        """Waits until mlqd has everything, at most `timeout` seconds. False when it has not."""
        if self._handle is None or os.getpid() != self._pid:
            return True
        return self._library.slow.mlq_flush(self._handle, float(timeout)) == 0

    @property
    def counters(self) -> Counters:
        """What became of the reports so far."""
        if self._handle is None:
            return Counters()
        out = CountersStruct()
        self._library.quick.mlq_get_counters(self._handle, ctypes.byref(out))
        return Counters(out.reported, out.sent, out.thinned, out.refused)

    def close(self) -> None:
        """Sends what is left, at most two seconds, and ends. A process that just exits does so too."""
        handle, self._handle = self._handle, None
        if handle is not None and os.getpid() == self._pid:
            self._library.slow.mlq_detach(handle)

    def __enter__(self) -> "Job":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "active" if self.active else "not reporting"
        return f"<mlq.Job {state} {self.counters}>"

    def __reduce__(self):
        # A pickled job arrives in another process (a data loader's worker): it does nothing there.
        return (Job, (None,))


def attach() -> Job:
    """The job that this process runs in, as MLQ_URL and MLQ_TOKEN say; elsewhere a job that does nothing."""
    found = library()
    return Job(found.slow.mlq_attach() if found else None)
