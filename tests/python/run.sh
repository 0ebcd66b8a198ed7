#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one Python test against the library just built. 77 = left out.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
library=$PWD/.libs/libmlq.so.0
for python in "${PYTHON:-}" /usr/bin/python3 python3; do
	[ -n "$python" ] && command -v "$python" >/dev/null && break
done
command -v "$python" >/dev/null || exit 77
# a library with a sanitizer in it cannot be loaded into Python; the command mlq can be tested all the same
case $1 in
*/test_cli.py) ;;
*) "$python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$library" 2>/dev/null || exit 77 ;;
esac
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/../../tools/client/python MLQ_LIBRARY=$library \
	MLQ_BALANCE_LIBRARY=$PWD/.libs/libmlq_balance.so.0 exec "$python" "$@"
