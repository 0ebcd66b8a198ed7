# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks after the run that every job did what it should, by three witnesses: its own output, mlqd and sacct."""
import math

import slurm


def same(a, b, tolerance):
    """Whether two numbers agree, relative to the greater."""
    return a is not None and b is not None and math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def problems_of(job_id, name, printed, points, account):
    """Texts of what is wrong with one job. printed: (reports, iteration, loss); points: mlqd's; account: sacct's row."""
    who = f"job {job_id} ({name})"
    if account is None:
        return [f"{who}: sacct does not know it"]
    found = []
    if account["State"] != "COMPLETED":
        found.append(f"{who}: ended {account['State']}, not COMPLETED")
    reports, iteration, loss = printed
    if reports == 0:
        return found + [f"{who}: printed no loss"]
    if len(points) != reports:
        found.append(f"{who}: printed {reports} losses, mlqd has {len(points)}")
    if not points:
        return found
    if points[-1][0] != iteration or not same(points[-1][1], loss, 1e-6):
        found.append(f"{who}: its last loss was {loss:.9g} at iteration {iteration}, "
                     f"mlqd has {points[-1][1]} at {points[-1][0]}")
    told = slurm.comment(account["AdminComment"])
    if not told:
        found.append(f"{who}: AdminComment tells nothing of its quality: {account['AdminComment'][:80]!r}")
    elif not same(told.get("loss"), loss, 1e-5):
        found.append(f"{who}: its last loss was {loss:.9g}, AdminComment says {told.get('loss')}")
    elif told.get("final") is not True:
        found.append(f"{who}: AdminComment was not written after the job's end")
    return found
