#!/bin/sh
# SPDX-License-Identifier: MIT
# Code and constants of examples/minimal.c linked with the smallest tracker, tests/config/mono.h, built for size: at most 150,000 bytes. And the library
# of that config holds no code but what this program links, what public functions do, and forms of stages that do nothing.
#   tests/house/mono.sh CC DIR MAKE [NM SIZE]
set -eu
cc=$1 dir=$2 make=$3 nm=${4:-nm} size=${5:-size} most=150000 stub=128
mkdir -p "$dir"
"$make" -s CC="$cc" CUDA=0 CUBLAS= SAN= SANITIZE= PREFIX_SYMBOLS= CFG=tests/config/mono.h CFLAGS=-Os BUILD="$dir" "$dir/libvfront.a" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
$cc -std=c11 -Os -ffunction-sections -I. -DVFRONT_USER_CFG='"tests/config/mono.h"' examples/minimal.c "$dir/libvfront.a" -o "$dir/minimal" -Wl,--gc-sections
code() { "$size" -A "$1" | awk '$1 ~ /^[.](text|rodata|data[.]rel[.]ro)/ {n += $2} END {print n + 0}'; }
$cc -std=c11 -Os -I. -DVFRONT_USER_CFG='"tests/config/mono.h"' examples/minimal.c "$dir/libvfront.a" -o "$dir/whole" # whole files of the library
"$nm" --defined-only "$dir/whole" | awk '{print $NF}' | sort -u >"$dir/linked"
for source in src/*/*.c port/host/*.c; do
    object=$dir/${source%.c}.o
    [ "$(code "$object")" -gt $stub ] || continue
    "$nm" -g --defined-only "$object" | awk '{print $NF}' >"$dir/has"
    grep -q '^vfront_' "$dir/has" || grep -qxFf "$dir/has" "$dir/linked" || { echo "mono: nothing asks for the $(code "$object") bytes of $source"; exit 1; }
done
bytes=$(code "$dir/minimal")
printf '%-34s %12s  code and constants, built for size: tests/config/mono.h\n' 'smallest tracker, linked' "$bytes"
[ "$bytes" -le $most ] || { echo "mono: more than $most bytes"; exit 1; }
