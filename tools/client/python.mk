# SPDX-License-Identifier: GPL-2.0-or-later
# The Python package mlq: pure Python on libmlq. Installed under $(libdir)/python3/dist-packages, from where it finds
# $(libdir)/libmlq.so.0; another folder can be given with `make install mlqpydir=...`. Without `make`:
# pip install tools/client/python.
mlqpydir = $(libdir)/python3/dist-packages/mlq
dist_mlqpy_DATA = \
	tools/client/python/mlq/__init__.py \
	tools/client/python/mlq/_job.py \
	tools/client/python/mlq/_library.py \
	tools/client/python/mlq/_torch_elastic.py \
	tools/client/python/mlq/balance.py \
	tools/client/python/mlq/elastic.py \
	tools/client/python/mlq/keras.py \
	tools/client/python/mlq/lightning.py \
	tools/client/python/mlq/torch.py \
	tools/client/python/mlq/transformers.py \
	tools/client/python/mlq/py.typed
EXTRA_DIST += tools/client/python/pyproject.toml
