#!/bin/sh
# SPDX-License-Identifier: MIT
# replay as a program: messages and exit codes for bad input, files that agree with each other, examples/replay/README.md in step with --help.
#   tests/examples/replay.sh REPLAY [REPLAY-WITH-DISPARITIES-AND-STIXELS [REPLAY-ON-THE-FAKE-CUDA-RUNTIME]]
set -u
full() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
replay=$(full "$1")
dense=${2:+$(full "$2")}
fake=${3:+$(full "$3")}
manual=$(cd "$(dirname "$0")/../../examples/replay" && pwd)/README.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0 cases=0
expect() { # exit code, pattern of stderr and stdout, arguments of replay...
    code=$1 pattern=$2
    shift 2
    cases=$((cases + 1))
    "$replay" --tables all "$@" >out.txt 2>&1 </dev/null # a later --tables counts
    got=$?
    [ $got -eq "$code" ] && grep -qE -- "$pattern" out.txt && return
    bad=$((bad + 1))
    echo "replay $*: exit $got instead of $code, or no \"$pattern\" in:"
    head -5 out.txt
}
check() { # what it means when the command fails, command...
    cases=$((cases + 1))
    what=$1
    shift
    "$@" && return
    bad=$((bad + 1))
    echo "$what"
}
columns_agree() { awk -F, 'NR == 1 {n = NF} NF != n {exit wrong = 1} END {exit wrong}' "$1"; }
once() { [ "$(grep -c -- "$1" out.txt)" -eq 1 ]; } # a line of the last run
at_keypoints() { # keypoints.csv, another file, its columns: frame, frames back, camera, index, x, y; true when all its rows agree
    awk -F, -v frame="$3" -v back="$4" -v camera="$5" -v at="$6" -v x="$7" -v y="$8" '
        FNR == 1 {next}
        NR == FNR {place[$1, $2, seen[$1, $2]++] = $3 "," $4; next}
        place[$frame - back, camera, $at] != $x "," $y {print FILENAME ":" FNR ": " $0; exit wrong = 1} END {exit wrong}' "$1" "$2"
}
settled_near() { # keypoints.csv, matches.csv; true when half of the matches refined, each within 12 px of its key point and some off whole pixels
    awk -F, '
        FNR == 1 {next}
        NR == FNR {if ($2 == 0) {n = seen[$1]++; x[$1, n] = $3; y[$1, n] = $4} next}
        {all++}
        $10 == 1 {refined++; off = ($4 - x[$1, $2]) ^ 2 + ($5 - y[$1, $2]) ^ 2; parts += off > 0.01}
        $10 == 1 && off > 144 {print FILENAME ":" FNR ": " $0; exit wrong = 1}
        END {exit wrong || 2 * refined < all || 2 * parts < refined}' "$1" "$2"
}
chained() { # matches.csv; true when each match of age 2 and up goes on with the chain of its number, and there are some
    awk -F, '
        FNR == 1 {next}
        $12 > 1 {chains++; if (end[$1 - 1, $11] != $6 "," $7 "," $12 - 1) {print FILENAME ":" FNR ": " $0; exit wrong = 1}}
        {end[$1, $11] = $4 "," $5 "," $12}
        END {exit wrong || !chains}' "$1"
}
one_to_one() { # file, columns of the two that are partners: in each frame the first rises, and no second but -1, none, is there twice
    awk -F, -v a="$2" -v b="$3" 'FNR > 1 {
        if (($b >= 0 && twice[$1, $b]++) || ($1 == frame && $a <= before)) {print FILENAME ":" NR ": " $0; exit wrong = 1}
        frame = $1; before = $a} END {exit wrong}' "$1"
}
rows() { # file, the same but for which awk rule of a row; true when there are rows and all obey
    awk -F, "NR > 1 && !($2) {print FILENAME \":\" NR \": \" \$0; exit wrong = 1} END {exit wrong || NR < 2}" "$1"
}
head_is() { [ "$(head -1 "$1")" = "$2" ]; }
size_is() { [ "$(wc -l <"$1")" -eq "$2" ]; }
per_frame() { cut -d, -f1,2 "$1" | sed 1d | uniq -c; } # rows of each frame and camera
alike() { [ "$(per_frame "$1")" = "$(per_frame "$2")" ]; }
differ() { ! cmp -s "$1" "$2"; }
of_health() { # health.csv, column: its values, with a blank behind each
    awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i; next} {printf "%s ", $at}' "$1"
}
tiles() { # file, width, height: corners to be found
    mkdir -p "$(dirname "$1")"
    awk -v w="$2" -v h="$3" 'BEGIN {
        printf "P5\n%d %d\n255\n", w, h
        for (y = 0; y < h; y++) for (x = 0; x < w; x++) printf "%s", x % 40 < 20 && y % 30 < 15 ? "x" : "%"
    }' >"$1"
}
pgm() { # file, width, height
    mkdir -p "$(dirname "$1")"
    { printf 'P5\n%d %d\n255\n' "$2" "$3"; head -c $(($2 * $3)) /dev/zero | tr '\0' "${4:-5}"; } >"$1"
}

expect 0 'tracks +[0-9.]+ alive' --frames 4 --port host --out good --overlay synthetic:320x240
for f in tracks keypoints descriptors depth health timing; do
    [ "$(wc -l <good/$f.csv)" -gt 4 ] || { echo "good/$f.csv is too short"; bad=1; }
    check "good/$f.csv: not all rows have the columns of the first" columns_agree good/$f.csv
done
check 'a clean flight has a gyro that is short, or a break' awk -F, '
    NR == 1 {for (i = 1; i <= NF; i++) column[$i] = i; next}
    $column["gyro_short"] != 0 || $column["motion_breaks"] != 0 || $column["reset_counter"] != 0 {exit wrong = 1} END {exit wrong || NR != 5}' good/health.csv
[ "$(wc -l <good/digest.txt)" -eq 4 ] || { echo "good/digest.txt has not four lines"; bad=1; }
cp good/digest.txt digest.1 && "$replay" --quiet --frames 4 --port host --tables all --out good synthetic:320x240 >/dev/null
cmp -s digest.1 good/digest.txt || { echo "a second run differs"; bad=1; }

# Tables only where they are asked for; a flight from a later frame on; the run without a DATASET.
plain='digest.txt overlay trajectory.svg trajectory.txt trajectory_kitti.txt trajectory_state.txt truth.txt truth_state.txt'
expect 0 'frames$' --frames 3 --port host --tables none --overlay --out plain synthetic:320x240
check 'files that nobody asked for' [ "$(ls plain | tr '\n' ' ')" = "$plain " ]
expect 0 'frames$' --frames 3 --port host --tables frames --out plain synthetic:320x240
check 'tables of frames: too many or too few' [ "$(ls plain | tr '\n' ' ')" = "covariance.csv $(echo $plain | \
    sed 's/overlay/health.csv innovations.csv motion.csv overlay prediction.csv state.csv timing.csv/') " ]
expect 2 '--tables some: not none, frames or all' --tables some
expect 0 'frames$' --frames 2 --port host --tables none --out later synthetic:320x240@470
check 'a flight from frame 470 on has other stamps' [ "$(head -1 later/digest.txt | cut -d ' ' -f 2)" = 16666666510 ]
expect 1 'a first frame as @470' --frames 2 synthetic:320x240@
expect 0 'synthetic@470 .synthetic., 2 frames' --frames 2 --port host

# The manual: its tables have the options of --help, no others, and the columns of the files.
documented() { grep -qF -- "| $(head -1 "$1" | sed 's/,/, /g') |" "$manual"; }
"$replay" --help | grep -oE '^  --[a-z-]+' | tr -d ' ' | sort >help.txt
grep -oE '^\| `--[a-z-]+' "$manual" | tr -d '|` ' | sort >manual.txt
check 'options of --help (left) and of examples/replay/README.md (right) differ' diff help.txt manual.txt
check '--help lists no options' [ "$(wc -l <help.txt)" -gt 10 ]
for f in tracks keypoints descriptors depth matches motion; do
    check "examples/replay/README.md has other columns of $f.csv" documented good/$f.csv
done

# Key points and descriptors: columns, ranges, and that the files agree with each other and with the table.
check 'keypoints.csv has other columns' head_is good/keypoints.csv frame,camera,x_px,y_px,level,score,angle_rad,low,cell,bx,by,bz
check 'descriptors.csv has other columns' head_is good/descriptors.csv frame,camera,index,descriptor
check 'a key point is out of its range' rows good/keypoints.csv \
    '$3 > 0 && $3 < 320 && $4 > 0 && $4 < 240 && $5 < 8 && $6 > 0 && $7 * $7 < 9.8697 && $8 * $8 == $8 && NF == 12'
check 'most angles are 0' awk -F, 'NR > 1 {turned += $7 != 0} END {exit 2 * turned < NR}' good/keypoints.csv
check 'a descriptor is not 64 hex digits' rows good/descriptors.csv 'length($4) == 64 && $4 !~ /[^0-9a-f]/ && NF == 4'
check 'descriptors are not counted from 0' rows good/descriptors.csv '$3 == seen[$1, $2]++'
check 'key points and descriptors differ in number' alike good/keypoints.csv good/descriptors.csv
expect 0 'camera 1: 50.0 in 540 cells, [1-9][0-9.]+ dropped, 50.0 descriptors' \
    --port host --frames 3 --set select_points=50 --out few synthetic:320x240
check 'not 50 key points a picture' size_is few/keypoints.csv 301
check 'health.csv does not say what was dropped and full' awk -F, '
    NR == 1 {for (i = 1; i <= NF; i++) column[$i] = i; next}
    $column["dropped_0"] < 1 || $column["dropped_1"] < 1 || $column["full"] < 6 {exit wrong = 1} END {exit wrong}' few/health.csv
expect 0 'camera 0: 0.0 in 540 cells, 0.0 dropped, 0.0 descriptors' \
    --port host --frames 3 --set select_points=0 --out none synthetic:320x240
check 'key points with select_points=0' size_is none/keypoints.csv 1
check 'descriptors with select_points=0' size_is none/descriptors.csv 1
check 'no tracks with select_points=0' rows none/tracks.csv 'NF == 20'
expect 0 'camera 0: 50.0 in 540 cells, .* 0.0 descriptors' \
    --port host --frames 3 --set select_points=50 --set describe=0 --out few synthetic:320x240
