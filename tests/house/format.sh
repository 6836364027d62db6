#!/bin/sh
# SPDX-License-Identifier: MIT
# The sources are as clang-format 14 lays them out by .clang-format: `tests/house/format.sh --fix` does that. Left out are the two public
# headers, whose tables are laid out by hand, and tables that a program wrote. Exit 77: no clang-format of that version, because others
# lay out some lines differently.
set -u
cd "$(dirname "$0")/../.." || exit 1
for tool in clang-format-14 clang-format ''; do
    [ -n "$tool" ] && $tool --version 2>/dev/null | grep -q ' version 14\.' && break
done
[ -n "$tool" ] || { echo "format: skipped, no clang-format of version 14"; exit 77; }
files=$(find src kernels port examples tests -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | grep -v -e describe_pattern -e tests/fake/cuda_runtime_api.h)
case ${1:-} in
--fix) $tool -i $files ;; # long lines are told below
'') ;;
*) echo "tests/house/format.sh [--fix]" >&2; exit 2 ;;
esac
bad=$($tool --dry-run $files 2>&1 | sed -n 's/^\([^:]*\):\([0-9]*\):.*warning.*/\1:\2/p')
long=$(awk 'length > 120 {print FILENAME ":" FNR}' $files)
[ -z "$bad$long" ] || { printf 'format: not as .clang-format says, or longer than 120 columns:\n%s\n' "$bad $long"; exit 1; }
echo "format: $(echo "$files" | wc -l) files"
