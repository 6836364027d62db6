#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run.sh counts: tests that pass, fail, are skipped; and a skip for a package that VFRONT_INSTALLED names is a failure.
set -u
bad=0
counts() { # what must be counted, then commands
    want=$1
    shift
    got=$(tests/run.sh "$@" | tail -n 1)
    [ "$got" = "$want" ] || { echo "run: $*: '$got' should be '$want'"; bad=1; }
}
no_cv2='echo "lens: SKIPPED, No module named cv2"; exit 77' no_data='echo "lens: SKIPPED, no data/opencv"; exit 77'
no_terminal='echo "skipped, no terminal: open"; echo "[  PASSED  ] 2 test(s)."; echo "[  SKIPPED ] 1 test(s)"'
unset VFRONT_INSTALLED
counts "1 passed, 1 failed, 2 skipped" true false "$no_cv2" "$no_data"
counts "2 passed, 0 failed, 1 skipped" "$no_terminal"
export VFRONT_INSTALLED="cmake cv2"
counts "1 passed, 1 failed, 1 skipped" true "$no_cv2" "$no_data"
VFRONT_INSTALLED="numpy opencv2"
counts "0 passed, 0 failed, 1 skipped" "$no_cv2"
VFRONT_INSTALLED="terminal"
counts "2 passed, 1 failed, 0 skipped" "$no_terminal"
[ $bad -ne 0 ] || echo "run: five tables of counts"
exit $bad