check 'the descriptors of an earlier run are still there' [ ! -e few/descriptors.csv ]
check 'an angle without describe' rows few/keypoints.csv '$7 == 0'
expect 0 'levels +[0-9]+ for tracks, 1 for key points' --port host --frames 3 --set detect_levels=1 --out one synthetic:320x240
check 'a level beyond detect_levels' rows one/keypoints.csv '$5 == 0'
expect 0 'tracks +none wanted' --port host --frames 3 --features-only --out alone synthetic:320x240
check 'tracks with --features-only' size_is alone/tracks.csv 1
check 'no key points with --features-only' rows alone/keypoints.csv '$5 < 8'
expect 0 '^state +good 9[0-9]' --port host --frames 40 --state-only --out lean --tables all synthetic:320x240
check 'key points with --state-only' size_is lean/keypoints.csv 1
check 'the pair without key points' [ "$(tail -n +2 lean/health.csv | cut -d, -f30 | sort -u)" = good ]

# Bearings, depths and matches: that the files agree with each other, and are not there when there is nothing to write.
one='(v = $%d * $%d + $%d * $%d + $%d * $%d) > 0.999999 && v < 1.000001'
check 'a bearing of a key point is no unit vector' rows good/keypoints.csv "$(printf "$one" 10 10 11 11 12 12)"
check 'a bearing of a track is no unit vector' rows good/tracks.csv \
    "(\$11 != \"new\" && \$11 != \"tracked\" && \$12 \$13 \$14 == \"\") || $(printf "$one" 12 12 13 13 14 14)"
check 'a partner of a track without a deviation, or half of one' rows good/tracks.csv \
    '$15 $16 $17 $18 $19 $20 == "" || ($15 >= 0 && $18 > 0 && $19 >= 0 && ($19 == 0) == ($20 == 0))'
check 'fewer than half of the tracks have a partner' \
    awk -F, 'NR > 1 && $12 != "" {n++; with += $18 != ""} END {exit 2 * with < n}' good/tracks.csv
depth_head=frame,keypoint,partner,x0_px,y0_px,x1_px,y1_px,depth_m,sigma_m,distance
check 'depth.csv has other columns' head_is good/depth.csv $depth_head
check 'matches.csv has other columns' head_is good/matches.csv frame,keypoint,before,x_px,y_px,x_before_px,y_before_px,distance,second,refined,id,age,agrees
check 'not over 100 depths in each frame' awk -F, 'NR > 1 {n[$1]++} END {for (i = 0; i < 4; i++) if (n[i] <= 100) exit 1}' good/depth.csv
check 'no matches after the first frame' awk -F, 'NR > 1 {n[$1]++} END {for (i = 1; i < 4; i++) if (n[i] <= 100) exit 1}' good/matches.csv
check 'a depth is out of its range' rows good/depth.csv '$8 > 0.1 && $8 < 1000 && $9 > 0 && $10 >= 0 && $10 <= 100 && NF == 10'
check 'the cameras see a point far from one row' rows good/depth.csv '($5 - $7) * ($5 - $7) < 1'
check 'a depth is not that of its disparity' rows good/depth.csv '(off_px = 195.2 * 0.11 / $8 - ($4 - $6)) < 0.02 && off_px > -0.02'
check 'depth.csv and keypoints.csv differ on where a key point is' at_keypoints good/keypoints.csv good/depth.csv 1 0 0 2 4 5
check 'partners are not one to one' one_to_one good/depth.csv 2 3
awk -F, 'NR == 1 || $10 == 0' good/matches.csv >unsettled.csv
check 'a match that did not settle is not where its key point is' at_keypoints good/keypoints.csv unsettled.csv 1 0 0 2 4 5
check 'a match refined far from its key point, or none did' settled_near good/keypoints.csv good/matches.csv
awk -F, 'NR == 1 || $12 == 1' good/matches.csv >first.csv
check 'a chain of matches does not begin at its key point' at_keypoints good/keypoints.csv first.csv 1 1 0 3 6 7
check 'a match does not go on from where the one before ended' chained good/matches.csv
check 'matches are not one to one' one_to_one good/matches.csv 2 3
check 'matches.csv: not all rows have the columns of the first' columns_agree good/matches.csv
fly() { # exit code, pattern, the rest of the arguments: a run into the same folder
    code=$1 pattern=$2
    shift 2
    expect "$code" "$pattern" --port host --frames 2 --out partners "$@" synthetic:320x240
}
there() { [ -e partners/depth.csv ] && [ -e partners/matches.csv ]; }
fly 0 'partners +[1-9][0-9.]+ depths with a median of [0-9.]+ m; [0-9.]+ matches'
check 'depth.csv or matches.csv is missing' there
fly 0 'partners +no depths: stereo is 0; [0-9.]+ matches' --set stereo=0
check 'the depths of an earlier run are still there' [ ! -e partners/depth.csv ]
fly 0 'partners +[1-9][0-9.]+ depths .*; no matches' --set match=0
check 'the matches of an earlier run are still there' [ ! -e partners/matches.csv ]
fly 0 'partners +[1-9][0-9.]+ depths' --features-only
check 'no depths with --features-only' there
fly 0 'partners +no depths: describe is 0; no matches' --set describe=0
check 'depths or matches without descriptors' [ ! -e partners/depth.csv ] && [ ! -e partners/matches.csv ]
fly 0 'partners +0.0 depths; 0.0 matches' --set select_points=0
check 'depths with select_points=0' size_is partners/depth.csv 1
fly 0 'partners +no depths: there is one camera' --mono
check 'depths of one camera' [ ! -e partners/depth.csv ]
check 'a warning that nobody asked for' [ "$(grep -c '^replay: ' out.txt)" -eq 0 ]
fly 0 '^replay: no depth: there is one camera' --mono --overlay=depth
fly 0 '^replay: no depth: camera 0 is not calibrated' --calibration=none
check 'no depth: not reported once' once '^replay: no depth: '
check 'a bearing without calibration' rows partners/keypoints.csv '$10 == 0 && $11 == 0 && $12 == 0'
check 'depths without calibration' [ ! -e partners/depth.csv ]

# Motion: files, ranges, ground truth, and that the files agree with each other and with the table.
motion_head=frame,which,state,flags,pairs,inliers,others,hypotheses,needed,rms_px,parallax_px,qx,qy,qz,qw,tx,ty,tz
motion_head=$motion_head,sigma_tx,sigma_ty,sigma_tz,sigma_rx_rad,sigma_ry_rad,sigma_rz_rad
check 'motion.csv has other columns' head_is good/motion.csv $motion_head
check 'motion.csv: not all rows have the columns of the first' columns_agree good/motion.csv
check 'not a relative and a metric motion of each frame but the first' awk -F, 'NR > 1 {n[$1, $2]++} END {
    for (i = 1; i < 4; i++) if (n[i, "relative"] != 1 || n[i, "metric"] != 1) exit 1; exit NR != 7}' good/motion.csv
check 'a motion is out of its range' rows good/motion.csv '$5 <= 2304 && $6 <= $5 && $9 <= 1000000 && $15 >= 0'
check 'a rotation is no unit quaternion' rows good/motion.csv \
    '(v = $12 * $12 + $13 * $13 + $14 * $14 + $15 * $15) > 0.999999 && v < 1.000001'
check 'a good relative motion is no direction' rows good/motion.csv \
    '$2 != "relative" || $3 != "good" || ((v = $16 * $16 + $17 * $17 + $18 * $18) > 0.999999 && v < 1.000001)'
prediction_head=frame,source,qx,qy,qz,qw,tx,ty,tz,sigma_tx,sigma_ty,sigma_tz,sigma_rx_rad,sigma_ry_rad,sigma_rz_rad
check 'prediction.csv has other columns' head_is good/prediction.csv $prediction_head
expect 0 'gyro +used$' --frames 4 --port host --set vio=0 --out turned synthetic:320x240
check 'a prediction is not of the gyro, and then of the last motion, too' awk -F, '
    NR > 1 && $2 != (NR == 2 ? "rotation" : "both") {exit wrong = 1} END {exit wrong || NR != 4}' turned/prediction.csv
for f in trajectory truth; do
    check "good/$f.txt has not a line a frame" size_is good/$f.txt 4
    check "good/$f.txt does not begin in its origin" [ "$(head -1 good/$f.txt)" = '1.000000000 0 0 0 0 0 0 1' ]
done
check 'trajectory_kitti.txt has not a line a frame' size_is good/trajectory_kitti.txt 4
check 'both files of the path differ on where the camera was' awk '
    NR == FNR {x[FNR] = $2 " " $3 " " $4; next} x[FNR] != $4 " " $8 " " $12 {exit wrong = 1} END {exit wrong}' \
    good/trajectory.txt good/trajectory_kitti.txt
check 'trajectory.svg is not whole' [ "$(tail -1 good/trajectory.svg)" = '</svg>' ]
expect 0 'motion +relative: good [0-9.]+ %, rotation [0-9.]+ %, few [0-9.]+ %, unsure [0-9.]+ %, frozen [0-9.]+ % of 2 steps' \
    --port host --frames 3 --mono --out path synthetic:320x240
check 'NEES of one camera' [ "$(grep -c NEES out.txt)" -eq 0 ]
check 'no accuracy in the table' once 'aligned by Sim(3); 3 frames with ground truth'
check 'no rotation in the table' grep -qE 'rotation (off )?by [0-9.e-]+ deg a frame' out.txt
check 'lengths of unknown origin' once 'm, lengths of steps from ground truth'
expect 0 'accuracy +no ground truth' --port host --frames 3 --mono --truth=none --out path synthetic:320x240
check 'the ground truth of an earlier run is still there' [ ! -e path/truth.txt ]
check 'lengths are not reported as unknown' once 'steps, their lengths are not known'
check 'trajectory.svg has metres' [ "$(grep -c 'steps\]' path/trajectory.svg)" -eq 3 ]
expect 0 'NEES (0\.[2-9]|[12]\.)[0-9]* a degree of freedom, 0 of 5 motions' --port host --frames 6 synthetic:320x240
check 'no scale in the table' grep -qE 'scale [+-][0-2]\.[0-9]+ %: lengths' out.txt
check 'no drift in the table' once 'drift [0-9.e-]* % and'
check 'the deadline of the host port is not the time between frames' \
    grep -qE '^overruns +[0-6] of 6 steps, over deadline_us: 33333 us, the time between frames; [0-9.e+]+ frames a second are followed$' out.txt
check 'the last line does not say what was found' [ "$(tail -1 out.txt | sed 's/[0-9.][0-9.]*/N/g')" = \
    'found        position within N mm over N cm, bound N mm, N of N frames; N ms a frame on this processor' ]
