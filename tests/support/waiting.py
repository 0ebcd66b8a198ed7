# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for what happens elsewhere, within bounds."""
import time


def wait_until(what, condition, seconds=30, pause=0.1):
    """The first true value of condition(); fails after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(pause)
