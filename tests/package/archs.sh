#!/bin/sh
# SPDX-License-Identifier: MIT
# The architectures that `make` takes for each release of nvcc, by programs that answer as that nvcc does; releases before 10.2 are refused.
#   tests/package/archs.sh MAKE
set -eu
make=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
unset MAKEFLAGS CUDA_ARCH NVCC CROSS CFG
nvcc() { # that says it is release $1
    mkdir -p "$dir/bin"
    printf '#!/bin/sh\necho "nvcc: NVIDIA (R) Cuda compiler driver"\necho "Cuda compilation tools, release %s, V%s.89"\n' "$1" "$1" >"$dir/bin/nvcc"
    chmod +x "$dir/bin/nvcc"
}
show() { "$make" -s BUILD="$dir/build" CUDA_HOME="$dir" CUDA=1 "$@" show 2>&1 | tail -n 1; }
takes() { # release, architectures
    nvcc "$1"
    got=$(show | sed -n 's/.* CUDA_ARCH=\(.*\) BUILD=.*/\1/p')
    [ "$got" = "$2" ] || { echo "archs: nvcc $1: '$got' should be '$2'"; bad=1; }
}
takes 10.2 "53 62 72" # JetPack 4
for release in 11.0 11.1 11.2 11.3; do takes $release 72; done
for release in 11.4 11.8; do takes $release "72 87"; done # JetPack 5; Debian
for release in 12.0 12.2 12.6; do takes $release "72 87"; done # JetPack 6
for release in 13.0 13.1 14.0; do takes $release "75 87 90 110"; done # JetPack 7, servers
nvcc 10.2
show CUDA_ARCH=62 | grep -q 'CUDA_ARCH=62 ' || { echo "archs: CUDA_ARCH= on the command line is not taken"; bad=1; }
for release in 9.2 10.0 10.1 none; do
    nvcc $release
    show | grep -q 'is not nvcc of CUDA 10.2 or later' || { echo "archs: nvcc $release is not refused: $(show)"; bad=1; }
done
[ $bad -ne 0 ] || echo "archs: 13 releases, 4 refused"
exit $bad
