#!/bin/sh
# SPDX-License-Identifier: MIT
# The deepest stack of every public function of the host side, callees included, from gcc's call graph. Fails on recursion, on a frame
# whose size is not fixed, and over the limit. A call through a pointer may reach every function of its own file that nobody calls by
# name; where there is none, every function of a port. A function made in several copies is its largest. libc's own frames are not
# counted: it is asked for memcpy and the like, and the clock. The limit is VFRONT_STACK_BYTES of vfront_cfg.h, less what a thread and libc take.
#   tests/house/stack.sh CC 'flags'
set -eu
cc=$1
eval "set -- $2" # as a shell reads them: a name of a config is quoted
stack=$(printf '#include "vfront_cfg.h"\nVFRONT_STACK_BYTES\n' | $cc "$@" -E -P -xc - | tail -n 1 | sed 's/\([0-9]\)ll/\1/g')
limit=$(($stack - 16384))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for f in src/*/*.c port/host/*.c; do
    $cc "$@" -fcallgraph-info=su -c "$f" -o "$dir/$(basename "$f" .c).o" 2>"$dir/said" || { cat "$dir/said"; exit 77; }
done
awk -v limit="$limit" '
function plain(title) { # without the mark of a copy
    sub(/\.(default|avx2|resolver|constprop|isra|part|cold).*$/, "", title)
    return title
}
function depth(f,  n, i, callee, most, d) {
    if (f in known) return known[f]
    if (f in on) { print "recursion: " f; bad = 1; return 0 }
    on[f] = 1
    n = split(calls[f], callee, "\n")
    for (i = 1; i <= n; i++) {
        if (callee[i] == "") continue
        d = callee[i] == "__indirect_call" ? indirect(f) : depth(callee[i])
        if (d > most) { most = d; next_of[f] = callee[i] == "__indirect_call" ? chosen : callee[i] }
    }
    delete on[f]
    return known[f] = frame[f] + most
}
function indirect(f,  g, most, d, who, own) {
    for (g in frame) own += !called[g] && g ~ /:/ && file[g] == file[f] && g != f
    for (g in frame) {
        if (called[g] || g !~ /:/ || g == f || (own ? file[g] != file[f] : file[g] !~ /^port\//)) continue
        d = depth(g)
        if (d > most) { most = d; who = g }
    }
    chosen = who
    return most
}
/^node/ && match($0, /[0-9]+ bytes \([a-z,]*\)/) {
    size = substr($0, RSTART, RLENGTH) + 0
    if (substr($0, RSTART, RLENGTH) !~ /\((static|dynamic,bounded)\)/) { print "frame of no fixed size: " $0; bad = 1 }
    split($0, part, "\"")
    f = plain(part[2])
    if (part[2] ~ /\.resolver/) next
    if (!(f in frame) || size > frame[f]) frame[f] = size
    split(part[4], line, "\\\\n")
    file[f] = line[2]
    sub(/:.*/, "", file[f])
}
/^edge/ {
    split($0, part, "\"")
    if (part[2] ~ /\.resolver/) next
    from = plain(part[2])
    to = plain(part[4])
    calls[from] = calls[from] "\n" to
    called[to] = 1
}
END {
    for (f in frame) if (f ~ /^vfront_/ && depth(f) > deepest) { deepest = depth(f); top = f }
    if (!deepest) { print "no call graph"; exit 1 }
    for (f = top; f != ""; f = next_of[f]) printf "%8d  %s\n", frame[f], f
    printf "%8d bytes of stack at most, limit %d\n", deepest, limit
    exit bad || deepest > limit
}' "$dir"/*.ci
