# SPDX-License-Identifier: GPL-2.0-or-later
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = tools/completion/mlq tools/completion/mlqd
