#!/bin/sh
# SPDX-License-Identifier: MIT
# Digest of the sources that a proof on a GPU is of: library, ports, kernels, and the cases of vfcheck. Comments and white space do not count, so a
# comment can be mended without a GPU.
#   tests/house/sources.sh [--list | --text]    --list: names of the files; --text: what is digested
set -eu
files() {
    find src kernels port vfront.h vfront_cfg.h tests/vfcheck tests/config -type f ! -name '.*' ! -name '*.md' ! -name '*.csv' ! -name '*.py' | LC_ALL=C sort
}
text() { # without comments and white space, a file after the other
    files | xargs awk '
        {
            line = $0
            out = ""
            while (line != "") {
                if (inside) { # a comment
                    end = index(line, "*/")
                    if (!end) { line = ""; break }
                    line = substr(line, end + 2)
                    inside = 0
                } else if (match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) {
                    out = out substr(line, 1, RSTART - 1)
                    found = substr(line, RSTART, RLENGTH)
                    rest = substr(line, RSTART + RLENGTH)
                    if (found == "//") rest = ""
                    else if (found == "/*") inside = 1
                    else out = out found
                    line = rest
                } else {
                    out = out line
                    line = ""
                }
            }
            gsub(/[ \t\\]/, "", out)
            printf "%s", out
        }'
}
case ${1:-} in
--list) files ;;
--text) text ;;
*) text | sha256sum | cut -c1-16 ;;
esac
