#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves that a change renames identifiers, files and comments only: the machine code of two revisions is compared, names through a table.
#   tests/house/same_code.sh BEFORE [AFTER] [--renames FILE] [--ptx] [--any-object] [--cfg FILE]... [--only GLOB] [--jobs N]
#   tests/house/same_code.sh --self-test
# AFTER: a revision; without it the work tree. CC: the compiler. Options, the table and what is compared: tests/house/same_code.py
set -eu
exec python3 "$(dirname "$0")/same_code.py" "$@"
