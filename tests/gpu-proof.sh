#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves and times the kernels on the GPU of this machine, in parts of less than 10 minutes each, and writes what was proved to
# tests/gpu-proof.txt. Each part appends a section, or replaces its own, with the digest of its sources. `make gpu-proof` runs all
# parts, `make gpu-proof PARTS="paths memory"` some.
#   parity   host forms and kernels on random and adversarial cases, two seeds, then two sets of other block sizes
#   paths    every code path that a supported architecture takes: kernels forced to the instructions of sm_53, sm_62 and sm_72
#            (VF_FORCE_ARCH in kernels/kernel.cuh), PTX of 75 and 87 that the driver makes into code, code for this GPU; random cases, and
#            cases of 752x480, 1226x370 and 1280x720 with everything switched on
#   memory   compute-sanitizer on each of those paths: memcheck of one real frame, racecheck of small cases; initcheck
#   ports    both ports through the public interface: tests/core on the GPU, golden digests
#   times    kernels, steps, features, growth, graphs of steps and the longest way through each, on the whole GPU and on 8 multiprocessors of it
#   pace     600 steps of each kind at 30 Hz, in both wait modes, beside the same back to back; processor time
#   latency  histogram of STEPS steps of each kind of picture; beside a neighbour that keeps the GPU at work
#   dense    times of disparities and stixels
#   motion   times of motions; small systems through cuBLAS
# PICTURES: a folder of PGM files of one size, 752x480 if may be. CASES: cases of each parity run.
#   tests/gpu-proof.sh BUILD 'PARTS' MAKE...
set -eu
build=$1 parts=$2
shift 2
all="parity paths memory ports times pace latency dense motion"
[ -n "$parts" ] || parts=$all
steps=${STEPS:-100000}
cases=${CASES:-200}
pictures=${PICTURES:+--pictures $PICTURES}
proof=tests/gpu-proof.txt
sources=$(tests/house/sources.sh)
jobs=
start() { "$@" >/dev/null & jobs="$jobs $!"; }
settle() { for job in $jobs; do wait "$job" || { echo "gpu-proof: a build failed" >&2; exit 1; }; done; jobs=; }
make_vfcheck() { # folder, then settings of make
    folder=$build/$1
    shift
    start "$make" -j4 BUILD="$folder" "$@" "$folder/vfcheck"
}
make=$1
detect_blocks() {
    echo "-DVF_DETECT_FEW_THREADS=$1 -DVF_DETECT_FEW_ROWS=$2 -DVF_DETECT_MANY_THREADS=$1 -DVF_DETECT_MANY_ROWS=$2"
}
paths="force-53 force-62 force-72 ptx-75 ptx-87 native"
build_paths() {
    for force in 53 62 72; do # 62 with the smallest blocks of stixel, which newer GPUs never choose
        blocks=; [ $force != 62 ] || blocks=-DVF_STIXEL_SHARED_BYTES=150000
        make_vfcheck force-$force CFG=tests/config/real.h CUDA_ARCH=90 NVCC_EXTRA="-lineinfo -DVF_FORCE_ARCH=${force}0 $blocks"
    done
    for ptx in 75 87; do make_vfcheck ptx-$ptx CFG=tests/config/real.h CUDA_ARCH=$ptx GENCODE="-gencode arch=compute_$ptx,code=compute_$ptx"; done
    make_vfcheck native CFG=tests/config/real.h NVCC_EXTRA=-lineinfo
    settle
}
beside() { # runs a command for each path, side by side, and prints what each says in order
    for path in $paths; do (eval "$1" >"$build/$path.txt" 2>&1 || echo "FAIL: exit status $?" >>"$build/$path.txt") & done
    wait
    for path in $paths; do echo "-- $path"; cat "$build/$path.txt"; done
}
sanitize() { # tool, then options of vfcheck, on each path
    tool=$1
    shift
    beside "compute-sanitizer --tool $tool --error-exitcode 9 $build/\$path/vfcheck $* 2>&1 | grep -vE '^real|^=+ *\$'"
}

