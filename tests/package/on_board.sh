#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/hil/on-board.sh on a machine that is no board: wrong options, parts that cannot be done or fail, a part that is stopped at its limit, and a
# board's tools, played by programs that answer as these do.
#   tests/package/on_board.sh BUILD [FAKE]    BUILD: folder with latency, hil-bench, hil-board; FAKE: with latency on the fake CUDA runtime
set -eu
build=$(cd "$1" && pwd) fake=${2:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "on_board: $*"; cat "$dir/report"; exit 1; }
board() { # exit code that must come, then options
    want=$1
    shift
    code=0
    examples/hil/on-board.sh --out "$dir/report" "$@" >"$dir/said" 2>&1 || code=$?
    [ $code -eq "$want" ] || { cat "$dir/said"; echo "on_board: $*: exit code $code, not $want"; exit 1; }
}
holds() { grep -qE -- "$1" "$dir/report" || fail "the report lacks '$1'"; }
: >"$dir/report"
board 0 --help
grep -q 'No root is needed' "$dir/said" || fail "--help"
for wrong in "--steps 0" "--steps x" "--limit" "--limit 12345678" "--frames 0" "--what 1"; do board 2 $wrong; done

mkdir "$dir/programs" "$dir/tools"
ln -s "$build/latency" "$dir/programs/latency"
printf '#!/bin/sh\nsleep 60\n' >"$dir/programs/digest"
printf '#!/bin/sh\necho parity: NOT RUN\nexit 77\n' >"$dir/programs/vfcheck"
chmod +x "$dir/programs/digest" "$dir/programs/vfcheck"
board 3 --programs "$dir/programs" --steps 3 --limit 2
holds '^vfront [0-9.]+, sources [0-9a-f]{16}'
holds '^NOT DONE: nvpmodel is not on this machine'
holds '^NOT DONE: golden digests: stopped after 2 s'
holds '^NOT DONE: kernels and host forms, byte by byte: see the line above'
holds '^NOT DONE: replay: no program in'
holds '^NOT DONE: hil-board: no program in'
holds '^steps [1-3]; first [0-9]+ us; p50 [0-9]+'
holds '^== end: nothing failed; lines with NOT DONE'

printf '#!/bin/sh\necho NV Power Mode: MAXN\n' >"$dir/tools/nvpmodel" # a board's answers; jetson_clocks without root
printf '#!/bin/sh\necho Error: not running as root\nexit 1\n' >"$dir/tools/jetson_clocks"
chmod +x "$dir/tools/nvpmodel" "$dir/tools/jetson_clocks"
printf '#!/bin/sh\necho 1 digest differs\nexit 1\n' >"$dir/programs/digest"
if [ -n "$fake" ]; then ln -sf "$(cd "$fake" && pwd)/latency" "$dir/programs/latency"; fi
ln -s "$build/hil-board" "$build/hil-bench" "$dir/programs/"
PATH=$dir/tools:$PATH board 1 --programs "$dir/programs" --steps 3 --frames 12 --limit 40
holds '^NV Power Mode: MAXN'
holds '^NOT DONE: jetson_clocks --show: exit code 1'
holds '^-- FAILED with exit code 1'
holds '^lock step    12 of 12 results with the same digests'
holds '^latency      last byte of a frame to first byte of its ODOMETRY: p50'
holds '^GPU fails at call 1 .*(passed|skipped)'
holds '^== end: a part FAILED'
[ -z "$fake" ] || holds '^vfront [0-9.]+ on fake'
echo "on_board: reports as they should be"
