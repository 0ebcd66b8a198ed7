# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the loss curves of all jobs and the cores they held, with gnuplot."""
import subprocess
import tempfile
from pathlib import Path

_SCRIPT = """
set terminal pngcairo size 1400,1000 font ",11" noenhanced
set output OUTPUT
set multiplot layout 2,1
set key outside right top font ",8" spacing 0.8
set grid lc rgb "#dddddd"
set lmargin 9
set rmargin 20
golden(i) = i * 0.618034 - floor(i * 0.618034)
colour(i) = hsv2rgb(golden(i), 0.75, 0.55 + 0.3 * (i % 3) / 2)
set xrange [0:DURATION]
set ylabel "loss, 1 = first, 0 = best"
set yrange [-0.02:1.02]
set title "Loss of each training"
plot for [i=0:COUNT-1] LOSSES index i using 1:2 with lines lw 1.5 lc rgb colour(i) \
    title columnheader(1)
set ylabel "cores"
set xlabel "seconds since the first job started"
set yrange [0:*]
set title "Cores held"
unset key
plot for [i=COUNT-1:0:-1] CORES using 1:(sum [c=2:i+2] column(c)) with fillsteps lc rgb colour(i) \
    fs solid 0.7 notitle
unset multiplot
"""


def _normalised(row):
    losses = [loss for _, loss in row.curve]
    first, best = losses[0], (min if losses[-1] <= losses[0] else max)(losses)
    span = abs(first - best) or 1.0
    return [(when, abs(loss - best) / span) for when, loss in row.curve]


def draw(rows, file):
    """Writes a PNG. rows with a whole curve each and `held`, their [(start, end, cores)]. OSError, CalledProcessError."""
    rows = [row for row in rows if len(row.curve) > 1]
    if not rows:
        raise ValueError("no job has a curve to plot")
    zero = min(start for row in rows for start, _, _ in row.held)
    end = max(end for row in rows for _, end, _ in row.held)
    with tempfile.TemporaryDirectory() as folder:
        losses, cores = Path(folder, "losses"), Path(folder, "cores")
        losses.write_text("\n\n".join(
            f'"{row.name}"\n' + "".join(f"{when - zero} {value}\n" for when, value in _normalised(row)) for row in rows))
        edges = sorted({when for row in rows for start, stop, _ in row.held for when in (start, stop)})
        cores.write_text("".join(
            f"{edge - zero} " + " ".join(str(sum(n for start, stop, n in row.held if start <= edge < stop)) for row in rows)
            + "\n" for edge in edges))
        settings = f"OUTPUT='{file}'; LOSSES='{losses}'; CORES='{cores}'; COUNT={len(rows)}; DURATION={end + 1 - zero}"
        subprocess.run(["gnuplot", "-e", settings, "-"], input=_SCRIPT, text=True, check=True, capture_output=True,
                       timeout=60)
