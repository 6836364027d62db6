#!/bin/sh
# SPDX-License-Identifier: MIT
# Test of an application built from what `make install` puts in place: linked into a shared library, and two libraries of different configs in one
# program; with --found by pkg-config and by CMake instead, in C and C++17. `make uninstall` leaves nothing. Exit 77: --found without pkg-config or cmake.
# The programs that are built go with it, and with SHARED=1 the shared library.
#   tests/package/install.sh [--found] CC CXX BUILD SMALL SMALL_CUDA MAKE
#   BUILD, SMALL: folders of the standard and of the small library; SMALL_CUDA: the small one's CUDA
set -eu
found=
[ "$1" != --found ] || { found=1; shift; }
cc=$1 cxx=$2 build=$3 small=$4 small_cuda=$5 make=$6
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$dir/usr/local
fail() { echo "install: $*"; exit 1; }
missing=
for tool in cmake pkg-config; do [ -z "$found" ] || command -v $tool >/dev/null || missing="$missing $tool"; done
[ -z "$missing" ] || { echo "install: skipped, not installed:$missing"; exit 77; }
run() { "$@" >"$dir/said" 2>&1 || { cat "$dir/said"; fail "$*"; }; }
settings() { # of the library in folder $1
    [ "$1" = "$build" ] || echo "CFG=tests/config/small.h CUDA=$small_cuda PREFIX_SYMBOLS=small_"
}
for b in "$build" "$small"; do run "$make" -s SHARED=$((1 - ${found:-0})) BUILD="$b" $(settings "$b") DESTDIR="$dir" install; done
mv "$root" "$dir/moved" && root=$dir/moved # everything is found from where it lies
lib=$root/lib/libvfront.a
for f in px4.params ardupilot.parm rig.yaml companion.service HOVER.md; do cmp -s "examples/companion/$f" "$root/share/vfront/$f" || fail "share/vfront/$f is not there"; done
libs=$(sed -n 's/^Libs.private: //p' "$root/lib/pkgconfig/vfront.pc")
[ -n "$libs" ] || fail "vfront.pc has no Libs.private"

strict="-std=c11 -Wall -Wextra -pedantic -Werror"
for p in replay calibrate companion; do
    [ ! -f "$build/$p" ] || "$root/bin/vfront-$p" --help >/dev/null || fail "bin/vfront-$p does not run"
