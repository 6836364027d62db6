#!/bin/sh
# SPDX-License-Identifier: MIT
# A Jetson's build, made here: the library for aarch64 with kernels for Nano, TX2, Xavier and Orin, linked with plain gcc; and the host port
# of that very program under qemu, which must give the digests of tests/golden.txt. Exit 77: something for it is not installed.
#   tests/cross/cross.sh DIR
set -eu
dir=$1
triple=aarch64-linux-gnu
arch="53 62 72 87"
skip() { echo "cross: skipped, $1"; exit 77; }
command -v $triple-gcc >/dev/null || skip "no $triple-gcc"
command -v qemu-aarch64-static >/dev/null || skip "no qemu-aarch64-static"
emulate="qemu-aarch64-static -L /usr/$triple"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

cuda=0
if ! command -v $triple-g++-11 >/dev/null; then
    why="no $triple-g++-11, which nvcc 11.8 needs"
elif why=$(tests/cross/cuda118.sh "$dir/cuda-11.8" | tail -n 1) && [ -x "$dir/cuda-11.8/bin/nvcc" ]; then
    cuda=1
fi
settings="CROSS=$triple- BUILD=$dir/$triple WERROR=1 CUDA=$cuda"
[ $cuda = 0 ] || settings="$settings CUDA_HOME=$dir/cuda-11.8 NVCC=$dir/cuda-11.8/bin/nvcc"
# the standard config for the newest of them, to be linked and run; the one with all stages for each
make --no-print-directory -s $settings CUDA_ARCH=87 lib "$dir/$triple/digest"
[ $cuda = 0 ] ||
    make --no-print-directory -s $settings CUDA_ARCH="$arch" CFG=tests/config/check.h BUILD="$dir/dense" lib
lib=$dir/$triple/libvfront.a

# as a user would link it
libraries="-lpthread -ldl -lrt"
[ $cuda = 0 ] || libraries="-L$dir/cuda-11.8/targets/aarch64-linux/lib -lcudart_static $libraries"
$triple-gcc -I. examples/minimal.c "$lib" $libraries -o "$dir/minimal-$triple"
gcc -I. -c examples/minimal.c -o "$dir/minimal.o"
make --no-print-directory -s CUDA=0 BUILD="$dir/native" lib "$dir/native/digest"
gcc "$dir/minimal.o" "$dir/native/libvfront.a" -o "$dir/minimal-native"
$emulate "$dir/minimal-$triple" | sed 's/, [0-9]* us$//' >"$dir/minimal-$triple.txt"
"$dir/minimal-native" | sed 's/, [0-9]* us$//' >"$dir/minimal-native.txt"
cmp "$dir/minimal-$triple.txt" "$dir/minimal-native.txt"
[ "$(grep -c tracks "$dir/minimal-native.txt")" -eq 10 ]

tests/house/symbols.sh "$lib" $triple-nm
"$dir/native/digest" tests/golden.txt
$emulate "$dir/$triple/digest" tests/golden.txt
make --no-print-directory -s CROSS=$triple- CUDA=0 WERROR=1 CFG=tests/config/map.h BUILD="$dir/map" "$dir/map/digest"
$emulate "$dir/map/digest" tests/map/golden.txt

# 20 frames in lock step: the bench here, the board under qemu
make --no-print-directory -s $settings CUDA_ARCH=87 "$dir/$triple/hil-board"
make --no-print-directory -s CUDA=0 BUILD="$dir/native" "$dir/native/hil-bench"
EXEC="$emulate" /usr/bin/python3 tests/hil/hil.py "$dir/native/hil-bench" "$dir/$triple/hil-board"
[ $cuda = 1 ] || skip "but for the host port: $why"

for a in $arch; do # no kernel without code for each of them
    code=$("$dir/cuda-11.8/bin/cuobjdump" -lelf "$dir/dense/libvfront.a" | grep -c "sm_$a" || true)
    kernels=$(ls kernels/*/*.cu | wc -l)
    [ "$code" -eq "$kernels" ] || { echo "cross: code for sm_$a in $code of $kernels kernel files"; exit 1; }
done
tests/house/limits.py "$lib" "$dir/dense/libvfront.a" --cuobjdump "$dir/cuda-11.8/bin/cuobjdump"
echo "cross: aarch64 with code for sm_$(echo $arch | sed 's/ /, sm_/g'); digests under qemu as here"
