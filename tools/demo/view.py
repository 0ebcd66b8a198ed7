# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows the jobs: a table redrawn in place on a terminal, lines otherwise."""
import math
import os
import shutil
import time

from rows import ordered

_COLOURS = {"RUNNING": "32", "PENDING": "33", "COMPLETED": "2", "COMPLETING": "32"}
_BLOCKS, _ASCII_BLOCKS = " ▏▎▍▌▋▊▉█", " =="
_LEVELS, _ASCII_LEVELS = "▁▂▃▄▅▆▇█", "_.-~^"
_HEAD = f"{'RANK':>4} {'JOB':>5} {'NAME':<17} {'STATE':<10} {'CORES':>5} {'ITER':>5} {'LOSS':>10} "
_HEAD_END = f"{'REDUCTION':<17} {'GAIN/CORE':>9}  "


def number(value, digits=4):
    """Short text of a number, "" for none."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return "diverged"
    return f"{value:.{digits}g}"


def speaks_unicode(stream):
    """Whether the stream takes the characters of the bars."""
    try:
        (_BLOCKS + _LEVELS).encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def bar(fraction, width, unicode_ok):
    """A bar of `width` characters, filled from the left."""
    if fraction is None or not math.isfinite(fraction):
        return " " * width
    blocks = _BLOCKS if unicode_ok else _ASCII_BLOCKS
    eighths = round(min(max(fraction, 0.0), 1.0) * width * (len(blocks) - 1))
    full, rest = divmod(eighths, len(blocks) - 1)
    text = blocks[-1] * full + (blocks[rest] if rest else "")
    return text.ljust(width)


def sparkline(curve, width, unicode_ok):
    """(time, loss) points as one line of at most `width` characters, each the mean of its share of the time."""
    if len(curve) < 2 or width < 1:
        return ""
    levels = _LEVELS if unicode_ok else _ASCII_LEVELS
    start, end = curve[0][0], curve[-1][0]
    buckets = [[] for _ in range(min(width, len(curve)))]
    for when, loss in curve:
        place = (when - start) / (end - start) if end > start else 0.0
        buckets[min(int(place * len(buckets)), len(buckets) - 1)].append(loss)
    means = [sum(part) / len(part) for part in buckets if part]
    low, high = min(means), max(means)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(levels[round((mean - low) * scale)] for mean in means)


def table_line(row, curve_width, unicode_ok):
    """One job as a line of the table, without colour."""
    reached = f"{row.fraction:4.0%}" if row.fraction is not None and math.isfinite(row.fraction) else "    "
    return (f"{row.rank or '':>4} {row.job_id:>5} {row.name[:17]:<17} {row.state[:10]:<10} {row.cores:>5} "
            f"{number(row.iteration, 6):>5} {number(row.loss, 5):>10} {bar(row.fraction, 12, unicode_ok)} {reached} "
            f"{number(row.gain, 3):>9}  {sparkline(row.curve, curve_width, unicode_ok)}")


def summary(rows, cores, seconds):
    """What goes on, in one line."""
    running = [row for row in rows if row.running]
    pending = sum(row.pending for row in rows)
    return (f"{int(seconds) // 60}:{int(seconds) % 60:02d}  {sum(row.cores for row in running)} of {cores} cores busy, "
            f"{len(running)} running, {pending} pending, {len(rows) - len(running) - pending} ended")


def table(rows, unicode_ok, curve_width=16):
    """The whole table as a list of lines."""
    return [_HEAD + _HEAD_END + "CURVE"] + [table_line(row, curve_width, unicode_ok) for row in ordered(rows)]


class Screen:
    """Redraws the table in place, as much of it as the terminal has room for."""

    def __init__(self, stream, cores):
        self._stream, self._cores, self._drawn = stream, cores, 0
        self._unicode = speaks_unicode(stream)
        self._colour = "NO_COLOR" not in os.environ
        self._start = time.monotonic()
        self._write("\x1b[?25l")

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()

    def _paint(self, line, row):
        code = _COLOURS.get(row.state, "31")
        return f"\x1b[{code}m{line}\x1b[0m" if self._colour else line

    def show(self, rows):
        size = shutil.get_terminal_size()
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            pass
        columns, room = max(size.columns - 1, 20), max(size.lines - 4, 1)
        curve_width = min(max(columns - len(_HEAD) - len(_HEAD_END), 0), 24)
        shown = ordered(rows)[:room]
        lines = [summary(rows, self._cores, time.monotonic() - self._start)[:columns],
                 (_HEAD + _HEAD_END + "CURVE")[:columns]]
        lines += [self._paint(table_line(row, curve_width, self._unicode)[:columns], row) for row in shown]
        if len(shown) < len(rows):
            lines.append(f"... and {len(rows) - len(shown)} more")
        up = f"\x1b[{self._drawn}A\r" if self._drawn else ""
        self._write(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def close(self):
        self._write("\x1b[?25h")


class Lines:
    """For a file or a pipe: every change of state at once, the numbers every few seconds."""

    def __init__(self, stream, cores, every=10.0):
        self._stream, self._cores, self._every = stream, cores, every
        self._states, self._start, self._last = {}, time.monotonic(), -math.inf

    def _say(self, text):
        print(text, file=self._stream, flush=True)

    def show(self, rows):
        now = time.monotonic() - self._start
        for row in rows:
            if self._states.get(row.job_id, "PENDING") != row.state:
                self._say(f"{now:6.1f} s  job {row.job_id} {row.name}: {row.state}"
                          + (f" on {row.cores} cores" if row.running else f", loss {number(row.loss, 5)}"))
            self._states[row.job_id] = row.state
        if now - self._last < self._every:
            return
        self._last = now
        self._say(f"{now:6.1f} s  {summary(rows, self._cores, now)}")
        for row in ordered(rows):
            if row.running:
                reached = "" if row.fraction is None else f", {row.fraction:.0%} of the reduction"
                self._say(f"          job {row.job_id} {row.name}: iteration {number(row.iteration, 6) or '-'}, "
                          f"loss {number(row.loss, 5) or '-'}{reached}, gain per core {number(row.gain, 3) or '-'}")
        waiting = [f"{row.rank} {row.name} ({number(row.gain, 3)})" for row in ordered(rows) if row.rank]
        if waiting:
            self._say("          ranked: " + ", ".join(waiting))

    def close(self):
        """Nothing to put back."""


def viewer(stream, cores):
    """Screen on a terminal that can move its cursor, else Lines."""
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return Screen(stream, cores)
    return Lines(stream, cores)