done
grep -q '^ExecStart=/usr/local/bin/vfront-companion --source ' "$root/share/vfront/companion.service" || fail "the unit does not start what is installed"
linked() {
    # the shared libraries that SHARED=1 adds: their ABI is the header's
    abi=$(sed -n 's/^.define VFRONT_ABI //p' vfront.h)
    run $cc $strict -I"$root/include/vfront" examples/minimal.c -L"$root/lib" -lvfront -o "$dir/app"
    readelf -d "$dir/app" | grep -q "NEEDED.*\[libvfront.so.$abi\]" || fail "linked with libvfront.so, it does not need ABI $abi"
    run env LD_LIBRARY_PATH="$root/lib" "$dir/app"
    readelf -d "$root/lib/libsmall_vfront.so" | grep -q "SONAME.*\[libsmall_vfront.so.$abi\]" || fail "the small shared library has another SONAME"
    others=$(nm -D --defined-only "$root/lib/libvfront.so" | awk '$3 !~ /^vfront_/ {print $3}')
    [ -z "$others" ] || fail "libvfront.so shows $others"
    # a shared library of the caller's code: no relocation of code, none of the library's inner symbols to be seen
    include="-I$root/include/vfront"
    run $cc $strict $include -fPIC -shared -DPART=own tests/package/part.c "$lib" -o "$dir/libown.so" -Wl,-z,text -Wl,-z,defs $libs
    case $libs in # of a build with kernels, these are in it, too
    *cudart*) readelf -SW "$dir/libown.so" | grep -q ' \.nv_fatbin ' || fail "the shared library has no kernels" ;;
    esac
    if nm -D --defined-only "$dir/libown.so" | grep ' vf_'; then fail "inner symbols are seen outside of a shared library"; fi
    run $cc $strict -DPARTS='X(own)' tests/package/parts.c -L"$dir" -lown -Wl,-rpath,"$dir" -o "$dir/shared"
    shared=$("$dir/shared") || fail "linked as a shared library, it does not run"

    # two libraries: each steps as it does alone
    part() { run $cc $strict -I"$root/include/$2" -DPART="$1" -c tests/package/part.c -o "$dir/$1.o"; }
    part standard vfront
    part small small_vfront
    run $cc $strict -DPARTS='X(standard)' tests/package/parts.c "$dir/standard.o" "$lib" -o "$dir/first" $libs
    run $cc $strict -DPARTS='X(small)' tests/package/parts.c "$dir/small.o" "$root/lib/libsmall_vfront.a" -o "$dir/second" $libs
    run $cc $strict -DPARTS='X(standard) X(small)' tests/package/parts.c "$dir/standard.o" "$dir/small.o" "$lib" "$root/lib/libsmall_vfront.a" -o "$dir/both" $libs
    alone=$("$dir/first" && "$dir/second") && both=$("$dir/both") || fail "one of two libraries does not run"
    [ "$alone" = "$both" ] || fail "two libraries in one program: $both; each alone: $alone"
    [ "${shared#own}" = "$(echo "$alone" | sed -n 's/^standard//p')" ] || fail "shared: $shared; static: $alone"
    [ "$(echo "$both" | awk '{print $2}' | uniq | wc -l)" -eq 2 ] || fail "both are the same library"
    others=$(nm -g --defined-only "$root/lib/libsmall_vfront.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^small_/ {print $3}')
    [ -z "$others" ] || fail "without the prefix: $others"
}
found() {
    export PKG_CONFIG_PATH="$root/lib/pkgconfig"
    run $cc $strict $(pkg-config --cflags vfront) examples/minimal.c -o "$dir/app" $(pkg-config --static --libs vfront)
    run "$dir/app"
    run $cxx -std=c++17 -Wall -Wextra -pedantic -Wold-style-cast -Werror $(pkg-config --cflags small_vfront) tests/package/app.cpp -o "$dir/app" \
        $(pkg-config --static --libs small_vfront)
    run "$dir/app"
    grep -q "^$(pkg-config --modversion vfront):" "$dir/said" || fail "vfront.pc has another version than the library"
    version=$(awk '$2 ~ /^VFRONT_VERSION_(MAJOR|MINOR)$/ {printf "%s%s", dot, $3; dot = "."}' vfront.h)
    later=${version%.*}.$((${version#*.} + 1))
    run cmake -S tests/package -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$root" -DVERSION="$version" -DROOT="$PWD" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
    run cmake --build "$dir/cmake"
    run "$dir/cmake/c_app"
    run "$dir/cmake/cxx_app"
    ! cmake -S tests/package -B "$dir/cmake-later" -DCMAKE_PREFIX_PATH="$root" -DVERSION="$later" -DROOT="$PWD" >"$dir/said" 2>&1 || fail "CMake takes this for version $later"
    grep -q "requested version \"$later\"" "$dir/said" || { cat "$dir/said"; fail "CMake does not say why"; }
}
if [ -n "$found" ]; then found; else linked; fi

mkdir -p "$dir/usr" && mv "$root" "$dir/usr/local"
for b in "$build" "$small"; do run "$make" -s BUILD="$b" $(settings "$b") DESTDIR="$dir" uninstall; done
left=$(find "$dir/usr" ! -type d)
[ -z "$left" ] || fail "uninstall left $left"
echo "install: $([ -n "$found" ] && echo 'pkg-config, CMake' || echo 'shared library, two libraries in one program')"