part_parity() {
    config=CFG=tests/config/check.h
    make_vfcheck proof $config
    make_vfcheck proof-a $config NVCC_EXTRA="$(detect_blocks 128 44) -DVF_TRACK_WARPS=2 -DVF_INGEST_BLOCKS=7 \
        -DVF_SCALE_TILE_Y=7 -DVF_SCALE_THREADS=64 -DVF_RECTIFY_ROWS=1 -DVF_SMOOTH_ROWS=4 -DVF_DESCRIBE_WARPS=8 \
        -DVF_NEAREST_LIST=256 -DVF_DENSE_BATCH=8 -DVF_DENSE_BLOCKS=24"
    make_vfcheck proof-b $config NVCC_EXTRA="$(detect_blocks 256 18) -DVF_TRACK_WARPS=4 -DVF_INGEST_BLOCKS=64 \
        -DVF_SCALE_TILE_Y=16 -DVF_SCALE_THREADS=256 -DVF_RECTIFY_ROWS=4 -DVF_SMOOTH_ROWS=5 -DVF_DESCRIBE_WARPS=1 \
        -DVF_NEAREST_LIST=32 -DVF_DENSE_BATCH=12 -DVF_DENSE_BLOCKS=18"
    settle
    cp "$build/proof/vfcheck" "$build/parity-1"
    for run in "proof 1" "proof 2" "proof-a 3" "proof-b 4"; do
        set -- $run
        ("$build/$1/vfcheck" --seed "$2" --cases "$cases" --flights 9 --steps 30 $pictures >"$build/parity-$2.txt" 2>&1 || echo "FAIL: exit status $?" >>"$build/parity-$2.txt") &
    done
    wait
    for seed in 1 2 3 4; do cat "$build/parity-$seed.txt"; done
}
part_paths() {
    build_paths
    echo "- real sizes"
    beside "$build/\$path/vfcheck --seed 6 --real --cases 6 --frames 3 --flights 3 --steps 12 $pictures"
    echo "- random cases"
    beside "$build/\$path/vfcheck --seed 7 --cases $((cases / 3)) --flights 0"
}
part_memory() {
    build_paths
    echo "- memcheck, one real frame of 1226x370"
    sanitize memcheck --seed 8 --real --case 1 --frames 1 --flights 3 --steps 10
    echo "- racecheck, small cases"
    sanitize racecheck --seed 8 --small --cases 8 --frames 2 --flights 1 --steps 6
    echo "- initcheck, small cases"
    paths=native sanitize initcheck --seed 8 --small --cases 8 --frames 2 --flights 1 --steps 6
}
part_ports() {
    ports='init api info imu points partners prior fields invariance idle missing maps alloc fault late memory hang failover airborne return'
    "$make" -j16 BUILD="$build/ports" "$build/ports/digest" $(for test in $ports; do echo "$build/ports/config/small/$test"; done) >/dev/null
    "$build/ports/digest" tests/golden.txt
    for test in $ports; do
        echo "-- $test"
        "$build/ports/config/small/$test" 2>&1 | grep -E '^ERROR|^\[  (PASSED|FAILED)|^\[  ERROR|^\[   LINE|^\[==|SKIPPED|vfront_return\(\) is' || echo "FAIL: $test"
    done
}
part_times() {
    make_vfcheck bench
    make_vfcheck bench-map CFG=tests/config/map.h
    settle
    "$build/bench/vfcheck" --cases 9 $pictures --bench
    echo "- with the map"
    "$build/bench-map/vfcheck" --cases 1 --flights 2 --steps 20 --inertial --path
}
part_pace() {
    make_vfcheck bench-map CFG=tests/config/map.h
    settle
    "$build/bench-map/vfcheck" --cases 1 --flights 2 --steps 20 $pictures --pace 600
}
part_latency() {
    make_vfcheck bench
    make_vfcheck bench-map CFG=tests/config/map.h
    settle
    "$build/bench/vfcheck" --cases 9 $pictures --latency "$steps"
    echo "- beside a neighbour, with the map"
    "$build/bench-map/vfcheck" --cases 1 --flights 2 --steps 20 $pictures --neighbour
}
part_dense() {
    make_vfcheck tall CFG=tests/config/tall.h
    settle
    "$build/tall/vfcheck" --cases 1 $pictures --dense
}
part_motion() {
    make_vfcheck proof CFG=tests/config/check.h
    make_vfcheck proof-cublas CFG=tests/config/check.h CUBLAS=1
    settle
    echo "- solved by vfront"
    "$build/proof/vfcheck" --cases 9 $pictures --motion
    echo "- solved by cuBLAS"
    "$build/proof-cublas/vfcheck" --cases "$((cases / 2))" $pictures --motion
}

mkdir -p "$build"
[ -f $proof ] || : >$proof
for part in $parts; do
    case " $all " in *" $part "*) ;; *) echo "gpu-proof: no part $part; there are: $all" >&2; exit 2 ;; esac
    out=$build/proof-$part.txt
    begin=$(date +%s)
    echo "gpu-proof: $part"
    {
        echo
        echo "== $part, $(date -u +%Y-%m-%d), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), sources $sources"
        part_$part || echo "FAIL: part $part"
    } >"$out" 2>&1 || true
    echo "== end of $part, $(($(date +%s) - begin)) s" >>"$out"
    awk -v part="$part" '$1 == "==" && $2 == part "," {skip = 1} !skip {line[++n] = $0} /^== end of/ && $4 == part "," {skip = 0}
        END {while (n && line[n] == "") n--; for (i = 1; i <= n; i++) print line[i]}' $proof >"$build/proof-kept.txt"
    cat "$build/proof-kept.txt" "$out" >$proof
    grep -E 'FAIL|ERROR SUMMARY: [1-9]|hazards displayed \([1-9]|[1-9][0-9]* failures$' "$out" && { echo "gpu-proof: $part FAILED, see $proof"; exit 1; }
    tail -n 1 "$out"
done
missing=$(for part in $all; do grep -q "^== $part,.* sources $sources\$" $proof || printf '%s ' "$part"; done)
echo "gpu-proof: sources $sources; parts not run on them: ${missing:-none}"
