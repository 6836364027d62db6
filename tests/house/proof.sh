#!/bin/sh
# SPDX-License-Identifier: MIT
# Whether tests/gpu-proof.txt is of these sources. A proof of other sources is no failure of theirs: it is "skipped", and says so.
set -eu
proof=tests/gpu-proof.txt
[ -f $proof ] || { echo "no $proof: no kernel was proved on a GPU"; exit 77; }
now=$(tests/gpu-proof.sh sources)
[ "$(sed -n 's/^sources //p' $proof)" = "$now" ] || { echo "$proof is of other sources than these ($now): make gpu-proof"; exit 77; }
if grep -q 'FAIL' $proof || ! grep -q ' 0 failures$' $proof; then
    echo "$proof holds a failure"
    exit 1
fi
