#!/bin/sh
# SPDX-License-Identifier: MIT
# State of tests/gpu-proof.txt. A failure of these sources fails; parts that are missing, or were run on other sources, are "skipped", by
# name: a proof needs a GPU.
set -eu
proof=tests/gpu-proof.txt
[ -f $proof ] || { echo "no $proof: no kernel was proved on a GPU"; exit 77; }
now=$(tests/house/sources.sh)
failures=$(awk -v now="sources $now" '/^== [a-z]+,/ {mine = index($0, now) > 0}
    mine && /FAIL|ERROR SUMMARY: [1-9]|hazards displayed \([1-9]|[1-9][0-9]* failures$/' $proof)
[ -z "$failures" ] || { printf '%s\n' "$proof holds a failure of these sources:" "$failures"; exit 1; }
old=$(for part in $(sed -n 's/^all="\(.*\)"$/\1/p' tests/gpu-proof.sh); do grep -q "^== $part,.* sources $now\$" $proof || printf '%s ' "$part"; done)
[ -z "$old" ] || { echo "$proof: of other sources than these ($now), or missing: ${old% }. make gpu-proof PARTS=\"${old% }\""; exit 77; }
