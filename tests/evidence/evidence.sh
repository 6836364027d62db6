#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes tests/evidence.txt: requirements with their tests and results, branch coverage, findings of static analysis, times, stack, memory,
# versions, golden digests. Comes after `make coverage-run` in BUILD/coverage, whose logs it reads. Fails where anything is missing.
#   tests/evidence/evidence.sh BUILD CC MAKE
set -u
build=$1 cc=$2 make=$3
out=tests/evidence.txt
coverage=$build/coverage
export MAKEFLAGS="s -- CUDA=0 BUILD=$build/evidence"
failed=
version() { command -v "$1" >/dev/null && "$@" --version 2>&1 | grep -m 1 -E '[0-9]+\.[0-9]' || echo "$1: not installed"; }
section() { printf '\n== %s\n\n' "$1"; }
part() { # name, title, command...
    name=$1
    section "$2"
    shift 2
    echo "evidence: $name" >&2
    "$@" 2>&1 || { failed="$failed $name"; echo "FAIL: $name"; }
}
said() { # log of a command that tests/run.sh ran for this file
    file=$(grep -lxF "$1" "$build"/evidence/log/*.command) && cat "${file%.command}.txt"
}
# Greatest time of each stage over the lines of a step in the proof, and which line that was; on the whole GPU, or on 8 of its multiprocessors.
stage_times() {
    awk -v small="$1" '
        /^== |^- / {few = 0}
        /^==== with 8/ {few = 1}
        /^host port/ {few = -1}
        few == small && /us p50 .*submit .*device .*\| ingest/ {
            content = $0
            sub(/ +[0-9.]+ us p50.*/, "", content)
            sub(/^ +/, "", content)
            split($0, half, /\| */)
            n = split(half[2], word, " ")
            for (i = 1; i < n; i += 2) if (!(word[i] in most) || word[i + 1] > most[word[i]]) {most[word[i]] = word[i + 1] + 0; of[word[i]] = content}
            for (i = 1; i < n; i += 2) if (!seen[word[i]]++) order[++count] = word[i]
        }
        END {
            for (i = 1; i <= count; i++) printf "  %-9s %8.1f us  %s\n", order[i], most[order[i]], most[order[i]] ? of[order[i]] : "not in any of these steps"
            exit !count
        }' tests/gpu-proof.txt
}
gpu_times() {
    echo "Greatest mean time of each stage over all steps of tests/gpu-proof.txt, and the step in which that was:"
    stage_times 0 && printf '\nThe same on 8 multiprocessors:\n' && stage_times 1 || return 1
    printf '\nWhole steps, worst observed, by content of the pictures:\n'
    sed -n '/^latency over/,/^memory:/p' tests/gpu-proof.txt | sed '/^memory:/d; s/^/  /' | cut -c1-100 | grep . || return 1
    sed -n 's/^== \([a-z]*, .*\)/  section \1/p' tests/gpu-proof.txt
}

mkdir -p "$build/evidence/log"
echo "evidence: what is quick" >&2
$make -j"$(nproc)" lib >&2
tests/run.sh --log "$build/evidence/log" 'make stack' 'make size' 'make symbols' 'make integrity-sample' "tests/house/header.sh $cc" "tests/house/abi.sh $cc" >&2
{
    echo "Evidence (make evidence; tests/README.md says what it is). Written by a program: not to be edited."
    echo "$(date -u +%Y-%m-%d), sources $(tests/house/sources.sh)"
    section versions
    echo "vfront $(sed -n 's/^#define VFRONT_VERSION "\(.*\)"/\1/p' vfront.h), ABI $(sed -n 's/^#define VFRONT_ABI //p' vfront.h)"
    for program in "$cc" gcov nvcc cppcheck python3; do version "$program"; done
    uname -sm
    part requirements "requirements, their tests, and how these went" python3 tests/evidence/requirements.py "$coverage" \
        "$coverage/log" "$coverage/log-hang" "$coverage/log-failover" "$coverage/log-airborne" "$coverage/log-return" "$build/evidence/log"
    part coverage "branches of src/ and port/ that these tests take" python3 tests/evidence/coverage.py "$coverage"
    part findings "static analysis" python3 tests/evidence/findings.py "$cc"
    part times "times on a GPU" gpu_times
    part stack "stack" said 'make stack'
    part memory "memory" said 'make size'
    part digests "golden digests" sha256sum tests/golden.txt
    section end
    [ -z "$failed" ] && echo complete || echo "FAILED:$failed"
} >"$out.new"
[ -z "$failed" ] || { grep -E '^FAIL|no test:|no reason:|new finding' "$out.new"; mv "$out.new" "$build/evidence.txt"; echo "evidence: FAILED:$failed, see $build/evidence.txt"; exit 1; }
mv "$out.new" "$out"
echo "evidence: $out"
