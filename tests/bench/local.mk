# SPDX-License-Identifier: GPL-2.0-or-later
include tests/bench/agents.mk
include tests/bench/balance.mk
include tests/bench/quality.mk
include tests/bench/allocation.mk
include tests/bench/client.mk
include tests/bench/mlqd.mk
include tests/bench/request.mk
