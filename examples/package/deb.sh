#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian package of what `make install` and `make programs` made: library, header, share files, and the programs as vfront-replay, vfront-calibrate,
# vfront-companion.
#   examples/package/deb.sh BUILD MAKE    writes BUILD/vfront_VERSION_ARCHITECTURE.deb; called by `make deb`
# Who is named as its maintainer: DEBFULLNAME, DEBEMAIL, as of Debian's own tools.
set -eu
build=$1 make=$2
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v $tool >/dev/null || { echo "deb: $tool is not installed (Debian: dpkg-dev, binutils)"; exit 1; }
done
version=$(sed -n 's/^.define VFRONT_VERSION "\(.*\)"$/\1/p' vfront.h)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/tree doc=$work/tree/usr/share/doc/vfront
"$make" -s BUILD="$build" PREFIX=/usr DESTDIR="$root" install
strip --strip-debug "$root/usr/lib/libvfront.a"
install -d "$root/usr/bin" "$doc" "$root/DEBIAN" "$work/debian"
for program in replay calibrate companion; do install -m 755 -s "$build/$program" "$root/usr/bin/vfront-$program"; done
install -m 644 LICENSE "$doc/copyright"
gzip -9n <src/CHANGELOG.md >"$doc/changelog.gz"
if grep -q '^Libs.private:.* -L/' "$root/usr/lib/pkgconfig/vfront.pc"; then # the CUDA Toolkit lies where its maker puts it, beyond the distribution
    install -d "$root/usr/share/lintian/overrides"
    echo 'vfront: pkg-config-bad-directive' >"$root/usr/share/lintian/overrides/vfront"
fi
printf 'Source: vfront\n\nPackage: vfront\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O tree/usr/bin/vfront-replay tree/usr/bin/vfront-calibrate tree/usr/bin/vfront-companion 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "deb: dpkg-shlibdeps found no library"; exit 1; }
chmod -R u=rwX,go=rX "$root"
cat >"$root/DEBIAN/control" <<END
Package: vfront
Version: $version
Architecture: $architecture
Maintainer: ${DEBFULLNAME:-Local build of vfront} <${DEBEMAIL:-vfront@example.org}>
Installed-Size: $(du -sk "$root" | cut -f 1)
Depends: $depends
Section: libdevel
Priority: optional
Description: vision system of a flight computer
 Features, tracks, depth, obstacles and a metric state with covariance from
 camera frames and IMU samples, in fixed memory and time: a static library
 with its header, pkg-config and CMake files, and the programs vfront-replay
 (runs over recordings), vfront-calibrate (checks a calibration) and
 vfront-companion (sends to PX4 and ArduPilot).
END
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
deb=$build/vfront_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >/dev/null
echo "$deb"
