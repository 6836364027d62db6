#!/bin/sh
# SPDX-License-Identifier: MIT
# The C program of README.md is examples/minimal.c, to the byte; and the files that README names exist.
set -eu
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' | cmp - examples/minimal.c
for f in $(grep -oE '`(src|port|tests|examples|kernels)/[a-z_./-]*`' README.md | tr -d '`' | sort -u); do
    [ -e "$f" ] || { echo "README.md names $f, which is not there"; exit 1; }
done
