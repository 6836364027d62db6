#!/bin/sh
# SPDX-License-Identifier: MIT
# The order of the files: no circle among #include lines of src, port and kernels; the memory map is included by core/ and the ports alone; kernels
# include nothing of port/; no "../" in an #include; lines that only a view may cross do not appear in a stage.
#   tests/house/includes.sh [ROOT]    ROOT: the project's root, or a copy of it
set -eu
cd "${1:-.}"
bad=0
complain() { [ -z "$2" ] || { echo "includes: $1:"; echo "$2" | sed 's/^/    /'; bad=1; }; }
lines=$(grep -rnE '^[ \t]*#[ \t]*include[ \t]+"' src port kernels --include='*.[ch]' --include='*.cu' --include='*.cuh')
complain '"../" in an #include' "$(echo "$lines" | grep '"\.\./' || true)"
complain "the memory map outside core/ and port/" "$(echo "$lines" | grep '"\(core/\)\{0,1\}memory\.h"' | grep -vE '^(src/core|port)/' || true)"
complain "a kernel that includes a port" "$(echo "$lines" | grep '^kernels/' | grep '"port/' || true)"
complain "a stage that sees the whole step" "$(grep -rnE 'struct vf_step|vf_step &|struct vf_memory \*|struct vf_pinned' src kernels --include='*.[ch]' --include='*.cu*' | grep -v '^src/core/' || true)"
# every file as "file included", paths from the root
edges=$(echo "$lines" | sed 's/^\([^:]*\):[0-9]*:[^"]*"\([^"]*\)".*/\1 \2/' | while read -r file name; do
    for at in "$(dirname "$file")/$name" "src/$name" "$name"; do
        [ -f "$at" ] && { echo "$file $at"; break; }
    done
done)
circle=$(echo "$edges" | awk '
    { n[$1]++; to[$1, n[$1]] = $2 }
    function visit(f, path,  i, g) {
        if (state[f] == 2) return
        state[f] = 1
        for (i = 1; i <= n[f]; i++) {
            g = to[f, i]
            if (state[g] == 1) { print path " -> " g; continue }
            visit(g, path " -> " g)
        }
        state[f] = 2
    }
    END { for (f in n) visit(f, f) }')
complain "a circle" "$circle"
[ $bad -ne 0 ] || echo "includes: $(echo "$edges" | wc -l) of $(echo "$edges" | cut -d' ' -f1 | sort -u | wc -l) files, no circle"
exit $bad
