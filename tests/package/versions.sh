#!/bin/sh
# SPDX-License-Identifier: MIT
# Applications that were compiled with another vfront.h or config than the library are refused, and told by which value; one with the
# same header runs. The version and the ABI of the library are those of the header, and the newest in src/CHANGELOG.md.
#   tests/package/versions.sh CC LIB 'options of the compiler' 'libraries'
set -eu
cc=$1 lib=$2 options=$3 libs=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/app.c" <<'APP'
#include <stdio.h>
#include <string.h>
#include "vfront.h"
static struct { vfront_t vf; char after[4096]; } memory;
int main(void)
{
    const vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = 320, .height_px = 240}}};
    memset(memory.after, 0x5a, sizeof memory.after);
    printf("%s: ", vfront_status_name(vfront_init(&memory.vf, &rig, NULL, VFRONT_PORT_HOST)));
    printf("%s\n", vfront_detail(&memory.vf));
    for (size_t i = 0; i < sizeof memory.after; i++)
        if (memory.after[i] != 0x5a) return puts("written beyond vfront_t"), 1;
    vfront_shutdown(&memory.vf);
    return strcmp(vfront_version(), VFRONT_VERSION) != 0;
}
APP
run() { # an application with the header in $dir: what it prints must match $1; then options of the compiler
    want=$1
    shift
    $cc -std=c11 -I"$dir" -I. $options "$@" "$dir/app.c" "$lib" -o "$dir/app" $libs
    got=$("$dir/app") || { echo "versions: $got: exit $?"; exit 1; }
    echo "$got" | grep -qE "^$want\$" || { echo "versions: '$got' should be '$want'"; exit 1; }
}
changed() { # a header changed by the sed script $2, in which $3 must then stand
    cp vfront.h vfront_cfg.h "$dir"
    sed -i "$2" "$dir/$1"
    ! cmp -s "$1" "$dir/$1" || { echo "versions: nothing to change in $1 by $2"; exit 1; }
}
bytes='[0-9]+ in the application, [0-9]+ in the library'
cp vfront.h vfront_cfg.h "$dir"
run 'VFRONT_OK: '
changed vfront.h 's|^\( *uint32_t gap; .*\)|uint32_t later[2];\n\1|'
run "VFRONT_E_CONFIG: sizeof\(vfront_health_t\): $bytes"
changed vfront.h 's|^ *uint64_t dt_ns;  .*||'
sed -i 's|/\*\*< Time since the frame before \[ns\]; 0 in the first. \*/||' "$dir/vfront.h"
run "VFRONT_E_CONFIG: sizeof\(vfront_health_t\): $bytes"
changed vfront.h 's|^    X(deadline_us, |    X(later_us, 1, 0, 2, "later") \\\n&|'
run "VFRONT_E_CONFIG: sizeof\(vfront_tuning_t\): $bytes"
changed vfront.h 's|^#define VFRONT_ABI .*|#define VFRONT_ABI 999|'
run 'VFRONT_E_CONFIG: VFRONT_ABI: 999 in the application, [0-9]+ in the library'
changed vfront_cfg.h 's|X(VFRONT_HOST)|X(VFRONT_HOST) X(VFRONT_LATER)\n#define VFRONT_LATER 3|'
run 'VFRONT_E_CONFIG: VFRONT_LATER: 3 in the application, unknown in the library'
changed vfront_cfg.h 's| X(VFRONT_HOST)||'
run 'VFRONT_E_CONFIG: VFRONT_HOST: unknown in the application, 1 in the library'
cp vfront.h vfront_cfg.h "$dir"
run 'VFRONT_E_CONFIG: VFRONT_TRACKS: 512 in the application, [0-9]+ in the library' -DVFRONT_TRACKS=512
run 'VFRONT_E_CONFIG: VFRONT_WIDTH: 640 in the application, [0-9]+ in the library' -DVFRONT_WIDTH=640 # a vfront_t of fewer bytes
run 'VFRONT_E_CONFIG: VFRONT_HOST: 0 in the application, 1 in the library' -DVFRONT_HOST=0

numbers=$(awk '$2 ~ /^VFRONT_VERSION_(MAJOR|MINOR|PATCH)$/ {printf "%s%s", dot, $3; dot = "."}' vfront.h)
text=$(sed -n 's/^#define VFRONT_VERSION "\(.*\)"$/\1/p' vfront.h)
abi=$(sed -n 's/^#define VFRONT_ABI \([0-9]*\).*/\1/p' vfront.h)
newest=$(sed -n 's/^## \([0-9].*\)/\1/p' src/CHANGELOG.md | head -n 1)
[ "$numbers" = "$text" ] && [ "$text, ABI $abi" = "$newest" ] || { echo "versions: vfront.h says $numbers and $text, ABI $abi, src/CHANGELOG.md $newest"; exit 1; }
echo "versions: $text; ten applications of other headers refused by name"
