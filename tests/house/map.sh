#!/bin/sh
# SPDX-License-Identifier: MIT
# The maps are true: files and folders that README.md, the pages of src/ and CONTRIBUTING.md name exist; every folder of src and every stage is in
# src/README.md; functions and constants that these pages name are in the sources.
set -eu
bad=0
complain() { echo "map: $*"; bad=1; }
pages='README.md src/README.md src/DESIGN.md src/ESTIMATOR.md .github/CONTRIBUTING.md'
for map in $pages; do
    [ -e $map ] || { complain "no $map"; continue; }
    for f in $(grep -oE '`[a-z0-9_./-]+`|\b[a-z_]+/[a-z_/]+\.(h|c|sh|py|cuh|def)\b' $map | tr -d '`' | grep -E '/|\.(h|c|sh|py|cuh|def|md)$' | sort -u); do
        case $f in *'<'* | out/* | build/*) continue ;; esac
        [ -e "$f" ] || [ -e "src/$f" ] || [ -e "$(dirname $map)/$f" ] || complain "$map names $f, which is not there"
    done
    for f in $(grep -oE '\b[a-z_]+\(\)' $map | tr -d '()' | sort -u); do
        grep -rqE --exclude='*.md' "\b$f\b" src kernels port vfront.h tests || complain "$map names $f(), which is not there"
    done
    for c in $(grep -oE '\b(VF|VFRONT)_[A-Z0-9_]+[A-Z0-9]\b' $map | sort -u); do
        grep -rqE --exclude='*.md' "\b$c" src kernels port vfront.h vfront_cfg.h tests/config || complain "$map names $c, which is not there"
    done
done
for folder in src/*/; do grep -q "\`$(basename "$folder")/\`" src/README.md || complain "src/README.md has no $folder"; done
for stage in $(sed -n 's/^VF_STAGE(\([a-z]*\),.*/\1/p' src/stages.def); do grep -q "\`$stage\`" src/README.md || complain "src/README.md has no stage $stage"; done
[ $bad -ne 0 ] || echo "map: as it is"
exit $bad
