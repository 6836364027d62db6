#!/bin/sh
# SPDX-License-Identifier: MIT
# Tries vfront on the machine it is run on, a Jetson as a rule, and writes all that is found into one text file to send back.
set -u
usage() {
    cat <<'TEXT'
examples/hil/on-board.sh [--out FILE] [--steps N] [--frames N] [--limit SECONDS] [--programs DIR] [--help]

Builds vfront with the toolkit of this machine, proves the kernels (vfcheck), compares digests, replays the rendered flight, times N steps, plays
bench and board over loopback, and writes down machine, release, power mode and clocks before and after. No root is needed; the file names what cannot be done.
  --out FILE       report, standard vfront-report.txt
  --steps N        steps of the latency histogram, standard 100000
  --frames N       frames of the bench in lock step, and at the pace of stamps, standard 300
  --limit SECONDS  longest time of each part, standard 600; the build may take three times as long
  --programs DIR   programs built elsewhere (vfcheck, digest, replay, latency, hil-bench, hil-board), in place of building here
A bench with a PC beside the board, frame by frame and bit by bit: build/hil-board here, hil-bench there (examples/hil/README.md).
Exit: 0 all parts done, 1 a part failed, 2 usage, 3 a part could not be done here.
TEXT
}
out=vfront-report.txt steps=100000 frames=300 limit=600 programs=
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --out | --steps | --frames | --limit | --programs) [ $# -ge 2 ] || { usage >&2; exit 2; } ;;
    *) usage >&2; exit 2 ;;
    esac
    case $1 in --out) out=$2 ;; --steps) steps=$2 ;; --frames) frames=$2 ;; --limit) limit=$2 ;; --programs) programs=$2 ;; esac
    shift 2
done
for number in "$steps" "$frames" "$limit"; do
    case $number in '' | 0* | *[!0-9]* | ????????*) echo "on-board: '$number' is not a number of 1 to 9999999" >&2; exit 2 ;; esac
done
[ -z "$programs" ] || programs=$(cd "$programs" && pwd) || exit 2
: >"$out" || exit 2
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
cd "$(dirname "$0")/../.." || exit 2
failed=0 undone=0

say() { echo "$*" | tee -a "$out"; }
lacking() { say "NOT DONE: $*"; undone=1; }
# Runs a command for at most $1 seconds, into the report. Its end is there: 0, 77 (not here), 124 (out of time), or a failure.
part() {
    seconds=$1 title=$2
    shift 2
    say "== $title"
    begin=$(date +%s)
    timeout -k 5 "$seconds" "$@" >"$out.part" 2>&1
    code=$?
    tail -n 400 "$out.part" >>"$out"
    rm -f "$out.part"
    case $code in
    0) say "-- done in $(($(date +%s) - begin)) s" ;;
    77) lacking "$title: see the line above" ;;
    124 | 137) lacking "$title: stopped after $seconds s" ;;
    *) say "-- FAILED with exit code $code"; failed=1 ;;
    esac
}
show() { # a command that may be missing or need root: its output, or why there is none
    command -v "$1" >/dev/null || { lacking "$1 is not on this machine"; return; }
    echo "\$ $*" >>"$out"
    timeout -k 5 20 "$@" >>"$out" 2>&1 </dev/null || lacking "$*: exit code $?"
}
files() { for f in "$@"; do [ ! -r "$f" ] || echo "$f: $(tr '\0' ' ' <"$f" 2>/dev/null | head -n 3)" >>"$out"; done; }
clocks() {
    say "== power mode, clocks, temperatures $1"
    show nvpmodel -q
    show jetson_clocks --show
    files /sys/class/devfreq/*/cur_freq /sys/class/devfreq/*/max_freq /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor \
        /sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq /sys/class/thermal/thermal_zone*/temp
}

say "vfront $(sed -n 's/^.define VFRONT_VERSION "\(.*\)"$/\1/p' vfront.h), sources $(tests/house/sources.sh), $(date -u +%Y-%m-%dT%H:%MZ)"
say "== machine"
show uname -srmv
files /proc/device-tree/model /etc/nv_tegra_release
sed -n 's/^PRETTY_NAME=//p' /etc/os-release >>"$out" 2>/dev/null
[ -r /etc/nv_tegra_release ] || lacking "no /etc/nv_tegra_release: not a Jetson with L4T"
for package in nvidia-jetpack nvidia-l4t-core; do
    version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)
    if [ -n "$version" ]; then say "$package $version"; else lacking "package $package is not installed: no release of it"; fi
done
grep -E '^(MemTotal|MemAvailable)' /proc/meminfo >>"$out"
show nproc
show gcc --version
make -s show >>"$out" 2>&1
cuda=$(make -s show 2>/dev/null | sed -n 's/.* CUDA=\([01]\).*/\1/p')
nvcc=$(make -s show 2>/dev/null | sed -n 's/.* NVCC=\([^ ]*\) .*/\1/p')
if [ -n "$nvcc" ]; then show "$nvcc" --version; else lacking "no nvcc: host port only. JetPack has it in /usr/local/cuda/bin"; fi
clocks before

tried() { # program: 1 and a line where it is not there
    [ -x "$programs/$1" ] && return 0
    lacking "$1: no program in $programs"
    return 1
}
if [ -z "$programs" ]; then
    programs=$PWD/build
    wanted="build/replay build/latency build/digest build/hil-bench build/hil-board"
    [ "$cuda" != 1 ] || wanted="$wanted build/vfcheck"
    part $((3 * limit)) "build" make -j "$(nproc)" lib build/minimal $wanted
    if tried minimal; then part 60 "example" build/minimal; fi
fi
if tried vfcheck; then part "$limit" "kernels and host forms, byte by byte" "$programs/vfcheck" --small --cases 60 --frames 3; fi
if tried digest; then part "$limit" "golden digests" "$programs/digest" tests/golden.txt; fi
if tried replay; then part "$limit" "rendered flight" "$programs/replay" --quiet --frames 60; fi
if tried latency; then
    part $((limit + 60)) "latency of up to $steps steps in $limit s" "$programs/latency" --steps "$steps" --seconds "$limit"
fi
# The bench and its board, both here: the bench's own digests are those of the host port, the board's of the GPU where there is one.
bench() { # title, then options of hil-bench
    title=$1
    shift
    part $((limit + 60)) "$title" sh -c 'programs=$1; shift
        "$programs/hil-board" --listen 127.0.0.1:14698 & board=$!
        trap "kill $board 2>/dev/null; wait $board" EXIT # with its CUDA context gone, its port is free for the next one
        trap "exit 1" TERM
        sleep 1
        "$programs/hil-bench" --board 127.0.0.1:14698 --port host "$@"' bench "$programs" "$@"
}
if tried hil-board && tried hil-bench; then
    bench "bench: lock step, every digest beside the host port's" --frames "$frames" --datagrams
    bench "bench: at the pace of the stamps, latency" --frames "$frames" --paced
    bench "bench: CUDA calls that fail" --faults --only "GPU fails" synthetic:192x144
fi
clocks after
say "== end: $([ $failed = 0 ] && echo 'nothing failed' || echo 'a part FAILED')$([ $undone = 0 ] || echo '; lines with NOT DONE name what this machine could not do')"
echo "report: $out"
[ $failed = 0 ] || exit 1
[ $undone = 0 ] || exit 3
