# SPDX-License-Identifier: GPL-2.0-or-later
"""model.fit(..., callbacks=[mlq.keras.QualityCallback()])"""

from __future__ import annotations

from typing import Any, Optional

try:
    from keras.callbacks import Callback
except ImportError:
    from tensorflow.keras.callbacks import Callback

from ._job import Job, attach


class QualityCallback(Callback):
    """Reports `monitor` of the logs after each batch: "loss" is Keras' mean over the epoch so far."""

    def __init__(self, job: Optional[Job] = None, monitor: str = "loss") -> None:
        super().__init__()
        self.job = job or attach()
        self.monitor = monitor
        self.iteration = 0

    def on_train_batch_end(self, batch: int, logs: Optional[dict] = None) -> None:
        self.iteration += 1
        value: Any = (logs or {}).get(self.monitor)
        if value is not None:
            self.job.report(self.iteration, value)

    def on_train_end(self, logs: Optional[dict] = None) -> None:
        self.job.flush()
