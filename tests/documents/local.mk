# SPDX-License-Identifier: GPL-2.0-or-later
TESTS += tests/python/test_documents.py
EXTRA_DIST += tests/python/test_documents.py tests/documents/man-pages examples/pytorch/train_before.py \
	examples/pytorch/train_after.py examples/pytorch/ddp_before.py examples/pytorch/ddp_after.py examples/pytorch/ddp_elastic.py examples/pytorch/train.sbatch examples/c/descent.c
