# SPDX-License-Identifier: GPL-2.0-or-later
"""Trainer(callbacks=[mlq.lightning.QualityCallback()])"""

from __future__ import annotations

from typing import Any, Mapping, Optional

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._job import Job, attach


class QualityCallback(Callback):
    """Reports what training_step returned, or a logged metric named by `monitor`, every `every` batches.

    Reading a loss from a GPU waits for it: raise `every` where an iteration takes only milliseconds.
    """

    def __init__(self, job: Optional[Job] = None, monitor: Optional[str] = None, every: int = 1) -> None:
        super().__init__()
        self.job = job or attach()
        self.monitor = monitor
        self.every = max(1, every)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_index: int) -> None:
        if not self.job.active or not trainer.is_global_zero or batch_index % self.every:
            return
        if self.monitor is not None:
            value = trainer.callback_metrics.get(self.monitor)
        else:
            value = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if value is not None:
            self.job.report(trainer.global_step, value)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        self.job.flush()
