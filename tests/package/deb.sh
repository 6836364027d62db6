#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian package: it holds what it should, lintian finds no error, and what it holds works from where it is unpacked. Exit 77: no lintian.
#   tests/package/deb.sh CC BUILD MAKE
set -eu
cc=$1 build=$2 make=$3
fail() { echo "deb: $*"; exit 1; }
for tool in lintian dpkg-shlibdeps; do command -v $tool >/dev/null || { echo "deb: skipped, not installed: $tool"; exit 77; }; done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
deb=$("$make" -s BUILD="$build" deb | tail -n 1)
[ -f "$deb" ] || fail "no package: $deb"
version=$(sed -n 's/^.define VFRONT_VERSION "\(.*\)"$/\1/p' vfront.h)
[ "$(dpkg-deb -f "$deb" Package Version)" = "Package: vfront
Version: $version" ] || fail "$(dpkg-deb -f "$deb")"
dpkg-deb -f "$deb" Depends | grep -q 'libc6 (>= ' || fail "depends on $(dpkg-deb -f "$deb" Depends)"
lintian --no-cfg --fail-on error --allow-root "$deb" >"$dir/said" 2>&1 || { cat "$dir/said"; fail "lintian finds errors"; }
! grep '^E:' "$dir/said" || fail "lintian finds errors"
dpkg-deb -x "$deb" "$dir/tree"
dpkg-deb -e "$deb" "$dir/control"
(cd "$dir/tree" && md5sum --quiet -c "$dir/control/md5sums") || fail "md5sums"
"$dir/tree/usr/bin/vfront-replay" --quiet --frames 2 synthetic:160x120 | grep -q '^digest' || fail "vfront-replay does not run"
"$dir/tree/usr/bin/vfront-calibrate" --help | grep -q -- '--calibration' || fail "vfront-calibrate does not run"
"$dir/tree/usr/bin/vfront-companion" --help | grep -q -- '--link' || fail "vfront-companion does not run"
libs=$(sed -n 's/^Libs.private: //p' "$dir/tree/usr/lib/pkgconfig/vfront.pc")
$cc -std=c11 -I"$dir/tree/usr/include/vfront" examples/minimal.c "$dir/tree/usr/lib/libvfront.a" $libs -o "$dir/minimal" && "$dir/minimal" >/dev/null || fail "the library does not link"
for f in vfront/px4.params vfront/companion.service doc/vfront/copyright doc/vfront/changelog.gz; do [ -f "$dir/tree/usr/share/$f" ] || fail "no $f"; done
grep -q '^ExecStart=/usr/bin/vfront-companion ' "$dir/tree/usr/share/vfront/companion.service" || fail "the unit does not start the package's companion"
echo "deb: $(dpkg-deb -c "$deb" | grep -c -v '/$') files, $(wc -c <"$deb") bytes, lintian: $(grep -c '^W:' "$dir/said" || true) warnings"
