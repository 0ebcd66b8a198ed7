# SPDX-License-Identifier: GPL-2.0-or-later
"""Trainer(..., callbacks=[mlq.transformers.QualityCallback()])"""

from __future__ import annotations

from typing import Any, Optional

from transformers import TrainerCallback

from ._job import Job, attach


class QualityCallback(TrainerCallback):
    """Reports `monitor` whenever the Trainer logs it (see its logging_steps)."""

    def __init__(self, job: Optional[Job] = None, monitor: str = "loss") -> None:
        self.job = job or attach()
        self.monitor = monitor

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[dict] = None, **kwargs: Any) -> None:
        value = (logs or {}).get(self.monitor)
        if value is not None and state.is_world_process_zero:
            self.job.report(state.global_step, value)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.job.flush()
