#!/bin/sh
# SPDX-License-Identifier: MIT
# The first run of README.md: what its last line says, and the files that it leaves.
#   tests/examples/first_run.sh REPLAY    REPLAY of examples/replay/demo_cfg.h
set -u
replay=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0
check() { # what it means when the command fails, command...
    what=$1
    shift
    "$@" && return
    bad=$((bad + 1))
    echo "first run: $what"
}
"$replay" --out out --overlay >out.txt 2>err.txt || check "exit code $?: $(tail -1 err.txt)" false
check "it complains: $(head -1 err.txt)" [ ! -s err.txt ]
cm='[0-9.]+ [cm]m'
check "the last line: $(tail -1 out.txt)" grep -qE \
    "^found +position within $cm over [12]\.[0-9] m, bound $cm, 5[0-9] of 60 frames; nearest obstacle [1-4]\.[0-9] m; [0-9.]+ ms a frame on [a-zA-Z]" out.txt
within() { # the error is less than the bound that the state has for it
    tail -1 out.txt | awk '{for (i = 1; i <= NF; i++) {f = $(i + 2) ~ /^mm/ ? 0.1 : 1; if ($i == "within") e = $(i + 1) * f; if ($i == "bound") b = $(i + 1) * f}
        exit !(e > 0 && e < b && b < 30)}'
}
check 'the position is not within its bound' within
check 'the ground is not seen in every frame' grep -qE '^road +seen 60, held 0, given 0, none 0;' out.txt
check 'no state in most frames' grep -qE '^state +good 9[0-9]' out.txt
check 'no keyframes' grep -qE '^places +[1-9][0-9]* keyframes' out.txt
check 'not a picture of each frame' [ "$(ls out/overlay | wc -l)" -eq 60 ]
check 'tables that nobody asked for' [ -z "$(find out -name '*.csv')" ]
check "over 100 MB of files" [ "$(du -sk out | cut -f1)" -lt 100000 ]
check 'no band of deviations beside the path' grep -q 'three deviations' out/trajectory.svg
[ $bad -ne 0 ] || echo "first run: $(tail -1 out.txt | sed 's/found *//')"
exit $bad
