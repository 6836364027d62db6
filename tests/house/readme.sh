#!/bin/sh
# SPDX-License-Identifier: MIT
# The C program of README.md is examples/minimal.c, to the byte; the files that README names exist; its line for a board installs every library that
# examples/hil/on-board.sh builds with; `make` builds the programs that pages name; and the version that a CMake project is told to ask for is this one.
#   tests/house/readme.sh CC
set -eu
cc=$1
bad=0
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' | cmp - examples/minimal.c
for f in $(grep -oE '`(src|port|tests|examples|kernels)/[a-z_./-]*`' README.md | tr -d '`' | sort -u); do
    [ -e "$f" ] || { echo "README.md names $f, which is not there"; exit 1; }
done
included=$(for f in examples/*.c examples/hil/*.c tests/core/digest.c tests/vfcheck/*.c; do
    $cc -std=c11 -I. -Isrc -isystem tests/fake -DVFRONT_CUDA -DHAVE_PNG -DHAVE_YAML -M "$f"
done)
line=$(grep 'apt-get.*on-board\.sh' README.md)
for library in png yaml cmocka; do
    case $included in */$library.h*) ;; *) continue ;; esac
    case $line in *" lib$library-dev "*) ;; *) echo "README.md: on-board.sh builds with $library.h, and the line for a board lacks lib$library-dev"; bad=1 ;; esac
done
made=$(unset MAKEFLAGS; make -n CUDA=0 BUILD=build/none V=1 all 2>/dev/null) # what README and examples/README.md say of `make`
for program in minimal mono stereo vio replay companion demo/replay; do
    case $made in *" -o build/none/$program "*) ;; *) echo "make does not build $program"; bad=1 ;; esac
done
version=$(awk '$2 ~ /^VFRONT_VERSION_(MAJOR|MINOR)$/ {printf "%s%s", dot, $3; dot = "."}' vfront.h)
for asked in $(grep -ho 'find_package(vfront [0-9.]*' README.md examples/*.md src/*.md | cut -d ' ' -f 2); do
    [ "$asked" = "$version" ] || { echo "find_package(vfront $asked) is in a page, and the version is $version"; bad=1; }
    found=1
done
[ -n "${found:-}" ] || { echo "no page says find_package(vfront)"; bad=1; }
exit $bad
