# SPDX-License-Identifier: GPL-2.0-or-later
"""How sure a median of ratios is, for benchmarks that measure in pairs."""

import math
import statistics


def median_range(values):
    """The median, and the range that holds the true one with 95 %, from the order of the values alone."""
    values = sorted(values)
    off = int(1.96 * math.sqrt(len(values)) / 2 + 1)
    middle = len(values) // 2
    return statistics.median(values), values[max(middle - off, 0)], values[min(middle + off, len(values) - 1)]
