#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves the kernels on the GPU of this machine and writes what was proved to tests/gpu-proof.txt: parity at several block sizes,
# compute-sanitizer, latency, figures. `make gpu-proof` calls it. PICTURES: a folder of PGM files of one size, 752x480 if may be.
# CASES, SANITIZED: cases of each parity run and of each sanitizer. STEPS: steps of each kind of picture for the latency.
#   tests/gpu-proof.sh sources    prints the digest of the sources, which `make test` compares with the proof's
#   tests/gpu-proof.sh BUILD MAKE...
set -eu
sources() {
    find src kernels port vfront.h vfront_cfg.h -type f ! -name '.*' | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16
}
[ "${1:-}" = sources ] && { sources; exit 0; }
build=$1
shift
steps=${STEPS:-100000}
cases=${CASES:-270}
pictures=${PICTURES:+--pictures $PICTURES}
out=$build/gpu-proof.txt
detect_blocks() {
    echo "-DVF_DETECT_FEW_THREADS=$1 -DVF_DETECT_FEW_ROWS=$2 -DVF_DETECT_MANY_THREADS=$1 -DVF_DETECT_MANY_ROWS=$2"
}
config=CFG=tests/config/check.h
jobs=
start() { "$@" >/dev/null & jobs="$jobs $!"; }
start "$@" BUILD="$build/bench" "$build/bench/vfcheck"
start "$@" CFG=tests/config/tall.h BUILD="$build/tall" "$build/tall/vfcheck"
start "$@" $config BUILD="$build/proof" NVCC_EXTRA=-lineinfo "$build/proof/vfcheck"
start "$@" $config BUILD="$build/proof-a" NVCC_EXTRA="$(detect_blocks 128 44) -DVF_TRACK_WARPS=2 -DVF_INGEST_BLOCKS=7 \
    -DVF_SCALE_FEW_ROWS=3 -DVF_SCALE_MANY_ROWS=3 -DVF_RECTIFY_ROWS=1 -DVF_SMOOTH_ROWS=4 -DVF_DESCRIBE_WARPS=8 \
    -DVF_MATCH_FEW=32 -DVF_MATCH_MANY=32 -DVF_DENSE_AHEAD=4" "$build/proof-a/vfcheck"
start "$@" $config BUILD="$build/proof-b" NVCC_EXTRA="$(detect_blocks 256 19) -DVF_TRACK_WARPS=4 -DVF_INGEST_BLOCKS=64 \
    -DVF_SCALE_FEW_ROWS=8 -DVF_SCALE_MANY_ROWS=8 -DVF_RECTIFY_ROWS=4 -DVF_SMOOTH_ROWS=5 -DVF_DESCRIBE_WARPS=1 \
    -DVF_MATCH_FEW=5 -DVF_MATCH_MANY=5 -DVF_MATCH_HANDFUL=1 -DVF_DENSE_AHEAD=8" "$build/proof-b/vfcheck"
start "$@" $config CUBLAS=1 BUILD="$build/proof-cublas" "$build/proof-cublas/vfcheck"
for job in $jobs; do wait "$job"; done
check=$build/proof/vfcheck
trap 'tail -5 "$out"; echo "gpu-proof: FAILED, see $out"' EXIT
{
    echo "sources $(sources)"
    echo "date    $(date -u +%Y-%m-%d)"
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/^/gpu     /'
    echo
    echo "== parity, two seeds, then two sets of other block sizes"
    for seed in 1 2; do "$check" --seed $seed --cases $cases $pictures; done
    "$build/proof-a/vfcheck" --seed 3 --cases $cases $pictures
    "$build/proof-b/vfcheck" --seed 4 --cases $cases $pictures
    for tool in memcheck racecheck initcheck; do
        echo
        echo "== compute-sanitizer $tool"
        compute-sanitizer --tool $tool --error-exitcode 9 "$check" --seed 5 --cases ${SANITIZED:-30} --frames 3 2>&1 | grep -vE '^real|^=+ *$'
    done
    echo
    echo "== times and latency"
    "$build/bench/vfcheck" --cases 9 $pictures --bench --latency "$steps"
    echo
    echo "== times of what the standard config does not have"
    "$build/tall/vfcheck" --cases 1 $pictures --dense
    echo
    echo "== motions, small systems solved by vfront, then by cuBLAS"
    "$check" --cases 9 $pictures --motion
    "$build/proof-cublas/vfcheck" --cases $cases $pictures --motion
} >"$out" 2>&1
! grep -E 'FAIL|ERROR SUMMARY: [1-9]|hazards displayed \([1-9]' "$out" || exit 1
trap - EXIT
cp "$out" tests/gpu-proof.txt
tail -40 tests/gpu-proof.txt