expect 0 '^overruns +[0-6] of 6 steps, over deadline_us: 20000 us$' --port host --frames 6 --set deadline_us=20000 synthetic:320x240
expect 0 'no drift: the camera stays within 0.0[0-9]* m; [0-9.e-]+ m and [0-9.e-]+ deg off at the end' --port host --frames 3 synthetic:320x240
check 'drift of a camera without a way' [ "$(grep -c 'drift [0-9]' out.txt)" -eq 0 ]
expect 0 'motion +none: ego is 0' --port host --frames 2 --set ego=0 --out path synthetic:320x240
for f in motion.csv trajectory.txt trajectory_kitti.txt trajectory.svg; do check "the $f of an earlier run is still there" [ ! -e path/$f ]; done
expect 0 '^replay: no motion: camera 0 is not calibrated' \
    --port host --frames 2 --calibration=none --overlay=motion --out path synthetic:320x240
expect 0 'motion +none: camera 0 is not calibrated' --port host --frames 2 --mono --calibration=none synthetic:320x240
check 'the last line does not say what was found without a calibration' [ "$(tail -1 out.txt | sed 's/[0-9.][0-9.]*[0-9]/N/g')" = \
    'found        N tracks a frame; no position: camera 0 is not calibrated; N ms a frame on this processor' ]
check 'a warning that nobody asked for' [ "$(grep -c '^replay: ' out.txt)" -eq 0 ]
cp good/truth.txt tum.txt
expect 0 'aligned by .*; 4 frames with ground truth' --port host --frames 4 --truth tum.txt --out path synthetic:320x240
check 'ground truth from a file is another' cmp -s path/truth.txt good/truth.txt
awk '{print $2, $3, $4}' good/truth.txt >few.txt
expect 1 'few.txt:1: fewer than the 12 numbers of a pose' --port host --truth=few.txt synthetic:320x240
expect 1 'nosuch.txt: No such file or directory' --port host --truth=nosuch.txt synthetic:320x240
expect 2 '--truth: an empty name' --truth=
expect 2 '--truth: a value is missing' --truth
expect 0 '--truth=FILE' --help

# Covariances: those of the good motions, with the standard deviations of motion.csv on their diagonal.
check 'covariance.csv and motion.csv differ' awk -F, '
    function off(a, b) { return (a - b) ^ 2 > 1e-10 * a ^ 2 + 1e-30 }
    FNR == 1 {next}
    NR == FNR {if ($3 == "good") {for (i = 0; i < 6; i++) s[$1, $2, i] = $(19 + i); motions++}; next}
    {rows++; if (off(s[$1, $2, 0] ^ 2, $3) || off(s[$1, $2, 1] ^ 2, $9) || off(s[$1, $2, 2] ^ 2, $14) || off(s[$1, $2, 5] ^ 2, $23) || NF != 23) exit wrong = 1}
    END {exit wrong || rows != motions || !rows}' good/motion.csv good/covariance.csv

# States of an IMU: that of the rendered flight, with --set vio=1.
fly() { # exit code, pattern, the rest of the arguments: a run into the same folder
    code=$1 pattern=$2
    shift 2
    expect "$code" "$pattern" --port host --out state "$@"
}
states() { cut -d, -f3 state/state.csv | sed 1d | uniq -c | awk '{printf "%s %s ", $1, $2}'; }
of_state() { [ -e state/state.csv ] && [ -e state/trajectory_state.txt ] && [ -e state/truth_state.txt ] && [ -e state/state.svg ]; }
none_of_state() { ! ls state/state.csv state/trajectory_state.txt state/truth_state.txt state/state.svg 2>/dev/null | grep -q .; }
fly 0 'state +good 8[0-9]\.[0-9] %, coasting 0.0 %, stereo 0.0 %, lost 0.0 %, initialising 1[0-9]\.[0-9] %, none 0.0 % of 30 frames' --frames 30 --set vio=1 synthetic:320x240
check 'a file of states is missing' of_state
check 'state.csv has other columns than examples/replay/README.md' documented state/state.csv
check 'state.csv: not all rows have the columns of the first' columns_agree state/state.csv
check 'innovations.csv has other columns than examples/replay/README.md' documented state/innovations.csv
check 'innovations.csv: not all rows have the columns of the first' columns_agree state/innovations.csv
check 'a good state is not tested by motion and bank' [ "$(sed 1d state/innovations.csv | cut -d, -f3 | sort | uniq -c | awk '$1 > 20 {printf "%s ", $2}')" = 'motion no-accel no-imu ' ]
check 'a test of a good state contradicts it' rows state/innovations.csv '$4 > 0 && $4 < 1'
check 'the first state is not that of the table' awk -F, -v s="$(sed -n 's/.*first one after \([0-9.]*\) s; began anew 0 times/\1/p' out.txt)" '
    $3 == "good" {found = 1; exit} NR > 1 {n++} END {exit !found || (s - n / 30) ^ 2 > 0.0001}' state/state.csv
check 'the state is no source of predictions' awk -F, 'NR > 1 {seen[$2]++} END {exit !(seen["state rotation"] + seen["state"] > 20) || seen["?"]}' state/prediction.csv
check 'a frame without a state has one' rows state/state.csv '($3 == "good") == ($11 != "") && NF == 53'
check 'trajectory_state.txt has not a line a state' size_is state/trajectory_state.txt "$(grep -c ,good, state/state.csv)"
check 'ground truth of states has not a line a state' size_is state/truth_state.txt "$(grep -c ,good, state/state.csv)"
check 'no attitude of unit length' rows state/state.csv '$3 != "good" || ((v = $17 ^ 2 + $18 ^ 2 + $19 ^ 2 + $20 ^ 2) > 0.999999999 && v < 1.000000001)'
check 'a deviation that is none' awk -F, 'NR > 1 && $3 == "good" {for (i = 28; i <= 43; i++) if (!($i > 0 && $i < 1)) exit wrong = 1} END {exit wrong}' state/state.csv
check 'ground truth does not begin at the first state' [ "$(head -1 state/truth_state.txt | cut -c1-40)" = "$(head -1 state/trajectory_state.txt | cut -c1-40)" ]
check 'no band of deviations beside the path' [ "$(grep -c 'three deviations\|stroke=.#bfe0bf' state/trajectory.svg)" -gt 20 ]
check 'state.svg is not whole' [ "$(tail -1 state/state.svg)" = '</svg>' ]
check 'no errors in state.svg' [ "$(grep -c 'error of ' state/state.svg)" -eq 9 ]
check 'no NEES of states' grep -qE 'NEES position [0-9.e-]+, 0 of [0-9]+ beyond 99.9 %; attitude [0-9.e-]+, 0 of [0-9]+ beyond 99.9 %; 3 is right' out.txt
for f in state.csv trajectory_state.txt truth_state.txt state.svg; do cp state/$f again-$f; done
cp state/motion.csv motion.1
fly 0 'state +good' --frames 30 --set vio=1 synthetic:320x240
for f in state.csv trajectory_state.txt truth_state.txt state.svg; do check "$f differs in a second run" cmp -s state/$f again-$f; done
fly 0 'state +none: vio is 0' --frames 8 --set vio=0 synthetic:320x240
check 'the states of an earlier run are still there' none_of_state
fly 0 'state +none: there are no samples of an IMU' --frames 8 --calibration=none synthetic:320x240
fly 0 '^ +no ground truth$' --frames 20 --set vio=1 --truth=none synthetic:320x240
check 'ground truth of states without ground truth' [ ! -e state/truth_state.txt ]
check 'errors in state.svg without ground truth' [ "$(grep -c 'error of ' state/state.svg)" -eq 0 ]
check 'no deviations at the end' grep -qE 'at the end deviations of [0-9.e-]+ m, [0-9.e-]+ deg of tilt, [0-9.e-]+ deg of yaw' out.txt
fly 0 'no state: initialising in 3 of 3 frames' --frames 3 --set vio=1 synthetic:320x240
check 'other states than those of three frames' [ "$(states)" = '3 initialising ' ]
check 'a trajectory, or a plot, without a state' [ ! -s state/trajectory_state.txt ] && [ ! -e state/state.svg ]
fly 0 'no state: no frame had samples of an IMU' --frames 3 --set vio=1 --no-gyro --mono synthetic:320x240
fly 0 'no tilt: two cameras alone' --frames 40 --set vio=1 --no-gyro synthetic:320x240
check 'not by two cameras alone without samples' [ "$(states | sed 's/[0-9][0-9]* //g')" = 'initialising stereo ' ]
check 'a state without samples has no line' [ "$(grep -c ',stereo,' state/state.csv)" -eq "$(wc -l <state/trajectory_state.txt)" ]
check 'no NEES by two cameras alone' grep -qE 'NEES position [0-9.e-]+, [0-9]+ of 2[0-9] beyond' out.txt
printf '0s-0.7s gyro gap\n' >outage.txt
fly 0 'began anew 1 times' --frames 40 --set vio=1 --fault outage.txt synthetic:320x240
check 'not good once there are samples' [ "$(states | sed 's/[0-9][0-9]* //g')" = 'initialising stereo good ' ]
fly 0 'state +none: with --pairs the frames are no sequence' --frames 3 --set vio=1 --pairs synthetic:320x240
fly 0 'no state: initialising in 20 of 20 frames' --frames 20 --set vio=1 --mono synthetic:320x240
fly 0 'no state: initialising in 3 of 3 frames' --frames 3 --set vio=1 --failover synthetic:320x240
fly 2 'VFRONT_E_TUNING: .*ego' --set vio=1 --set ego=0 synthetic:320x240
fly 1 'vio needs a calibrated camera' --set vio=1 --calibration=none synthetic:320x240
printf '0.7s-0.9s both black\n1.2s-1.7s gyro gap\n' >outage.txt
fly 0 'first one after 0.[12][0-9] s; began anew 0 times' --frames 70 --set vio=1 --fault outage.txt synthetic:320x240
check 'not coasting in the dark, by stereo in a gap, good behind both' [ "$(states | sed 's/[0-9][0-9]* //g')" = 'initialising good coasting good stereo good ' ]
check 'a frame of the gap has no line' [ "$(grep -cE ',(good|coasting|stereo),' state/state.csv)" -eq "$(wc -l <state/trajectory_state.txt)" ]
printf '0.7s-1.5s both black\n0.7s-1.5s gyro gap\n' >outage.txt
fly 0 'first one after 0.[12][0-9] s; began anew 1 times' --frames 70 --set vio=1 --fault outage.txt synthetic:320x240
check 'not lost without pictures and samples, or not good behind' [ "$(states | sed 's/[0-9][0-9]* //g; s/coasting //; s/stereo //')" = 'initialising good lost good ' ]
check 'no restart in state.svg' [ "$(grep -cE "stroke-dasharray='4 3' d='M" state/state.svg)" -eq 9 ]
check 'the lost state is written' [ "$(grep -cE ',(good|coasting|stereo),' state/state.csv)" -eq "$(wc -l <state/trajectory_state.txt)" ]

# Fault scripts: the files of a run, frames that are refused, messages.
fault() { # name, script (with \n): writes it
    printf '%b\n' "$2" >"$1.txt"
}
inject() { # exit code, pattern, name of the script, the rest of the arguments: a run of 6 frames into a folder of that name
    code=$1 pattern=$2 name=$3
    shift 3
    expect "$code" "$pattern" --port host --frames 6 --fault "$name.txt" --out "fault-$name" "$@" synthetic:320x240
}
statuses() { cut -d, -f4 "fault-$1/faults.csv" | sed 1d | tr '\n' ' '; }
fault never '99- both black'
inject 0 'faults +never.txt: 0 frames of the input, 0 of them dropped, 0 duplicated' never
cp fault-never/digest.txt digest.6
expect 0 frames --port host --frames 6 --out fault-never synthetic:320x240
check 'a script whose faults never begin changes results' cmp -s digest.6 fault-never/digest.txt
check 'the faults.csv of an earlier run is still there' [ ! -e fault-never/faults.csv ]
fault stamps '2 clock back 1\n4 both duplicate'
inject 0 'refused +2 frames: VFRONT_E_TIME 2' stamps
check 'a refused frame is not reported' grep -qE '^replay: synthetic:320x240: frame 2: vfront_step: VFRONT_E_TIME: ' out.txt
check 'faults.csv: statuses' [ "$(statuses stamps)" = 'ok ok VFRONT_E_TIME ok ok VFRONT_E_TIME ok ' ]
check 'faults.csv has other columns' head_is fault-stamps/faults.csv input,t_ns,faults,status,frame
check 'faults.csv: a row of a duplicate' grep -qx '4,1133333332,both duplicate,VFRONT_E_TIME,' fault-stamps/faults.csv
check 'faults.csv: a frame after a refused one' grep -qx '3,1099999999,,ok,2' fault-stamps/faults.csv
check 'health.csv has not a row for each frame that was taken' size_is fault-stamps/health.csv 6
fault row '1-2 clock back 1'
inject 0 'refused +2 frames: VFRONT_E_TIME 2' row
check 'each frame of a row of refused ones is reported' once 'vfront_step: VFRONT_E_TIME'
fault drop '2-3 both drop'
inject 0 'faults +drop.txt: 2 frames of the input, 2 of them dropped, 0 duplicated' drop
check 'faults.csv: dropped' [ "$(statuses drop)" = 'ok ok dropped dropped ok ok ' ]
check 'a gap is not that of the dropped frames' awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) c[$i] = i} NR == 4 && $c["dt_ns"] == 99999999 {found = 1} END {exit !found}' \
    fault-drop/health.csv
