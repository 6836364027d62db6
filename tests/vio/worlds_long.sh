#!/bin/sh
# SPDX-License-Identifier: MIT
# Long flights through drawn worlds: drift, deviations and states by time.
#   tests/vio/worlds_long.sh BUILD [--quick]
# Eight hovers of 10 minutes and four flights of 30 without pictures, two hovers of 10 minutes with them; a hover moves by at most
# 0.5 m/s^2. --quick: a hover of 3 minutes, 100 s near points, 100 s with a principal point that is off, whose bounds are asserted;
# and that these are broken where the covariance is too small.
set -u
build=${1:-}
[ -x "$build/worlds" ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2; exit 2; }
python=${PYTHON:-python3}
hover='--between accel=0.05,0.5 --between speed=0.0001,0.001 --between turn_rate=0.02,0.1'
long() {
    title=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    $python tests/vio/worlds.py "$build/$program" --title "$title" --over-time "$@" || exit 1
    echo
}
if [ "${2:-}" = --quick ]; then
    # shellcheck disable=SC2086
    {
        long 'Hover, without pictures' worlds --runs 1 --seed 3 --seconds 180 --every 30 $hover --check
        long 'Slow past points at half a metre' worlds --runs 1 --seed 4 --seconds 100 --every 50 --draw motion,place,frames --check
        long 'Principal point 2.5 deviations off' worlds --runs 1 --seed 6 --seconds 100 --every 50 --draw motion --set centre_x0=0.5 --check
        long 'Hover, without pictures, covariance 25 times too small' worlds --runs 1 --seed 3 --seconds 180 --every 30 $hover --broken covariance --check --must-fail
    }
    exit
fi
# shellcheck disable=SC2086
{
    long 'Hovers, without pictures' worlds --runs 8 --seconds 600 --every 60 $hover
    long 'Flights, without pictures' worlds --runs 4 --seconds 1800 --every 180
    long 'Hovers, with pictures' worlds-rendered --runs 2 --seconds 600 --every 60 $hover
}
