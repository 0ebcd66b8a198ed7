# SPDX-License-Identifier: GPL-2.0-or-later
include tests/fuzz/quality.mk
include tests/fuzz/allocation.mk
include tests/fuzz/client.mk
include tests/fuzz/mlqd.mk
include tests/fuzz/request.mk
include tests/fuzz/run.mk