sed 3,4d fault-never/truth.txt >truth.4
check 'ground truth is not that of the frames that were taken' cmp -s truth.4 fault-drop/truth.txt
fault gyro '2 gyro bias 99 99 99\n2 gyro bias 99 99 99'
inject 0 'refused +1 frames: VFRONT_E_IMU 1' gyro
inject 0 'refused +1 frames: VFRONT_E_GYRO 1' gyro --set vio=0
check 'refused samples are handed over again' [ "$(statuses gyro)" = 'ok ok VFRONT_E_GYRO ok ok ok ' ]
fault all '0- both drop'
inject 1 'synthetic:320x240: not one frame was taken' all
fault mono '\n3 camera1 black'
inject 1 'mono.txt:2: camera1 black: there is one camera' mono --mono
fault link '3 link loss 10'
inject 1 'faults of link, cpu and gpu need hil-bench' link
fault bad '# comment\n3 camera0 blank'
inject 1 'bad.txt:2: blank: no such kind; expected drop, ' bad
inject 1 'nosuch.txt: No such file' nosuch
expect 2 '--fault: a value is missing' --fault
expect 2 '--fault: an empty name' --fault=
expect 0 '^  freeze-rows +FROM TO' --fault help
expect 0 'faults +.*faults.txt: [1-9][0-9]+ frames of the input, 1 of them dropped, 3 duplicated' \
    --port host --frames 60 --features-only --fault "$(dirname "$manual")/faults.txt" synthetic:320x240
"$replay" --fault help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort >kinds.txt
kinds_documented() { while read -r kind; do grep -qE "^\|.*\`$kind[ \`]" "$manual" || { echo "$kind"; return 1; }; done <kinds.txt; }
check '--fault help lists no kinds' [ "$(wc -l <kinds.txt)" -gt 20 ]
check 'examples/replay/README.md lacks a kind of fault' kinds_documented
fault black '3 both black'
inject 0 'faults +black.txt: 1 frames of the input' black --overlay=keypoints
bytes_of() { cat "$1"* | wc -c; }
check 'the picture of an overlay has no fault' [ "$(bytes_of fault-black/overlay/000003)" -lt "$(bytes_of fault-black/overlay/000002)" ]

# Cameras of different sizes: key points over the whole of each, drawings side by side.
for i in 0 1 2; do tiles kitti/image_0/$i.pgm 128 96 && tiles kitti/image_1/$i.pgm 200 150; done
expect 0 'camera 1 +200x150 px' --port host --out sizes --overlay kitti
check 'camera 1 has no key point beyond the size of camera 0' \
    awk -F, '$2 == 1 && $3 > 128 && $4 > 96 {n++} END {exit !n}' sizes/keypoints.csv
