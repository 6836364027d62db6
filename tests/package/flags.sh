#!/bin/sh
# SPDX-License-Identifier: MIT
# The host port built with link-time optimisation, and for size: the golden digests of every other build. And the parts of an application that are
# linked with it that way run.
#   tests/package/flags.sh CC DIR MAKE
set -eu
cc=$1 dir=$2 make=$3
for flags in "-O3 -flto" "-Os"; do
    build=$dir/$(echo "$flags" | tr -d ' -')
    "$make" -s CC="$cc" CUDA=0 CFLAGS="$flags" BUILD="$build" lib "$build/digest"
    "$build/digest" tests/golden.txt >"$build/said" 2>&1 || { cat "$build/said"; echo "flags: $flags: other digests"; exit 1; }
    $cc $flags -I. examples/minimal.c "$build/libvfront.a" -o "$build/minimal"
    "$build/minimal" | grep -c tracks | grep -qx 10
    if [ "$flags" = -Os ]; then # what -flto asks for shows in no archive; that minimal links without -lm does
        tests/house/symbols.sh "$build/libvfront.a"
        continue
    fi
    ! "$make" -s CC="$cc" CUDA=0 CFLAGS="$flags" BUILD="$build" PREFIX_SYMBOLS=x_ lib >"$build/said" 2>&1 || { echo "flags: PREFIX_SYMBOLS does nothing with -flto"; exit 1; }
done
echo "flags: -O3 -flto and -Os have the golden digests"
