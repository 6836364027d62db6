#!/bin/sh
# SPDX-License-Identifier: MIT
# The reference that `make docs` writes: every call and every member of a state is in it with its comment, and a comment that is wrong fails.
#   tests/package/reference.sh BUILD MAKE    exit 77: no doxygen
set -u
build=$1 make=$2
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
unset MAKEFLAGS
"$make" -s BUILD="$build" CUDA=0 docs >"$dir/said" 2>&1 || { echo "reference: make docs fails:"; head -5 "$dir/said"; exit 1; }
pages=$build/docs/html
calls=$(sed -n 's/^\(static inline \)\{0,1\}[a-z_0-9 ]*[ *]\(vfront_[a-z_]*\)(.*/\2/p' vfront.h | sort -u)
[ "$(echo "$calls" | wc -l)" -gt 20 ] || { echo "reference: no calls in vfront.h"; bad=1; }
for call in $calls; do
    grep -q "$call *</a>\|>$call *()" "$pages/vfront_8h.html" || { echo "reference: no $call()"; bad=1; }
done
for text in 'Position of the IMU \[m\]' 'Attitude\|Unit quaternion w x y z' 'Landmarks observed in this frame'; do
    grep -q "$text" "$pages/structvfront__nav.html" || { echo "reference: vfront_nav_t lacks \"$text\""; bad=1; }
done
grep -q 'Frame in progress: call' "$pages/vfront_8h.html" || { echo "reference: a status lacks its comment"; bad=1; }
sed 's/^ \* Submits a frame/ * @param nosuch of it\n&/' vfront.h >"$dir/vfront.h"
cp vfront_cfg.h examples/Doxyfile "$dir"
(cd "$dir" && doxygen Doxyfile >said 2>&1) && { echo "reference: a comment of a parameter that is not there is no error"; bad=1; }
[ $bad -ne 0 ] || echo "reference: $(echo "$calls" | wc -l) calls"
exit $bad
