# SPDX-License-Identifier: GPL-2.0-or-later
# The shim's own C files with stubs for slurmctld's symbols.
if WITH_SLURM_SRC
check_PROGRAMS += test_sched
test_sched_CPPFLAGS = $(unit_cppflags) -isystem $(SLURM_SRC)
test_sched_SOURCES = tests/unit/test_sched.c tests/unit/test_sched.h \
	tests/unit/test_sched_apply.c tests/unit/test_sched_resize.c tests/unit/test_sched_requeue.c tests/unit/test_sched_nodes.c tests/unit/test_sched_shift.c tests/unit/test_sched_snapshot.c \
	tests/unit/test_sched_cluster.c tests/unit/test_sched_endings.c tests/unit/test_sched_gpus.c tests/unit/test_sched_gpu_request.c \
	tests/unit/slurmctld_names.c tests/unit/slurmctld_stubs.c tests/unit/slurmctld_stubs.h tests/unit/stub_lists.c tests/unit/update_job_stubs.c \
	slurm-plugin/sched/apply.c slurm-plugin/sched/attempt.c slurm-plugin/sched/cluster.c slurm-plugin/sched/endings.c slurm-plugin/sched/gpu_request.c slurm-plugin/sched/gpus.c slurm-plugin/sched/het.c \
	slurm-plugin/sched/layout.c slurm-plugin/sched/node_shrink.c slurm-plugin/sched/requeue.c slurm-plugin/sched/resize.c slurm-plugin/sched/size_request.c slurm-plugin/sched/snapshot.c slurm-plugin/sched/waiting.c \
	slurm-plugin/site_factor/priority_shift.c
test_sched_LDADD = $(CHECK_LIBS)
endif
EXTRA_DIST += tests/unit/slurmctld_stubs.h
