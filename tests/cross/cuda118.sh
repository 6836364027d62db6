#!/bin/sh
# SPDX-License-Identifier: MIT
# Lays Debian's CUDA 11.8, the last with code for TX2 and Xavier, out as NVIDIA's own tree: nvcc for this machine, headers and static
# libraries for aarch64. The packages are unpacked, not installed: apt's state, dpkg's state and the machine's own nvcc stay as they
# are. They come from wherever this machine's Debian packages come from. Exit 77: they cannot be had.
#   tests/cross/cuda118.sh PREFIX
set -eu
[ $# -eq 1 ] || { echo "tests/cross/cuda118.sh PREFIX" >&2; exit 2; }
[ -f "$1/.cuda118" ] && exit 0
mkdir -p "$(dirname "$1")"
prefix=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
new=$prefix.new
work=$new/work
rm -rf "$prefix" "$new"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/x"
: >"$work/status"

absent() { echo "cuda118: skipped, $1"; rm -rf "$new"; exit 77; }
[ "$(uname -m)" = x86_64 ] || absent "nvcc 11.8 is taken for x86-64 only"
for tool in apt-get dpkg-deb; do command -v $tool >/dev/null || absent "no $tool"; done
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

# "address key" of each of the machine's sources of this release, from both kinds of file.
sources() {
    for f in /etc/apt/sources.list.d/*.sources; do
        [ -f "$f" ] || continue
        sed '/^#/d' "$f" | awk -v release="$release" '
            function put(  i, n, a) {
                if (index(" " suites " ", " " release " ") && types ~ /(^| )deb( |$)/ && off !~ /no/) {
                    n = split(uris, a, " ")
                    for (i = 1; i <= n; i++) print a[i], key
                }
                types = uris = suites = key = off = ""
            }
            /^[ \t]*$/ {if (NF == 0 && types != "") put(); next}
            {value = $0; sub(/^[^:]*:[ \t]*/, "", value)}
            /^Types:/ {types = value}  /^URIs:/ {uris = value}  /^Suites:/ {suites = value}
            /^Signed-By:/ {key = value}  /^Enabled:/ {off = value}
            END {if (types != "") put()}'
    done
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$f" ] || continue
        awk -v release="$release" '$1 == "deb" {
            key = ""
            line = $0
            if (match(line, /\[[^]]*\]/)) {
                options = substr(line, RSTART, RLENGTH)
                line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
                if (match(options, /signed-by=[^] ]*/)) key = substr(options, RSTART + 10, RLENGTH - 10)
            }
            split(line, a, " ")
            if (a[3] == release) print a[2], key
        }' "$f"
    done
}
sources | sort -u | while read -r address key; do
    case $key in /*) key=" signed-by=$key" ;; *) key= ;; esac # else apt's own keys
    echo "deb [arch=amd64,arm64$key] $address $release non-free"
    echo "deb [arch=amd64$key] $address $release main"
done >"$work/sources.list"
[ -s "$work/sources.list" ] || absent "no source of Debian packages on this machine"

private_apt() (
    cd "$work"
    apt-get -qq -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o Dir::Etc::sourcelist="$work/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists" \
        -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Acquire::Languages=none "$@"
)
# apt-get update reports some failures as warnings only; a package that is not there then shows in the download
private_apt update >"$work/log" 2>&1 || absent "apt-get update failed"
# the last one because cooperative_groups.h includes it
private_apt download nvidia-cuda-toolkit:amd64 nvidia-cuda-dev:arm64 libcu++-dev >>"$work/log" 2>&1 \
    || absent "no such packages: $(tail -n 1 "$work/log")"

arm=./usr/lib/aarch64-linux-gnu
dpkg-deb -x "$work"/nvidia-cuda-toolkit_*_amd64.deb "$work/x"
dpkg-deb -x "$work"/libcu++-dev_*_all.deb "$work/x"
dpkg-deb --fsys-tarfile "$work"/nvidia-cuda-dev_*_arm64.deb \
    | tar -x -C "$work/x" ./usr/include $arm/libcudart_static.a $arm/libcudadevrt.a $arm/libculibos.a

target=$new/targets/aarch64-linux
mkdir -p "$new/bin" "$new/nvvm/bin" "$target/lib" "$new/targets/x86_64-linux"
cd "$work/x/usr"
mv lib/nvidia-cuda-toolkit/bin/nvcc lib/nvidia-cuda-toolkit/bin/crt "$new/bin/" # usr/bin/nvcc is a script with a fixed path
for tool in ptxas cudafe++ fatbinary nvlink bin2c cuobjdump nvdisasm cu++filt; do mv "bin/$tool" "$new/bin/"; done
mv lib/nvidia-cuda-toolkit/bin/cicc "$new/nvvm/bin/"
mv lib/nvidia-cuda-toolkit/libdevice "$new/nvvm/"
mv include "$target/"
mv lib/aarch64-linux-gnu/*.a "$target/lib/"
ln -s targets/aarch64-linux/include "$new/include"
ln -s ../aarch64-linux/include "$new/targets/x86_64-linux/include" # to compile only: no x86-64 libraries here
cat >"$new/bin/nvcc.profile" <<'X'
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH            += $(CICC_PATH):$(_HERE_):
INCLUDES        +=  "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)"
X
cd /
rm -rf "$work"
: >"$new/.cuda118"
mv "$new" "$prefix"
