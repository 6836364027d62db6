#!/bin/sh
# SPDX-License-Identifier: MIT
# Configs that leave nothing to work with, or are out of range, must not compile, and the message must name what is wrong. Nor may a source compile
# for arithmetic that gives other bits.
#   tests/house/config.sh CC
set -eu
cc=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT
refused() { # text that the message holds, then the -D options
    text=$1
    shift
    if echo '#include "vfront_cfg.h"' | $cc -std=c11 -fsyntax-only -I. "$@" -xc - >"$out" 2>&1; then
        echo "config: compiles, and should not: $*"
        exit 1
    fi
    grep -q "$text" "$out" || { echo "config: $* is refused without '$text':"; cat "$out"; exit 1; }
}
accepted() { echo '#include "vfront.h"' | $cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I. "$@" -xc - || { echo "config: should compile: $*"; exit 1; }; }

echo 'int x;' >"$out.c"
if $cc -mfpmath=387 -fsyntax-only "$out.c" 2>/dev/null; then other=-mfpmath=387; else other='-U__FLT_EVAL_METHOD__ -D__FLT_EVAL_METHOD__=2'; fi
rm "$out.c"
for source in src/*/*.c port/host/*.c; do
    ! $cc -std=c11 -fsyntax-only -I. -Isrc -isystem tests/fake -DVFRONT_CUDA $other "$source" >"$out" 2>&1 || { echo "config: $source compiles with $other"; exit 1; }
    grep -q 'FLT_EVAL_METHOD must be 0' "$out" || { echo "config: $source is refused without its reason:"; cat "$out"; exit 1; }
done

refused 'VFRONT_SCALES must lie in 1..8' -DVFRONT_SCALES=0
refused 'VFRONT_SCALES must lie in 1..8' -DVFRONT_SCALES=9
refused 'must be more than 1 and at most 2' -DVFRONT_SCALE_NUM=1 -DVFRONT_SCALE_DEN=1
refused 'must be more than 1 and at most 2' -DVFRONT_SCALE_NUM=5 -DVFRONT_SCALE_DEN=6
refused 'must be more than 1 and at most 2' -DVFRONT_SCALE_NUM=5 -DVFRONT_SCALE_DEN=2
refused 'must be more than 1 and at most 2' -DVFRONT_SCALE_NUM=6 -DVFRONT_SCALE_DEN=0
refused 'with a numerator of at most 64' -DVFRONT_SCALE_NUM=66 -DVFRONT_SCALE_DEN=55
refused 'less than 1/16 of the picture' -DVFRONT_SCALES=6 -DVFRONT_SCALE_NUM=2 -DVFRONT_SCALE_DEN=1
refused 'less than 1/16 of the picture' -DVFRONT_SCALE_NUM=3 -DVFRONT_SCALE_DEN=2
refused 'smaller than 16 px' -DVFRONT_WIDTH=64 -DVFRONT_HEIGHT=64 -DVFRONT_SCALES=5 -DVFRONT_SCALE_NUM=2 -DVFRONT_SCALE_DEN=1
refused 'VFRONT_KEYPOINTS must lie in' -DVFRONT_KEYPOINTS=0
refused 'VFRONT_KEYPOINTS must lie in' -DVFRONT_KEYPOINTS=32769
refused 'VFRONT_DESCRIPTORS must be 0 or 1' -DVFRONT_DESCRIPTORS=2
refused 'VFRONT_RECTIFY must be 0 or 1' -DVFRONT_RECTIFY=2
refused 'VFRONT_RECTIFY needs two cameras' -DVFRONT_CAMERAS=1 -DVFRONT_RECTIFY=1
refused 'VFRONT_STEREO must be 0 or 1' -DVFRONT_STEREO=2
refused 'VFRONT_STEREO needs two cameras and VFRONT_DESCRIPTORS' -DVFRONT_CAMERAS=1 -DVFRONT_STEREO=1
refused 'VFRONT_STEREO needs two cameras and VFRONT_DESCRIPTORS' -DVFRONT_DESCRIPTORS=0 -DVFRONT_STEREO=1
refused 'VFRONT_MATCHES must be 0 or 1' -DVFRONT_MATCHES=2
refused 'VFRONT_MATCHES needs VFRONT_DESCRIPTORS' -DVFRONT_DESCRIPTORS=0 -DVFRONT_MATCHES=1
refused 'VFRONT_DENSE must be 0 or 1' -DVFRONT_DENSE=2
refused 'VFRONT_DENSE needs two cameras' -DVFRONT_CAMERAS=1 -DVFRONT_DENSE=1
refused 'VFRONT_DISPARITIES must be 64, 128 or 256' -DVFRONT_DISPARITIES=96
refused 'VFRONT_STIXELS must be 0 or 1' -DVFRONT_STIXELS=2
refused 'VFRONT_STIXELS needs VFRONT_DENSE' -DVFRONT_STIXELS=1
refused 'VFRONT_STIXELS needs VFRONT_DENSE, and VFRONT_HEIGHT of at most 2160' -DVFRONT_DENSE=1 -DVFRONT_STIXELS=1 -DVFRONT_HEIGHT=2161
refused 'VFRONT_COLUMNS must lie in 1..VFRONT_WIDTH' -DVFRONT_COLUMNS=0
refused 'VFRONT_COLUMNS must lie in 1..VFRONT_WIDTH' -DVFRONT_COLUMNS=1921
refused 'VFRONT_SEGMENTS must lie in 4..256' -DVFRONT_SEGMENTS=3
refused 'VFRONT_SEGMENTS must lie in 4..256' -DVFRONT_SEGMENTS=257
refused 'VFRONT_CELLS must lie in' -DVFRONT_CELLS=16385
refused 'VFRONT_CULL_CELLS must lie in' -DVFRONT_CULL_CELLS=0
refused 'VFRONT_CULL_CELLS must lie in' -DVFRONT_CULL_CELLS=262145
refused 'VFRONT_WIDTH must be a multiple of 64' -DVFRONT_WIDTH=100
refused 'VFRONT_IMU_SAMPLES must lie in' -DVFRONT_IMU_SAMPLES=1
refused 'VFRONT_IMU_SAMPLES must lie in' -DVFRONT_IMU_SAMPLES=4097
refused 'VFRONT_LEVELS must lie in' -DVFRONT_LEVELS=7
refused 'VFRONT_CUBLAS must be 0 or 1' -DVFRONT_CUBLAS=2
refused 'VFRONT_CUBLAS needs VFRONT_EGO' -DVFRONT_CUBLAS=1 -DVFRONT_EGO=0
accepted -DVFRONT_CUBLAS=1
accepted -DVFRONT_SCALES=8 -DVFRONT_SCALE_NUM=52 -DVFRONT_SCALE_DEN=35
accepted -DVFRONT_SCALES=5 -DVFRONT_SCALE_NUM=2 -DVFRONT_SCALE_DEN=1
accepted -DVFRONT_SCALES=1
accepted -DVFRONT_CAMERAS=1
accepted -DVFRONT_DENSE=1
accepted -DVFRONT_DENSE=1 -DVFRONT_WIDTH=4096 -DVFRONT_HEIGHT=4096 -DVFRONT_DISPARITIES=256
accepted -DVFRONT_DENSE=1 -DVFRONT_STIXELS=1
accepted -DVFRONT_DENSE=1 -DVFRONT_STIXELS=1 -DVFRONT_WIDTH=4096 -DVFRONT_HEIGHT=2160 -DVFRONT_COLUMNS=4096 -DVFRONT_SEGMENTS=256 -DVFRONT_DISPARITIES=256
accepted -DVFRONT_DESCRIPTORS=0
accepted -DVFRONT_STEREO=0 -DVFRONT_MATCHES=0 -DVFRONT_RECTIFY=0
