# SPDX-License-Identifier: GPL-2.0-or-later
TEST_EXTENSIONS = .py
PY_LOG_COMPILER = $(SHELL) $(srcdir)/tests/python/run.sh
TESTS += tests/python/test_mlq.py tests/python/test_cli.py tests/python/test_demo.py tests/python/test_balance.py \
	tests/python/test_balance_replay.py tests/python/test_examples_mpi.py
EXTRA_DIST += tests/python/run.sh tests/python/collector.py tests/python/test_mlq.py \
	tests/python/test_cli.py tests/python/test_demo.py \
	tests/python/test_balance.py tests/python/test_balance_replay.py tests/python/balance_ranks.py \
	tests/python/test_examples_mpi.py examples/mpi/balance_numpy.py examples/c/balance_mpi.c
TESTS += tests/python/test_run.py tests/python/test_resize.py
EXTRA_DIST += tests/python/test_run.py tests/python/test_resize.py tests/python/agent_site.py \
	tests/python/fake_slurm.py tests/python/elastic_training.py
EXTRA_DIST += tests/support/waiting.py tests/support/unix_http.py
