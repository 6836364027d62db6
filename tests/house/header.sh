#!/bin/sh
# SPDX-License-Identifier: MIT
# vfront.h compiles alone and twice, as C99, C11, C++11 and C++17, without old-style casts: tests/house/header.sh CC
set -eu
cc=$1
twice='#include "vfront.h"
#include "vfront.h"
static vfront_t vf;
static vfront_rig_t rig;
static vfront_tuning_t tuning;
uint64_t bytes = VFRONT_BLOCK_BYTES;
int main(void) { return vfront_init(&vf, &rig, &tuning, VFRONT_PORT_AUTO) == VFRONT_OK; }'
for language in c:c99 c:c11 c++:c++11 c++:c++17; do
    case $language in c++:*) casts="-Wold-style-cast -Wzero-as-null-pointer-constant" ;; *) casts=-Wstrict-prototypes ;; esac
    printf '%s\n' "$twice" | $cc -x "${language%%:*}" -std="${language#*:}" -pedantic -Wall -Wextra -Wconversion -Wsign-conversion $casts -Werror -I. -fsyntax-only -
done
