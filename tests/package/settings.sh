#!/bin/sh
# SPDX-License-Identifier: MIT
# A library that is installed after the first `make` is taken by the next one, and one that goes away is left out: GStreamer, played by a pkg-config
# that answers as it does.
#   tests/package/settings.sh CC MAKE
set -eu
cc=$1 make=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
object=$dir/build/examples/companion/source_gst.o
unset MAKEFLAGS
fail() { echo "settings: $*"; exit 1; }
run() { PATH=$dir/bin:$PATH "$make" -s CC="$cc" CUDA=0 BUILD="$dir/build" CFLAGS=-O0 "$@"; }
mkdir -p "$dir/bin" "$dir/include/gst/app"
echo '#include <stddef.h>' >"$dir/include/gst/app/gstappsink.h"
installed() { # exit code of pkg-config
    printf '#!/bin/sh\ncase $1 in --cflags) echo "-I%s" ;; *) echo -lm ;; esac\nexit %s\n' "$dir/include" "$1" >"$dir/bin/pkg-config"
    [ "$1" = 0 ] || printf '#!/bin/sh\nexit %s\n' "$1" >"$dir/bin/pkg-config"
    chmod +x "$dir/bin/pkg-config"
}
made() { # 0 if the next `make` makes the object again; this GStreamer is a header without content, so that it cannot succeed
    run "$object" >"$dir/said" 2>&1 || true
    grep -q "CC .*source_gst.o" "$dir/said"
}
installed 1
made || fail "the object is not made"
! made || fail "nothing changed, and the object is made again"
! grep -q HAVE_GST "$dir/build/settings-c" || fail "GStreamer is found where there is none"
installed 0
made || fail "GStreamer installed, and the object stays as it was"
grep -q HAVE_GST "$dir/build/settings-c" || fail "GStreamer is not found"
installed 1
made || fail "GStreamer removed, and the object stays as it was"
[ -f "$object" ] || fail "no object"
echo "settings: GStreamer installed, and removed"
