#!/bin/sh
# SPDX-License-Identifier: MIT
# vfront.h compiles alone and twice, as C99, C11 and C++11: tests/house/header.sh CC
set -eu
cc=$1
twice='#include "vfront.h"
#include "vfront.h"
int main(void) { return vfront_init(0, 0, 0, VFRONT_PORT_AUTO) == VFRONT_OK; }'
for language in c:c99 c:c11 c++:c++11 c++:c++17; do
    printf '%s\n' "$twice" | $cc -x "${language%%:*}" -std="${language#*:}" -pedantic -Wall -Wextra -Werror -I. -fsyntax-only -
done
