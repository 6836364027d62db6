#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs tests one after the other, each a command line, and counts: of a cmocka program every test, of anything else one. Exit code 77
# is "skipped", with the reason as the last line of the output. Ends with "N passed, N failed, N skipped"; fails when one failed or
# none ran.
#   tests/run.sh [--log DIR] 'command' 'command'...
set -u
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
[ "${1:-}" = --log ] && { rm -rf "$log"; log=$2; mkdir -p "$log"; trap - EXIT; shift 2; }
passed=0 failed=0 skipped=0 number=0
count() { # of tests that cmocka says are $1, in all groups of a program; nothing where there is no group
    sed -n "s/^\[  *$1 *\] \([0-9]*\) test(s).*/\1/p" "$out" | awk '{n += $1} END {if (NR) print n}'
}
for command in "$@"; do
    number=$((number + 1))
    out=$log/$number.txt
    printf '%-64.64s ' "$command"
    begin=$(date +%s)
    sh -c "$command" >"$out" 2>&1
    code=$?
    took=$(($(date +%s) - begin))
    p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
    if [ -z "$p$f$s" ]; then
        case $code in 0) p=1 ;; 77) s=1 ;; *) f=1 ;; esac
    elif [ $code -ne 0 ] && [ "${f:-0}" -eq 0 ]; then
        f=1 # it died after its summary, or before it had one
    fi
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
    printf '%3d passed %2d failed %2d skipped %4d s\n' "${p:-0}" "${f:-0}" "${s:-0}" "$took"
    [ $code -eq 77 ] && tail -n 1 "$out" | sed 's/^/    /'
    [ $code -ne 77 ] && [ "${s:-0}" -gt 0 ] && grep -i '^skipped' "$out" | sed 's/^/    /'
    [ "${f:-0}" -gt 0 ] && tail -40 "$out"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