check 'camera 0 has a key point out of its picture' rows sizes/keypoints.csv '$2 == 1 || ($3 < 128 && $4 < 96)'
expect 0 'camera 0 +332x254 px' --port host sizes/overlay
expect 0 'camera 0 +644x344 px' --port host good/overlay
draw() { # name, the rest of the arguments: draws one frame
    out=draw-$1
    shift
    expect 0 frames --port host --frames 1 --set detect_levels=2 --set describe_margin_px=3 --out $out "$@"
}
last() { ls draw-"$1"/overlay/* | tail -1; }
draw tracks --overlay=tracks kitti
draw keypoints --overlay=keypoints kitti
draw all --overlay=all kitti
draw word --overlay tracks kitti
draw bare --overlay kitti
check '--overlay tracks and --overlay=tracks differ' cmp -s "$(last tracks)" "$(last word)"
check '--overlay and --overlay=all differ' cmp -s "$(last all)" "$(last bare)"
draw tracks-alone --overlay=tracks --set select_points=0 kitti
check 'an overlay of tracks depends on key points' cmp -s "$(last tracks)" "$(last tracks-alone)"
draw keypoints-alone --overlay=keypoints --features-only kitti
check 'an overlay of key points depends on tracks' cmp -s "$(last keypoints)" "$(last keypoints-alone)"
draw flat --overlay=keypoints --set describe=0 kitti
check 'key points are drawn without their orientation' differ "$(last flat)" "$(last keypoints)"
expect 0 '^replay: no stixels: (this build has no VFRONT_STIXELS|stixel is 0)' --port host --frames 1 --out draw-stixels --overlay=stixels kitti
check 'stixels.csv without stixels' test ! -e draw-stixels/stixels.csv
expect 0 '^replay: no disparities: (this build has no VFRONT_DENSE|dense is 0)' --port host --frames 1 --out draw-none --overlay=disparity kitti
check 'no disparities: not reported once' once '^replay: no disparities: '
check 'pictures of disparities without disparities' [ ! -e draw-none/disparity ]

draw() { # name, the rest of the arguments: as above, the second frame of a flight
    out=draw-$1
    shift
    expect 0 frames --port host --frames 2 --out $out "$@" synthetic:320x240
}
draw depth --overlay=depth
draw depth-alone --overlay=depth --set match=0
draw depth-word --overlay depth
draw depth-none --overlay=depth --set stereo=0
draw depth-rows --overlay=depth --set rectify=1
draw matches --overlay=matches --set stereo=0
draw everything --overlay=all
draw less --overlay=all --set stereo=0
draw motion --overlay=motion
draw motion-word --overlay motion
draw motion-tracks --overlay=motion --set ego=2
check '--overlay depth and --overlay=depth differ' cmp -s "$(last depth)" "$(last depth-word)"
check 'an overlay of depths depends on matches' cmp -s "$(last depth)" "$(last depth-alone)"
check 'no depths are drawn' differ "$(last depth)" "$(last depth-none)"
check 'no rows are drawn on rectified pictures' differ "$(last depth)" "$(last depth-rows)"
check 'overlays of depths and of matches are the same' differ "$(last depth)" "$(last matches)"
check '--overlay motion and --overlay=motion differ' cmp -s "$(last motion)" "$(last motion-word)"
check 'overlays of motion and of matches are the same' differ "$(last motion)" "$(last matches)"
check 'pairs that no motion is found from are drawn' differ "$(last motion)" "$(last motion-tracks)"
check 'depths are not among all' differ "$(last everything)" "$(last less)"

# Single pairs: of names left and right, each taken for itself; and a word where pictures are no sequence.
texture() { # file, seed: squares of 12 px in random greys
    mkdir -p "$(dirname "$1")"
    { printf 'P5\n160 120\n255\n'; awk -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < 140; i++) grey[i] = sprintf("%c", 33 + int(rand() * 90))
        for (y = 0; y < 120; y++) for (x = 0; x < 160; x++) printf "%s", grey[int(y / 12) * 14 + int((x + seed % 7) / 12)]
    }'; } >"$1"
}
for i in 1 2 3 10; do texture sides/left$i.pgm $i && texture sides/right$i.pgm $i && texture alone/$i.pgm $i; done
pgm sides/disp_left1.pgm 160 120
printf 'P0: 150 0 80 0 0 150 60 0 0 0 1 0\nP1: 150 0 80 -15 0 150 60 0 0 0 1 0\n' >sides.txt
expect 0 'folder of left and right pictures., 4 frames' --port host --pairs --calibration=sides.txt --out pairs --overlay sides
check 'other pictures are not reported' once 'sides: 1 pictures begin with neither left nor right and are left out'
check 'two cameras are not seen' once 'camera 1     160x120 px, calibrated, radtan without distortion'
check 'pairs are not taken singly' grep -qE 'health +starting 4, tracking 0' out.txt
check 'motion between pairs' once 'motion       none: with --pairs the frames are no sequence'
check 'no depths of pairs' grep -qE 'partners +[0-9.]+ depths.*; no matches' out.txt
check 'a word about pictures that are no sequence, with --pairs' [ "$(grep -c 'hardly anything' out.txt)" -eq 0 ]
check 'not a drawing of each pair' [ "$(ls pairs/overlay | wc -l)" -eq 4 ]
check 'files of tracks or matches have rows with --pairs' [ "$(cat pairs/tracks.csv | wc -l)" -eq 1 ] && [ ! -e pairs/matches.csv ]
mkdir last && cp sides/left10.pgm sides/right10.pgm last
expect 0 '1 frames' --port host --pairs --calibration=sides.txt --out one-pair last
of_frame() { awk -F, -v frame="$2" 'NR > 1 && $1 == frame {$1 = ""; print}' "$1"; }
of_frame pairs/keypoints.csv 3 >pairs.3
of_frame one-pair/keypoints.csv 0 >pair.0
check 'no key points of a pair' [ -s pair.0 ]
check 'a pair depends on those before it, or is not the last by number' cmp -s pairs.3 pair.0
expect 0 'hardly anything is followed from one picture to the next, in 3 of 3 steps: with --pairs' --port host alone
expect 0 'hardly anything is followed from one picture to the next, in 3 of 3 steps' --port host --features-only alone
expect 0 'frames' --port host --frames 6 synthetic:320x240
check 'a sequence is taken for none' [ "$(grep -c 'hardly anything' out.txt)" -eq 0 ]
expect 0 'frames' --port host --frames 6 --features-only synthetic:320x240
check 'key points of a sequence are taken for those of none' [ "$(grep -c 'hardly anything' out.txt)" -eq 0 ]
expect 0 'camera 0 +160x120' --port host --mono sides
check '--mono takes right pictures' once 'left and right pictures), 4 frames'
rm sides/right3.pgm && expect 1 'sides/left3.pgm and sides/right10.pgm differ in name; --mono takes left alone' --port host sides
rm sides/right10.pgm sides/left3.pgm && expect 1 'sides/left10.pgm has none of right beside it; --mono takes left alone' --port host sides

# Layouts of folders: left and right, TUM RGB-D, TUM-VI; what a folder may be.
for i in 1 2 3; do texture twin/left/$i.pgm $i && texture twin/right/$i.pgm $i && texture tum/rgb/$i.pgm $i; done
expect 0 '.folders left and right., 3 frames' --port host --out twin-out --calibration=sides.txt twin
check 'two cameras are not seen' once 'camera 1     160x120 px, calibrated, radtan without distortion'
printf '0.1\n0.2\n0.4\n' >twin/times.txt
expect 0 '3 frames' --port host --mono --out twin-out twin
check 'stamps are not those of times.txt' [ "$(cut -d ' ' -f 2 twin-out/digest.txt | tr '\n' ' ')" = '100000000 200000000 400000000 ' ]
mv twin/right/3.pgm twin/right/4.pgm && expect 1 'twin/left/3.pgm and twin/right/4.pgm differ in name' --port host twin
printf '# color images\n1305031102.175304 rgb/1.pgm\n1305031102.211214 rgb/2.pgm\n1305031102.243211 rgb/3.pgm\n' >tum/rgb.txt
printf '1305031102.175304 0 0 0 0 0 0 1\n1305031102.243211 1 0 0 0 0 0 1\n' >tum/groundtruth.txt
expect 0 '.TUM RGB-D., 3 frames' --port host --calibration=sides.txt --out tum-out tum
check 'stamps are not those of rgb.txt' [ "$(head -1 tum-out/digest.txt | cut -d ' ' -f 2)" = 1305031102175304000 ]
check 'no ground truth of TUM RGB-D' once '3 frames with ground truth, 1 m'
echo '1305031102.243211 rgb/3.pgm' >>tum/rgb.txt && expect 1 'tum/rgb.txt:5: not after the time of the line before' --port host tum
echo '1305031102 rgb/9.pgm' >tum/rgb.txt && expect 1 'tum/rgb.txt:1 names tum/rgb/9.pgm: No such file' --port host tum
echo 'rgb/1.pgm' >tum/rgb.txt && expect 1 'tum/rgb.txt:1: not a line .time .s. file name' --port host tum
for c in 0 1; do for i in 1 2 3; do texture vi/mav0/cam$c/data/$i.pgm $i; echo "$((1000000000 + 50000000 * i)),$i.pgm" >>vi/mav0/cam$c/data.csv; done; done
mkdir vi/dso vi/mav0/mocap0 vi/mav0/imu0
for i in 0 1 2 3 4 5 6; do echo "$((950000000 + 50000000 * i)),0,0,0,0,0,9.81"; done >vi/mav0/imu0/data.csv
for i in 1 2 3; do echo "$((1000000000 + 50000000 * i)),$i,0,0,1,0,0,0"; done >vi/mav0/mocap0/data.csv
for c in 0 1; do cat <<END
cam$c: {camera_model: pinhole, intrinsics: [100, 100, 80, 60], resolution: [160, 120], distortion_model: equidistant, distortion_coeffs: [0.01, 0, 0, 0],
       T_cam_imu: [[1, 0, 0, -0.$c], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}
END
done >vi/dso/camchain.yaml
printf 'accelerometer_noise_density: 0.0014\naccelerometer_random_walk: 0.000086\ngyroscope_noise_density: 0.00008\ngyroscope_random_walk: 0.0000022\nupdate_rate: 200\n' \
    >vi/dso/imu_config.yaml
expect 0 '.TUM-VI., 3 frames' --port host --out vi-out vi
check 'the lens of TUM-VI' once 'camera 1     160x120 px, calibrated, equidistant$'
check 'the baseline of TUM-VI' once 'baseline     0.10000 m'
check 'the IMU of TUM-VI has no noise' once 'gyro         used, that of an IMU$'
check 'no ground truth of TUM-VI' once '3 frames with ground truth, 2 m'
mkdir nothing && expect 1 'nothing: no PNG, JPEG, BMP, PGM or PPM picture .* Known are folders with mav0 .*, image_0 .*, rgb.txt .*, left and right' nothing
touch film.MP4 one.JPG; expect 1 'one.JPG: a picture; give the folder' one.JPG
expect 1 'film.MP4: gst: .*; a folder of its pictures will do, too' film.MP4

# Calibration of ROS and OpenCV: a pair 0.12 m apart, by rectification and by R and T; what is not known is named.
mv twin/right/4.pgm twin/right/3.pgm
info() { # P[3], distortion model, coefficients: camera_info of ROS
    cat <<END
image_width: 160
image_height: 120
camera_name: narrow
camera_matrix: {rows: 3, cols: 3, data: [100, 0, 80, 0, 100, 60, 0, 0, 1]}
distortion_model: $2
distortion_coefficients: {rows: 1, cols: 5, data: [$3]}
rectification_matrix: {rows: 3, cols: 3, data: [0.8, 0, 0.6, 0, 1, 0, -0.6, 0, 0.8]}
projection_matrix: {rows: 3, cols: 4, data: [110, 0, 80, $1, 0, 110, 60, 0, 0, 0, 1, 0]}
END
}
matrix() { printf '%s: !!opencv-matrix\n   rows: %d\n   cols: %d\n   dt: d\n   data: [ %s ]\n' "$@"; }
info 0 plumb_bob '0.1, 0, 0, 0, 0' >left.yaml && info -13.2 plumb_bob '0.1, 0, 0, 0, 0' >right.yaml
expect 0 'baseline +0\.12000 m' --port host --frames 2 --calibration=left.yaml,right.yaml twin
check 'the lens of plumb_bob' once 'camera 0     160x120 px, calibrated, radtan$'
info -13.2 equidistant '0.01, 0, 0, 0' >right.yaml && expect 0 'camera 1 +160x120 px, calibrated, equidistant$' --port host --frames 2 --calibration=left.yaml,right.yaml twin
info 0 rational_polynomial '0.1, 0, 0, 0, 0, 0.01, 0, 0' >one.yaml && expect 0 'calibrated, rational$' --port host --mono --frames 2 --calibration=one.yaml twin
info 0 double_sphere '0.1, 0.6' >one.yaml && expect 0 'calibrated, ds$' --port host --mono --frames 2 --calibration=one.yaml twin
info 0 fov 0 >one.yaml && expect 1 'one.yaml: distortion_model fov: plumb_bob, rational_polynomial, equidistant, double_sphere, eucm and omni are known' --port host --calibration=one.yaml twin
info 0 plumb_bob '0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0, 0, 0' >one.yaml && expect 1 'number 9 is not 0' --port host --mono --calibration=one.yaml twin
info 0 plumb_bob 0 | sed 's/width: 160/width: 320/' >one.yaml && expect 1 'one.yaml: 320x120, but the pictures are 160x120' --port host --mono --calibration=one.yaml twin
{ echo '%YAML:1.0'; echo '---'; for i in 1 2; do matrix M$i 3 3 '100., 0., 80., 0., 100., 60., 0., 0., 1.'; matrix D$i 1 5 '0.1, 0., 0., 0., 0.'; done; } >intrinsics.yml
{ echo '%YAML:1.0'; echo '---'; matrix R 3 3 '1., 0., 0., 0., 1., 0., 0., 0., 1.'; matrix T 3 1 '-0.12, 0., 0.'; } >extrinsics.yml
expect 0 'baseline +0\.12000 m' --port host --frames 2 --calibration=intrinsics.yml,extrinsics.yml twin
expect 1 'beside a file of ROS or OpenCV at most three others of these kinds' --port host --calibration=intrinsics.yml,vi/dso/camchain.yaml twin
sed 's/data: \[ 1\., 0\.,/data: [ 2., 0.,/' extrinsics.yml >turned.yml && expect 1 'turned.yml: R is not a rotation' --port host --calibration=intrinsics.yml,turned.yml twin

# Calibration: that of the data set, and another in its place.
calib() { printf 'P0: 100 0 64 0 0 100 48 0 0 0 1 0\nP1: 100 0 100 %s 0 100 75 0 0 0 1 0\n' "$1"; }
chain() { # resolution and model of camera 0
    cat <<END
cam0: {camera_model: $2, intrinsics: [100, 100, 64, 48], resolution: [$1], distortion_model: radtan, distortion_coeffs: [0.1, 0, 0, 0]}
cam1: {camera_model: pinhole, intrinsics: [100, 100, 99, 74], resolution: [200, 150], distortion_model: equidistant,
       distortion_coeffs: [0.1, 0, 0, 0], T_cn_cnm1: [[1, 0, 0, -0.25], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}
END
}
sensor() { # rows of T_BS but the last
    cat <<END
%YAML:1.0
sensor_type: camera
T_BS:
  data: [$1, 0, 0, 0, 1]
resolution: [64, 48]
camera_model: pinhole
intrinsics: [60, 60, 32, 24]
distortion_model: radial-tangential
distortion_coefficients: [-0.1, 0, 0, 0]
END
}
try() { expect "$1" "$2" --port host --frames 2 --calibration="$3" "$4"; } # exit code, pattern, calibration, data set
calib -50 >kitti/calib.txt
pose() { echo "1 0 0 $1 0 1 0 0 0 0 1 0"; }
for i in 0 1 2; do pose $i; done >kitti/poses.txt
expect 0 '3 frames with ground truth, 2 m' --port host kitti
# Camera 1 at 0.25 0 0.05.
printf 'P0: 100 0 64 0 0 100 48 0 0 0 1 0\nP1: 100 0 100 -30 0 100 75 -3.75 0 0 1 -0.05\n' >kitti/calib.txt
expect 0 '3 frames with ground truth, 2 m' --port host --set rectify=1 --out path kitti
check 'ground truth is not that of the rectified camera' awk '{x = $2 - 2 / sqrt(1.04); y = $3; z = $4 + 0.4 / sqrt(1.04)}
    END {if (x * x + y * y + z * z > 1e-12) exit 1}' path/truth.txt
calib -50 >kitti/calib.txt
pose 3 >>kitti/poses.txt && expect 0 '3 frames with ground truth, 2 m' --port host kitti
head -2 kitti/poses.txt >two && mv two kitti/poses.txt && expect 1 'kitti/poses.txt: 2 poses for 3 pictures' --port host kitti
expect 0 'accuracy +no ground truth' --port host --truth=none kitti
echo hello >kitti/poses.txt && expect 1 'kitti/poses.txt:1: fewer than the 12 numbers of a pose' --port host kitti
rm kitti/poses.txt && for i in 0 1 2; do echo "0.$i $i 0 0 0 0 0 1"; done >kitti/groundtruth.txt
expect 0 '3 frames with ground truth, 2 m' --port host kitti
echo '0.05 0 0 0 0 0 0 1' >>kitti/groundtruth.txt
expect 1 'kitti/groundtruth.txt:4: not after the time of the line before' --port host kitti
rm kitti/groundtruth.txt kitti/calib.txt
calib -50 >good.txt && try 0 'camera 1 +200x150 px, calibrated, radtan without distortion' good.txt kitti
expect 0 'baseline +0\.50000 m' --port host --frames 2 --calibration good.txt kitti
expect 0 'baseline +0\.11000 m' --port host --frames 2 synthetic:128x96
try 0 'good.txt: has no pose of camera 0 on the IMU: no gyro' good.txt synthetic:128x96
try 0 'gyro +none' good.txt synthetic:128x96
try 0 'camera 0 +128x96 px, not calibrated' none synthetic:128x96
for o in --quiet --no-gyro; do "$replay" $o --port host --frames 4 --calibration=good.txt --mono --out out$o synthetic:128x96 >/dev/null 2>&1; done
check 'gyro samples are used with a calibration that knows no IMU' cmp -s out--quiet/digest.txt out--no-gyro/digest.txt
cp good.txt kitti/calib.txt && expect 0 'baseline +0\.50000 m' --port host --frames 2 kitti
calib '' >kitti/calib.txt && expect 1 'kitti/calib.txt:2: P1 has 11 numbers instead of 12' --port host kitti
expect 0 'camera 0 +128x96 px, calibrated, radtan without distortion' --port host --frames 2 --mono kitti
try 0 'baseline +0\.50000 m' good.txt kitti
try 0 'camera 1 +200x150 px, not calibrated' none kitti
calib 0 >one.txt && try 0 '^replay: no depth: the calibration does not put the cameras in different places' one.txt kitti
head -1 good.txt >half.txt && expect 0 'partners +no depths: there is one camera' --port host --frames 2 --mono --calibration=half.txt kitti
rm kitti/calib.txt
sed 's/100/1e9/' good.txt >far.txt && try 1 'VFRONT_E_CALIBRATION: .*rig.camera\[0\].fx_px' far.txt kitti
expect 2 '--calibration: a value is missing' --calibration
expect 2 '--calibration: an empty name' --calibration= kitti
expect 2 '--calibrations: no such option' --calibrations
try 1 'nosuch.yaml: No such file or directory' nosuch.yaml kitti
expect 0 '--calibration=FILE' --help
chain '128, 96' pinhole >chain.yaml
for i in 1 2 3; do pgm mav/mav0/cam0/data/$i.pgm 64 48; echo "$i,$i.pgm" >>mav/mav0/cam0/data.csv; done
expect 0 'cam0/sensor.yaml: missing: the camera counts as uncalibrated' --port host mav
turned='0, 0, 1, 0.5, -1, 0, 0, 0.25, 0, -1, 0, 0.125'
sensor "$turned" >mav/mav0/cam0/sensor.yaml
if "$replay" --calibration=chain.yaml --frames 1 --port host kitti 2>&1 | grep -q libyaml; then
    try 1 'chain.yaml: this build has no libyaml to read it' chain.yaml kitti
    expect 0 'cam0/sensor.yaml: this build has no libyaml to read it: the camera counts as uncalibrated' --port host mav
else
    try 0 'camera 0 +128x96 px, calibrated, radtan' chain.yaml kitti
    try 0 'camera 1 +200x150 px, calibrated, equidistant' chain.yaml kitti
    try 0 'baseline +0\.25000 m' chain.yaml kitti
    chain '640, 480' pinhole >other.yaml && try 1 'other.yaml: cam0: resolution 640x480, but the pictures are 128x96' other.yaml kitti
    chain '128, 96' fov >fov.yaml && try 1 'fov.yaml: cam0: camera_model fov: ' fov.yaml kitti
    try 1 'chain.yaml: only files sensor.yaml are given together' chain.yaml,chain.yaml kitti
    head -1 chain.yaml >lone.yaml && try 1 'lone.yaml: no cam1; --mono takes cam0 alone' lone.yaml kitti
    expect 0 'camera 0 +64x48 px, calibrated, radtan' --port host mav
    mkdir mav/mav0/imu0
    imu() { sed "$1" imu.csv >mav/mav0/imu0/data.csv; }
    for i in 0 1 2 3 4; do echo "$i,0.0$i,0,0,0,0,9.8$i"; done >imu.csv && imu ''
    expect 0 'gyro +used, that of an IMU; its noise is not known' --port host --out imu mav
    check 'not the samples up to each picture' [ "$(of_health imu/health.csv imu_samples)" = '0 2 2 ' ]
    imu '1s/^/#t\n/;4,5d' && expect 0 'imu +missing in 1 frames' --port host mav
    imu 's/0.03/0.03,0/' && expect 1 'imu0/data.csv:4: 7 numbers behind the time instead of 6: wx,wy,wz' --port host mav
    imu '2s/.....$//' && expect 1 'imu0/data.csv:2: 5 numbers behind the time instead of 6: wx,wy,wz' --port host mav
    imu '2s/.*/1,0.01,0,0/' && expect 1 'imu0/data.csv:2: 3 numbers behind the time instead of 6: wx,wy,wz' --port host mav
    imu 's/0.03/O.03/' && expect 1 'imu0/data.csv:4: "O.03,0,0,0,0,9.83" is not a number' --port host mav
    imu 's/0.03/nan/' && expect 1 'imu0/data.csv:4: a number that is not finite' --port host mav
    imu '4s/^3/-3/' && expect 1 'imu0/data.csv:4: does not begin with a time .ns. and a comma' --port host mav
    imu '4s/^3/2/' && expect 1 'imu0/data.csv:4: not after the time of the line before' --port host mav
    imu 's/.*/#/' && expect 1 'imu0/data.csv: no sample' --port host mav
    imu 's/0.03/101/' && expect 1 'VFRONT_E_IMU: .*frame.imu.0..gyro_rad_s' --port host mav
    check 'a refused sample is handed over again' grep -qE '^refused +1 frames: VFRONT_E_IMU 1' out.txt
    imu ''
    noise() { # line that is left out, or another command of sed
        sed "$1" >mav/mav0/imu0/sensor.yaml <<END
sensor_type: imu
T_BS: {data: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}
rate_hz: 200
gyroscope_noise_density: 1.7e-04 # [rad/s/sqrt(Hz)]
gyroscope_random_walk: 2e-05
accelerometer_noise_density: 2e-3
accelerometer_random_walk: 3e-3
END
    }
    noise '' && expect 0 'gyro +used, that of an IMU$' --port host mav
    noise '4,7d' && expect 0 'gyro +used, that of an IMU; its noise is not known' --port host mav
    noise 3d && expect 1 'imu0/sensor.yaml: no rate_hz' --port host mav
    noise 5d && expect 1 'imu0/sensor.yaml: no gyroscope_random_walk' --port host mav
    noise 's/2e-3/-2e-3/' && expect 1 'imu0/sensor.yaml: accelerometer_noise_density is not in 0..10' --port host mav
    noise 's/3e-3/nan/' && expect 1 'imu0/sensor.yaml: accelerometer_random_walk is not in 0..10' --port host mav
    noise 's/2e-05/2e-05m/' && expect 1 'imu0/sensor.yaml: gyroscope_random_walk: "2e-05m" is not a number' --port host mav
    noise 's/: 200/: [200]/' && expect 1 'imu0/sensor.yaml: rate_hz: "a list" is not a number' --port host mav
    noise 's/T_BS/T_SB/' && expect 1 'imu0/sensor.yaml: no T_BS' --port host mav
    rm mav/mav0/imu0/sensor.yaml
    truth=mav/mav0/state_groundtruth_estimate0 && mkdir $truth
    body() { for i in 0 1 2 3 4 5; do echo "${i}00000,$((i * $1)),0,0,1,0,0,0,0"; done >$truth/data.csv; }
    sed -i '/data:/s/.*/  data: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]/' mav/mav0/cam0/sensor.yaml
    for i in 1 2 3; do echo "${i}00000,$i.pgm"; done >mav/mav0/cam0/data.csv
    body 1 && expect 0 '3 frames with ground truth, 2 m' --port host --out path mav
    check 'ground truth of the body in axes of the camera' [ "$(awk '{print $2, $3, $4}' path/truth.txt | tail -1)" = '2 0 0' ]
    sensor "$turned" >mav/mav0/cam0/sensor.yaml && expect 0 '3 frames with ground truth, 2 m' --port host --out path mav
    check 'ground truth of the body in axes of a turned camera' [ "$(awk '{print $2, $3, $4}' path/truth.txt | tail -1)" = '0 0 2' ]
    sensor "$turned" >$truth/sensor.yaml && expect 0 '3 frames with ground truth, 2 m' --port host --out path mav
    check 'ground truth of a sensor in the place of the camera' [ "$(awk '{print $2, $3, $4}' path/truth.txt | tail -1)" = '2 0 0' ]
    sensor '1, 2, 3' >$truth/sensor.yaml
    expect 1 'state_groundtruth_estimate0/sensor.yaml: T_BS has 7 numbers instead of 16' --port host mav
    rm $truth/sensor.yaml && echo x >>$truth/data.csv && expect 1 'data.csv:7: not a line .t .ns.,x,y,z,qw,qx,qy,qz' --port host mav
    body 1 && printf 'P0: 60 0 32 0 0 60 24 0 0 0 1 0\n' >lone.txt
    expect 0 'the calibration has no pose of camera 0 on it: no ground truth' --port host --calibration=lone.txt mav
    rm -r $truth && for i in 1 2 3; do echo "$i,$i.pgm"; done >mav/mav0/cam0/data.csv
    sensor "$turned" >mav/mav0/cam0/sensor.yaml
    sensor "$turned" >half.yaml && sed -i 's/64, 48/128, 96/' half.yaml
    try 0 'half.yaml: nothing about camera 1, which counts as uncalibrated' half.yaml kitti
    try 0 '^replay: no depth: camera 1 is not calibrated' half.yaml kitti
    sensor '1, 2, 3' >mav/mav0/cam0/sensor.yaml && expect 1 'mav/mav0/cam0/sensor.yaml: T_BS has 7 numbers instead of 16' mav
    try 0 'camera 0 +64x48 px, not calibrated' none mav
fi

# IMU samples of KITTI: at 200 Hz, from before the first picture to behind the last.
expect 0 'imu\.csv .*wx,wy,wz' --help
calib -50 >kitti/calib.txt
awk 'BEGIN {print "#t,wx,wy,wz,ax,ay,az"; for (i = -10; i <= 42; i++) printf "%.6f,0.01,%g,-0.01,0.1,%g,9.8\n", i * 0.005, i * 1e-4, i * 1e-3}' >kitti/imu.csv
expect 0 'T_cam0_imu|kitti: has no pose of camera 0 on the IMU: no gyro' --port host kitti
printf '0 -1 0 0.1\n0 0 -1 0.2\n1 0 0 0.3\n0 0 0 1\n' >T.txt && cp T.txt kitti/T_cam0_imu.txt
expect 0 'gyro +used, that of an IMU; its noise is not known' --port host --out drive kitti
check 'the IMU has another place than the cameras' grep -qE 'baseline +0\.50000 m' out.txt
check 'not the samples from picture to picture' [ "$(of_health drive/health.csv imu_samples)" = '0 21 21 ' ]
check 'samples that are no prior' awk -F, 'NR > 1 && $2 != "rotation" && $2 != "both" {exit wrong = 1} END {exit wrong || NR != 3}' drive/prediction.csv
expect 0 'gyro +not used' --port host --no-gyro --out drive kitti
check 'samples with --no-gyro' [ "$(of_health drive/health.csv imu_samples)" = '0 0 0 ' ]
fault gyro-gap '1 gyro gap 50'
expect 0 'imu +gap|gyro short in 1 frames' --port host --fault gyro-gap.txt --out drive kitti
check 'a gap takes no samples of an IMU' [ "$(of_health drive/health.csv imu_samples)" = '0 11 21 ' ]
fault gyro-drop '1 both drop'
expect 0 'frames' --port host --fault gyro-drop.txt --out drive kitti
check 'IMU samples of a dropped frame do not come with the next' [ "$(of_health drive/health.csv imu_samples)" = '0 41 ' ]
fault gyro-stuck '1 gyro stuck'
expect 0 'frames' --port host --fault gyro-stuck.txt --out drive kitti
check 'rates of an IMU are not stuck' [ "$(of_health drive/health.csv gyro_stuck)" = '0 1 0 ' ]
cp kitti/imu.csv whole.csv
damaged() { # sed command, pattern: kitti with a damaged imu.csv
    sed "$1" whole.csv >kitti/imu.csv
    expect 1 "$2" --port host kitti
}
awk -F, -v OFS=, 'NR > 1 {$1 = sprintf("%.6f", $1 + 1403636579)} {print}' whole.csv >kitti/imu.csv # seconds since 1970
for i in 0.0 0.1 0.2; do awk -v s=$i 'BEGIN {printf "%.6f\n", 1403636579 + s}'; done >kitti/times.txt
expect 0 'gyro +used' --port host --out drive kitti
check 'not the same samples at times since 1970' [ "$(of_health drive/health.csv imu_samples | tr ' ' '\n' | awk '$1 > 19 {n++} END {print n + 0}')" -eq 2 ]
rm kitti/times.txt
damaged '20s/,[^,]*$//' 'kitti/imu.csv:20: 5 numbers behind the time instead of 6: wx,wy,wz'
damaged '3s/^-0.045/-0.06/' 'kitti/imu.csv:3: not after the time of the line before'
damaged '30s/,/;/' 'kitti/imu.csv:30: does not begin with a time .s. and a comma'
damaged '30s/^.*/nan,0,0,0,0,0,0/' 'kitti/imu.csv:30: does not begin with a time .s. and a comma'
damaged '30s/$/x/' 'kitti/imu.csv:30: "x" is not a number'
damaged '30s/$/e999/' 'kitti/imu.csv:30: a number that is not finite'
damaged '2,$d' 'kitti/imu.csv: no sample'
rm kitti/imu.csv && mkdir kitti/imu.csv && expect 1 'kitti/imu.csv: Is a directory' --port host kitti
rmdir kitti/imu.csv && cp whole.csv kitti/imu.csv
damaged_pose() { # sed command, pattern: kitti with a damaged T_cam0_imu.txt
    sed "$1" T.txt >kitti/T_cam0_imu.txt
    expect 1 "$2" --port host kitti
}
damaged_pose 4d 'kitti/T_cam0_imu.txt: 3 rows instead of 4'
damaged_pose '4s/.*/&\n0 0 0 1/' 'kitti/T_cam0_imu.txt:5: a fifth row'
damaged_pose '2s/0.2//' 'kitti/T_cam0_imu.txt:2: 3 numbers instead of a row of 4'
damaged_pose '2s/0.2/two/' 'kitti/T_cam0_imu.txt:2: "two" is not a number'
damaged_pose '2s/0.2/inf/' 'kitti/T_cam0_imu.txt:2: a number that is not finite'
damaged_pose '2s/-1/1/' 'kitti/T_cam0_imu.txt: its 3x3 part is not a rotation'
damaged_pose '4s/1/2/' 'kitti/T_cam0_imu.txt:4: the last row is not 0 0 0 1'
cp T.txt kitti/T_cam0_imu.txt
kalibr_noise() { printf 'accelerometer_noise_density: 1e-2\naccelerometer_random_walk: 2e-4\ngyroscope_noise_density: 5e-3\ngyroscope_random_walk: 4e-6\nrostopic: /imu\nupdate_rate: %s\n' "$1"; }
kalibr_noise 200.0 >kitti/imu.yaml
if "$replay" --port host --frames 1 kitti 2>&1 | grep -q libyaml; then
    expect 1 'kitti/imu.yaml: this build has no libyaml to read it' --port host kitti
else
    expect 0 'gyro +used, that of an IMU$' --port host kitti
    check 'gaps of a whole recording' [ "$(grep -c '^imu ' out.txt)" -eq 0 ]
    sed 20,21d whole.csv >kitti/imu.csv && expect 0 '^imu +gap in 1 frames$' --port host --out drive kitti
    check 'health.csv does not name the gap' [ "$(of_health drive/health.csv imu)" = ' gap  ' ]
    cp whole.csv kitti/imu.csv
    kalibr_noise 5 >kitti/imu.yaml && expect 1 'kitti/imu.yaml: update_rate is not in 10..20000' --port host kitti
    kalibr_noise 200 | sed 4d >kitti/imu.yaml && expect 1 'kitti/imu.yaml: no gyroscope_random_walk' --port host kitti
    { echo imu0: && kalibr_noise 200 | sed 's/^/  /'; } >imu.yaml && rm kitti/imu.yaml # as Kalibr writes it behind a calibration
    sensor "$turned" >left.yaml && sed -i 's/64, 48/128, 96/' left.yaml
    try 0 'gyro +used, that of an IMU$' left.yaml,imu.yaml kitti
    try 0 'gyro +used, that of an IMU$' imu.yaml,left.yaml kitti
    try 0 'gyro +used, that of an IMU; its noise is not known' left.yaml kitti
    try 1 'imu.yaml: a second imu.yaml' imu.yaml,left.yaml,imu.yaml kitti
    expect 0 'state +none: the noise of the IMU is not known, which --calibration=imu.yaml can give' --port host kitti
    expect 0 'no state: initialising in 3 of 3 frames' --port host --calibration=imu.yaml --out drive kitti
    check 'imu.yaml alone takes the data set'"'"'s own calibration away' grep -qE 'baseline +0\.50000 m' out.txt
    check 'not a state a frame' size_is drive/state.csv 4
    expect 0 'no state: initialising in 3 of 3 frames' --port host --failover --calibration=imu.yaml kitti
    expect 0 'state +none: ego is 0' --port host --set ego=0 --calibration=imu.yaml kitti
    expect 0 'state +none: with --no-gyro there are no samples' --port host --no-gyro --calibration=imu.yaml kitti
    expect 0 'no state: initialising in 3 of 3 frames' --port host --mono --calibration=imu.yaml kitti
    expect 0 'state +none: vio is 0' --port host --set vio=0 --calibration=imu.yaml --out drive kitti
    check 'states that are not wanted' [ ! -e drive/state.csv ]
    try 1 ',imu.yaml,left.yaml: an empty name' ,imu.yaml,left.yaml kitti
    chain '128, 96' pinhole | sed '1s/camera_model/timeshift_cam_imu: 0.01, T_cam_imu: [[0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], &/' >shift.yaml
    expect 0 'gyro +used, that of an IMU$' --port host --calibration=shift.yaml,imu.yaml --out drive kitti
    check 'an IMU that is ahead by 10 ms' [ "$(of_health drive/health.csv imu_samples)" = '0 21 21 ' ]
    sed -i 's/0.01,/1.01,/' shift.yaml && try 1 'shift.yaml: cam0: timeshift_cam_imu is not in -1..1' shift.yaml kitti
fi
rm -f kitti/imu.csv kitti/imu.yaml kitti/T_cam0_imu.txt kitti/calib.txt

expect 2 '--overlay=points: not tracks, keypoints, depth, matches, motion, stixels, disparity or all' --out good --overlay=points
expect 2 '--overlay=: not tracks, keypoints, depth, matches, motion, stixels, disparity or all' --out good --overlay=
expect 2 '--overlays: no such option' --out good --overlays
expect 2 'detect_levels=9: not a whole number in 1\.\.[1-8]$' --set detect_levels=9
expect 2 'cell_width_px=2: not a whole number in 3\.\.4096' --set cell_width_px=2
expect 2 'select_points=40000: not a whole number in 0\.\.' --set select_points=40000
expect 2 'describe=2: not a whole number in 0\.\.[01]$' --set describe=2
expect 2 'describe_margin_px=2: not a whole number in 3\.\.64' --set describe_margin_px=2
expect 1 'the grid has 22440 cells, over VFRONT_CELLS' --port host --set cell_width_px=3 --set cell_height_px=3 synthetic:560x360
expect 0 'select_points +[0-9]+ +0\.\.' --help
expect 0 '--features-only' --help
expect 0 'failover has no effect: this is the host port already' --port host --failover --frames 2 synthetic:320x240

if [ -n "$fake" ]; then # each step is late, and the host port takes over behind the second
    host=$replay replay=$fake
    expect 0 '^port +cuda' --frames 4 --out gpu synthetic:160x120
    check 'a fail-over without a reason' [ "$(grep -c 'took over' out.txt)" -eq 0 ]
    expect 0 'frame 2: the host port took over: results in a row that came after deadline_us: 2' --failover --set deadline_us=1 \
        --set failover_overruns=2 --frames 4 --out over synthetic:160x120
    check 'not two frames after the fail-over' grep -q 'the host port took over for 2 frames' out.txt
    check 'other results after the fail-over' cmp -s gpu/digest.txt over/digest.txt
    replay=$host
fi

expect 2 'no such option' --nonsense
expect 0 'track_target' --help
expect 2 'not auto, host or cuda' --port gpu
expect 2 'no such tuning value; near: track_target' --set track_targt=100
expect 2 'not a whole number in' --set track_target=99999
expect 2 'not NAME=VALUE' --set track_target
expect 2 'not below detect_threshold' --set detect_threshold_low=20
expect 2 'not a number from 1 on' --frames 0
expect 2 'needs --out' --overlay
expect 2 'needs --out' --overlay=keypoints
expect 1 'nosuch: No such file or directory' nosuch
mkdir empty && expect 1 'empty: no .* picture in this folder' empty
touch file && expect 1 'file: not a folder, and no recording' file
expect 2 '--export x: not mcap or csv' --export x
expect 2 '--export needs --out DIR' --export mcap
expect 2 '--record-buffer 0: not a number of megabytes' --record-buffer 0
expect 1 'nowhere/a.vfr: No such file' --frames 1 --record nowhere/a.vfr
expect 1 '/dev/full: No space left on device: the recording ends, the run goes on' --frames 3 --record /dev/full synthetic:64x64
expect 1 'there is no recording to take it from' --frames 1 --out o --export csv synthetic:64x64
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
mkdir full && ln -s /dev/full full/tracks.csv
expect 1 'full/tracks.csv: No space left' --port host --frames 3 --out full synthetic:320x240
mkdir -p stuck/descriptors.csv/sub
expect 1 'stuck/descriptors.csv: ' --port host --frames 2 --set describe=0 --out stuck synthetic:320x240

# Disparities and stixels, with a build that has them.
world() { # exit code, pattern, the rest of the arguments: a run into the same folder
    code=$1 pattern=$2
    shift 2
    expect "$code" "$pattern" --port host --frames 3 --set rectify=1 --out world "$@" synthetic:192x144
}
"$replay" --help | grep -q '^map  *0  *0\.\.0' && expect 2 'this build has none of it' --map-load place.map synthetic:192x144
if [ "$dense" ]; then
    replay=$dense
    world 0 'disparity +[5-9][0-9]\.[0-9] % of the pixels' --set dense=1 --set stixel=1 --set stixel_model=2 --overlay=disparity
    check 'not a picture of disparities a frame' [ "$(ls world/disparity | wc -l)" -eq 3 ]
    check 'no line about the road' grep -qE 'road +seen [1-3], held [0-2], given 0, none 0; [1-9]' out.txt
    check 'stixels.csv has other columns' head_is world/stixels.csv \
        frame,column,x_px,width_px,base_px,top_px,type,disparity_px,distance_m,sigma_m,cost
    for f in stixels road; do check "examples/replay/README.md has other columns of $f.csv" documented world/$f.csv; done
    check 'stixels do not reach from row to row' awk -F, 'BEGIN {frame = -1} NR > 1 {
        if ($6 > $5 || $5 != ($1 == frame && $2 == column ? top - 1 : 143)) {print FILENAME ":" NR ": " $0; exit wrong = 1}
        frame = $1; column = $2; top = $6} END {exit wrong || NR < 100}' world/stixels.csv
    check 'obstacles.csv has not a row of 72 directions a frame' awk -F, 'NF != 74 {exit wrong = 1} END {exit wrong || NR != 4}' world/obstacles.csv
    check 'a warning that nobody asked for' [ "$(grep -c '^replay: ' out.txt)" -eq 0 ]
    mv world first
    "$replay" --port host --frames 3 --out whole --overlay >out.txt 2>&1
    check 'a run without DATASET lacks disparities, stixels or the map' [ "$(grep -cE '^(disparity +[5-9]|road +seen|places +[1-9])' out.txt)" -eq 3 ]
    expect 1 'whole/overlay/000000.p.*: 388x[45][0-9]0 is larger than this build takes' --port host whole/overlay # two rows of two
    world 0 'disparity +[5-9]' --set dense=1 --overlay=stixels
    check 'no stixels: not said' once '^replay: no stixels: stixel is 0'
    for i in 0 1 2; do check 'pictures of disparities depend on stixels' cmp -s world/disparity/00000$i.* first/disparity/00000$i.*; done
    check 'all frames have the same disparities' differ first/disparity/000000.* first/disparity/000001.*
    check 'overlays of disparities and of stixels are the same' differ world/overlay/000002.* first/overlay/000002.*
    check 'the stixels of an earlier run are still there' [ ! -e world/stixels.csv ]
    expect 0 'camera 0 +192x144 px' --port host world/disparity
    rm -r world && world 0 'disparity +[5-9]' --set dense=2 --overlay=disparity
    check 'no disparities: not said' once '^replay: no disparities: dense is 2'
    check 'pictures of disparities that are not on the host' [ ! -e world/disparity ]
    check 'disparities are not drawn' differ world/overlay/000002.* first/overlay/000002.*
    world 1 'needs two calibrated cameras' --set dense=1 --mono --set rectify=0
    world 2 'there is no dense: stixel' --set stixel=1
    expect 1 'VFRONT_E_CALIBRATION: .*dense needs' --port host --set dense=1 --calibration=none synthetic:192x144
    mkdir -p full16/disparity && ln -s /dev/full full16/disparity/000001.png && ln -s /dev/full full16/disparity/000001.pgm
    expect 1 'full16/disparity/000001.p.*: cannot be written: No space left' \
        --port host --frames 3 --set rectify=1 --set dense=1 --out full16 synthetic:192x144
    check 'the picture of disparities before the fault is not there' [ -s "$(ls full16/disparity/000000.*)" ]
    # maps
    flight() { # exit code, pattern, the rest of the arguments: a flight with keyframes
        code=$1 pattern=$2
        shift 2
        expect "$code" "$pattern" --port host --frames 16 --set track_target=3 --set stereo=0 "$@" synthetic:160x120
    }
    flight 0 'digest' --map-save place.map --out without
    check 'no map, or something beside it' [ "$(ls place.map*)" = place.map ]
    flight 0 'digest' --map-load place.map --map-save again.map --out with
    check 'no loop leads to a keyframe that was loaded' awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "loaded") c = i}
        NR > 1 {n += $c} END {exit !n}' with/loops.csv
    check 'a keyframe was loaded that nobody gave' awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "loaded") c = i}
        NR > 1 && $c {exit wrong = 1} END {exit wrong}' without/loops.csv
    check 'nothing was added to a map' [ "$(wc -c <again.map)" -gt "$(wc -c <place.map)" ]
    flight 0 'digest' --map-load again.map --set rig_offset=0
    head -c 1000 place.map >cut.map
    flight 1 'cut.map: vfront_map_load: VFRONT_E_MAP: map: image is cut' --map-load cut.map --map-save never.map
    check 'a map of a run that failed' [ ! -e never.map ]
    { head -c 500 place.map; printf '\377\377\377'; tail -c +504 place.map; } >damaged.map
    flight 1 'damaged.map: vfront_map_load: VFRONT_E_MAP: map: image is damaged: CRC' --map-load damaged.map
    flight 1 'place.map: vfront_map_load: VFRONT_E_MAP_OTHER: map: of other cameras' --map-load place.map --mono
    flight 1 'none.map: No such file' --map-load none.map
    flight 1 'no/folder.map.part: No such file|no/folder.map: No such file' --map-save no/folder.map
    flight 1 '/dev/full' --map-save /dev/full
    flight 2 'a value is missing|one DATASET only|an empty name' --map-load ''
    flight 2 '--map-load needs keyframes' --map-load place.map --set map=0
    flight 2 '--map-save needs keyframes' --map-save place.map --pairs
    flight 2 'not with --record' --map-load place.map --record map
fi

echo "replay: $cases cases, $bad wrong"
[ $bad -eq 0 ]
