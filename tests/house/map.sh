#!/bin/sh
# SPDX-License-Identifier: MIT
# The maps are true: files and folders that README.md and src/README.md name exist, every folder of src is in its map, every stage is in README's table, and the
# functions that src/README.md names are in the sources.
set -eu
bad=0
complain() { echo "map: $*"; bad=1; }
for map in README.md src/README.md; do
    for f in $(grep -oE '`[a-z_./-]+`' $map | tr -d '`' | grep -E '/|\.(h|c|sh|py|def|md)$' | sort -u); do
        case $f in *'<'* | out/* | build/*) continue ;; esac
        [ -e "$f" ] || [ -e "src/$f" ] || [ -e "$(dirname $map)/$f" ] || complain "$map names $f, which is not there"
    done
done
for folder in src/*/; do grep -q "\`$(basename "$folder")/\`" src/README.md || complain "src/README.md has no $folder"; done
for stage in $(sed -n 's/^VF_STAGE(\([a-z]*\),.*/\1/p' src/stages.def); do grep -q "\`$stage\`" README.md || complain "README.md has no stage $stage"; done
for f in $(grep -oE '[a-z_]+\(\)' src/README.md | tr -d '()' | sort -u); do
    grep -rqE "\b$f\b" src kernels port vfront.h || complain "src/README.md names $f(), which is not there"
done
for f in $(sed -n '/^## What to touch/,/^## The project/p' src/README.md | grep -oE '(src|port|tests|examples|kernels)/[a-z_./]+\.(h|c|def|sh)' | sort -u); do
    [ -e "$f" ] || complain "src/README.md names $f, which is not there"
done
[ $bad -ne 0 ] || echo "map: as it is"
exit $bad
