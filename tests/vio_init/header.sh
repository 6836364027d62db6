#!/bin/sh
# SPDX-License-Identifier: MIT
# Arithmetic of src/imu, src/vio_init and src/nav as a kernel compiles it: no warnings and the same bits as C11 and as CUDA's C++14.
# Without nvcc the CUDA keywords are defined away; with nvcc it is compiled, too.
#   tests/vio_init/header.sh CC CXX [NVCC]
set -eu
cc=$1 cxx=$2 nvcc=${3:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
exact="-ffp-contract=off -fno-math-errno -fno-trapping-math -Wall -Wextra -Werror -I. -Isrc"
$cc -std=c11 -O2 $exact tests/vio_init/header.c -o "$dir/c" -lm
$cxx -std=c++14 -O2 $exact -D__CUDACC__ -D__host__= -D__device__= -D__forceinline__=inline -xc++ tests/vio_init/header.c -o "$dir/cpp" -lm
c=$("$dir/c") cpp=$("$dir/cpp")
[ "$c" = "$cpp" ] || { echo "header: $c as C11, $cpp as C++14"; exit 1; }
if [ "$nvcc" ]; then
    "$nvcc" -std=c++14 -O3 -fmad=false -Werror all-warnings -I. -Isrc -x cu -cubin -arch=sm_75 -Wno-deprecated-gpu-targets tests/vio_init/header.c -o "$dir/cubin"
    echo "header: $c as C11 and C++14; nvcc compiles it"
else
    echo "header: $c as C11 and C++14; no nvcc"
fi
