# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells Slurm's quality-driven scheduling how a training's loss goes.

    import mlq

    job = mlq.attach()                  # a silent no-op outside a job of --ml-quality
    for iteration, batch in enumerate(loader):
        loss = train(batch)
        job.report(iteration, loss)     # about a microsecond, never blocks, never raises

Callbacks for Keras, Lightning and Hugging Face's Trainer are in mlq.keras, mlq.lightning and mlq.transformers.
"""

from ._job import Counters, Job, attach
from ._library import library_path, library_version

__all__ = ["Counters", "Job", "attach", "library_path", "library_version"]
__version__ = "0.1.0"
