#!/bin/sh
# SPDX-License-Identifier: MIT
# The deepest stack of every function of the host side, from the compiler; fails on one that is not static or over the limit.
#   tests/stack.sh CC 'flags' LIMIT_BYTES
set -eu
cc=$1 flags=$2 limit=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for f in src/*.c port/host/*.c; do
    $cc $flags -fstack-usage -c "$f" -o "$dir/$(basename "$f").o"
done
cat "$dir"/*.su | awk -F'\t' '{n=split($1,a,":"); print $2, $3, a[n]}' | sort -rn >"$dir/all"
echo "deepest frames, bytes:"
head -8 "$dir/all" | sed 's/^/  /'
if grep -qvE ' static ' "$dir/all"; then
    echo "frames that are not static:"
    grep -vE ' static ' "$dir/all"
    exit 1
fi
sum=$(head -8 "$dir/all" | awk '{s += $1} END {print s}')
echo "a step needs less than the eight deepest together: $sum bytes, limit $limit"
[ "$sum" -le "$limit" ]
