#!/bin/sh
# SPDX-License-Identifier: MIT
# VFRONT_ABI rises when a declaration of vfront.h changes: tests/house/abi.txt holds, for the number, a digest of all declarations and of the list
# of tuning values, without comments, default values and the content of vfront_t. And the lists by which vfront_init() compares application and library have every value
# of the config, and every struct.
#   tests/house/abi.sh CC [--write]    --write: after VFRONT_ABI was raised
set -eu
cc=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
touch "$dir/stddef.h" "$dir/stdint.h"
$cc -E -P -nostdinc -I"$dir" -I. -xc vfront.h | sed '/^struct vfront {/,$d' | tr -d ' \t\n' >"$dir/text"
sed -n '/^#define VFRONT_TUNING(X)/,/[^\\]$/s/^ *X(\([a-z_0-9]*\),.*/\1/p' vfront.h >>"$dir/text"
abi=$(sed -n 's/^#define VFRONT_ABI \([0-9]*\)$/\1/p' vfront.h)
now="$abi $(sha256sum <"$dir/text" | cut -c1-16)"
known=$(cat tests/house/abi.txt 2>/dev/null || echo none)
if [ "${2:-}" = --write ]; then
    [ "${known%% *}" != "$abi" ] || [ "$known" = "$now" ] || { echo "abi: declarations changed since VFRONT_ABI $abi: raise it first"; exit 1; }
    echo "$now" >tests/house/abi.txt
    known=$now
fi
[ "$known" = "$now" ] || { echo "abi: declarations in vfront.h are not those of VFRONT_ABI $known. Raise it, then tests/house/abi.sh $cc --write"; exit 1; }
bad=0
lacks() { echo "abi: $1 has no X($2)"; bad=1; }
config=$(sed -n '/^#define VFRONT_CONFIG(X)/,/[^\\]$/p' vfront_cfg.h)
types=$(sed -n '/^#define VFRONT_TYPES(X)/,/[^\\]$/p' vfront.h)
for name in $(sed -n 's/^#ifndef \(VFRONT_[A-Z_]*\)$/\1/p' vfront_cfg.h | grep -v VFRONT_CFG_H); do
    echo "$config" | grep -q "X($name)" || lacks VFRONT_CONFIG "$name"
done
for name in $(sed -n 's/^\(typedef \)\{0,1\}struct \(vfront[a-z_]*\) {$/\2/p' vfront.h | grep -v vfront_value); do
    echo "$types" | grep -q "X(${name}_t)" || lacks VFRONT_TYPES "${name}_t"
done
[ $bad -ne 0 ] || echo "abi: $now"
exit $bad
