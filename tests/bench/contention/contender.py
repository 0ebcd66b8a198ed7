# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes a core away as a recorded CPU trace says: `python3 contender.py CORE STEP_SECONDS LEVEL,LEVEL,...`

Runs ahead of everything else on that core (SCHED_FIFO, so root is needed), as another virtual machine on it would. Each level
is the share of the core taken during one step; within a step it is taken in periods of 10 ms. Ends when its parent does.
"""

import ctypes
import os
import signal
import sys
import time

PERIOD = 0.010


def main():
    core, step = int(sys.argv[1]), float(sys.argv[2])
    levels = [float(level) for level in sys.argv[3].split(",")]
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    start = time.monotonic()
    print("ready", flush=True)
    due = start
    while True:
        now = time.monotonic()
        level = levels[int((now - start) / step) % len(levels)]
        until = due + PERIOD * level
        while time.monotonic() < until:
            pass
        due = max(due + PERIOD, now)
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
