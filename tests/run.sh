#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs tests, each a command line, as many side by side as there are processors, and counts: of a cmocka program every test, of anything
# else one. Exit code 77 is "skipped", with the reason as the last line of the output. Ends with "N passed, N failed, N skipped"; fails
# when one failed or none ran. Where VFRONT_INSTALLED names packages that are there (.ci/run), a skip for which one of them is the reason is a failure.
#   tests/run.sh [--log DIR] 'command' 'command'...
set -u
count() { # of tests that cmocka says are $1, in all groups of a program; nothing where there is no group
    sed -n "s/^\[  *$1 *\] \([0-9]*\) test(s).*/\1/p" "$out" | awk '{n += $1} END {if (NR) print n}'
}
report() {
    printf '%-64.64s %3d passed %2d failed %2d skipped %4d s %4d s of a core\n' "$command" "${p:-0}" "${f:-0}" "${s:-0}" "$took" "$busy"
    [ $code -eq 77 ] && tail -n 1 "$out" | sed 's/^/    /'
    [ $code -ne 77 ] && [ "${s:-0}" -gt 0 ] && grep -i '^skipped' "$out" | sed 's/^/    /'
    [ "${f:-0}" -gt 0 ] && tail -40 "$out"
    return 0
}
lacks_installed() { # 1 line or more of reasons: that one of VFRONT_INSTALLED is missing
    [ -n "${VFRONT_INSTALLED:-}" ] && { tail -n 1 "$out"; grep -i '^skipped' "$out"; } | grep -qwF "$(printf '%s\n' $VFRONT_INSTALLED)"
}
if [ "${1:-}" = --one ]; then # of the tests below: DIR NUMBER COMMAND
    out=$2/$3.txt command=$4
    begin=$(date +%s)
    sh -c "$command" >"$out" 2>&1
    code=$?
    took=$(($(date +%s) - begin))
    times >"$2/$3.times" # of this shell, then of what it ran: minutes and seconds, user and system
    busy=$(awk 'NR == 2 {gsub("[ms]", " "); printf "%d", 60 * $1 + $2 + 60 * $3 + $4}' "$2/$3.times")
    p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
    if [ -z "$p$f$s" ]; then
        case $code in 0) p=1 ;; 77) s=1 ;; *) f=1 ;; esac
    elif [ $code -ne 0 ] && [ "${f:-0}" -eq 0 ]; then
        f=1 # it died after its summary, or before it had one
    fi
    if [ "${s:-0}" -gt 0 ] && lacks_installed; then
        f=$((${f:-0} + s)) s=0
    fi
    printf '%s\n' "$command" >"$2/$3.command"
    echo "${p:-0} ${f:-0} ${s:-0}" >"$2/$3.count"
    lines=$(report) && printf '%s\n' "$lines" # at once: others report, too
    exit 0
fi

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
[ "${1:-}" = --log ] && { rm -rf "$log"; log=$2; mkdir -p "$log"; trap - EXIT; shift 2; }
jobs=$(nproc)
for gpu in /dev/nvidia0 /dev/nvhost-gpu /dev/nvgpu; do [ ! -e $gpu ] || jobs=1; done # some measure what all take of its memory
number=0
for command in "$@"; do
    number=$((number + 1))
    printf '%s\0%s\0' $number "$command"
done | xargs -r -0 -n 2 -P "$jobs" "$0" --one "$log"
set -- $(cat "$log"/*.count 2>/dev/null | awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0, NR}') $#
echo
[ $4 -eq $5 ] || { echo "$(($5 - $4)) did not end"; set -- $1 $(($2 + $5 - $4)) $3; }
for c in "$log"/*.count; do # failures again, by name and end of output: the last lines are what one sees of a long log
    read -r p f s <"$c" && [ "$f" -gt 0 ] || continue
    echo "FAILED: $(cat "${c%.count}.command")" && tail -n 12 "${c%.count}.txt" | cut -c 1-240 | sed 's/^/    /'
done
echo "$1 passed, $2 failed, $3 skipped"
[ $2 -eq 0 ] && [ $(($1 + $3)) -gt 0 ]
