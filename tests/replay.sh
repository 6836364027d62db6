#!/bin/sh
# SPDX-License-Identifier: MIT
# Bad input to the tool: each has its message and exit code, and what was written before stays. tests/replay.sh REPLAY
set -u
replay=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0 cases=0
expect() { # exit code, pattern of stderr and stdout, arguments of replay...
    code=$1 pattern=$2
    shift 2
    cases=$((cases + 1))
    "$replay" "$@" >out.txt 2>&1 </dev/null
    got=$?
    [ $got -eq "$code" ] && grep -qE -- "$pattern" out.txt && return
    bad=$((bad + 1))
    echo "replay $*: exit $got instead of $code, or no \"$pattern\" in:"
    head -5 out.txt
}
pgm() { # file, width, height
    mkdir -p "$(dirname "$1")"
    { printf 'P5\n%d %d\n255\n' "$2" "$3"; head -c $(($2 * $3)) /dev/zero | tr '\0' "${4:-5}"; } >"$1"
}

expect 0 'tracks +[0-9.]+ alive' --frames 4 --port host --out good --overlay synthetic:320x240
for f in tracks keypoints health timing; do [ "$(wc -l <good/$f.csv)" -gt 4 ] || { echo "good/$f.csv is too short"; bad=1; }; done
[ "$(wc -l <good/digest.txt)" -eq 4 ] || { echo "good/digest.txt has not four lines"; bad=1; }
cp good/digest.txt digest.1 && "$replay" --quiet --frames 4 --port host --out good synthetic:320x240 >/dev/null
cmp -s digest.1 good/digest.txt || { echo "a second run differs"; bad=1; }

expect 2 'no such option' --nonsense
expect 0 'track_target' --help
expect 2 'not auto, host or cuda' --port gpu
expect 2 'no such tuning value; near: track_target' --set track_targt=100
expect 2 'not a whole number in' --set track_target=99999
expect 2 'not NAME=VALUE' --set track_target
expect 2 'not below detect_threshold' --set detect_threshold_low=20
expect 2 'not a number from 1 on' --frames 0
expect 2 'needs --out' --overlay
expect 1 'nosuch: No such file or directory' nosuch
mkdir empty && expect 1 'empty: no .* picture in this folder' empty
touch file && expect 1 'file: not a folder' file
expect 1 'Not a directory' --frames 2 --out file

for i in 1 2 3 4 5; do pgm seq/$i.pgm 64 48; done
expect 0 'frames' --port host seq
pgm seq/3.pgm 80 48
expect 1 'seq/3.pgm: 80x48, but the sequence began with 64x48' --port host --out kept seq
[ "$(wc -l <kept/digest.txt)" -eq 2 ] || { echo "kept/digest.txt has not the two frames before the fault"; bad=1; }
pgm seq/3.pgm 64 48 && head -c 900 seq/3.pgm >cut && mv cut seq/3.pgm
expect 1 'seq/3.pgm: damaged, or cut off' --port host seq
: >seq/3.pgm && expect 1 'seq/3.pgm: an empty file' --port host seq
pgm big/a.pgm 4000 3000 && expect 1 'larger than this build takes' big
pgm small/a.pgm 8 8 && expect 1 'smaller than 16x16' small

mkdir -p asl/mav0/cam0/data && expect 1 'data.csv: No such file' asl
echo '#timestamp [ns],filename' >asl/mav0/cam0/data.csv && expect 1 'names no picture' asl
echo '1000,none.png' >>asl/mav0/cam0/data.csv && expect 1 'data.csv:2 names .*none.png' asl
echo 'not a row' >>asl/mav0/cam0/data.csv && expect 1 'data.csv:[23]' asl

if ls good/overlay/*.png >/dev/null 2>&1; then
    mkdir colour && cp good/overlay/*.png colour && expect 0 'in colour, becomes grey' --port host colour
    last=$(ls colour/*.png | tail -1) && head -c 3000 "$last" >cut && mv cut "$last"
    expect 1 'truncated or damaged PNG' --port host colour
fi
mkdir full && ln -s /dev/full full/tracks.csv && expect 1 'full/tracks.csv: No space left' --port host --frames 3 --out full synthetic:320x240

echo "replay: $cases cases, $bad wrong"
[ $bad -eq 0 ]
