#!/bin/sh
# SPDX-License-Identifier: MIT
# Keeps what a long proof prints: its title, the date, the digest of the sources (tests/house/sources.sh) and the command at the head of a file, its output below.
#   tests/house/record.sh FILE TITLE COMMAND...
# Exit status: that of the command. The file is written when the command has ended, whatever it said; one that is cut off leaves FILE as it was.
set -u
[ $# -ge 3 ] || { echo "record: FILE TITLE COMMAND..." >&2; exit 2; }
file=$1 title=$2
shift 2
new=$(mktemp) || exit 1
trap 'rm -f "$new" "$new.code"' EXIT
trap 'exit 130' INT TERM
printf '%s\n%s, sources %s: %s\n\n' "$title" "$(date -u +%Y-%m-%d)" "$(tests/house/sources.sh)" "$*" >"$new"
{ "$@" 2>&1; echo $? >"$new.code"; } | tee -a "$new"
cat "$new" >"$file" || exit 1
exit "$(cat "$new.code")"
