#!/bin/sh
# SPDX-License-Identifier: MIT
# Check of the symbols that the archive exports and asks for: tests/house/symbols.sh LIB [nm [cublas]], with which it must ask for cuBLAS, too
set -eu
lib=$1 nm=${2:-nm} cublas=${3:-}
bad=0
complain() { [ -z "$2" ] || { echo "$1: $2"; bad=1; }; }
# `nm -g` for what is exported: an indirect function that the loader resolves is local in spite of its letter. Only clang gives what
# resolves it a global name, so no two files may have clones of one name: it would not link, or link one to the other's.
exported=$("$nm" -g --defined-only "$lib" 2>/dev/null | awk 'NF == 3 && $3 !~ /[.]resolver$/ {print $3}' | sort -u)
complain "clones of one name in two files" "$("$nm" "$lib" 2>/dev/null | awk 'NF == 3 && $2 == "i" {sub(/[.]ifunc$/, "", $3); print $3}' | sort | uniq -d | tr '\n' ' ')"
complain "exported, but neither vfront_ nor vf_" "$(echo "$exported" | grep -vE '^(vfront_|vf_)|^$' | tr '\n' ' ')"
wanted=$("$nm" -g --undefined-only "$lib" 2>/dev/null | awk 'NF == 2 {print $2}' | sort -u)
foreign=$(for s in $wanted; do echo "$exported" | grep -qxF "$s" || echo "$s"; done)
# libc: memory and strings, the clock and the scheduler, one thread of the CUDA port's and its bell; CUDA: the runtime; what compilers and linkers
# bring with them
allowed='^(mem(cpy|set|cmp|move)|bcmp|str(cmp|len)|clock_gettime|nanosleep|sched_yield|pthread_(create|detach|tryjoin_np|sigmask)|sem_(init|post|wait|trywait|timedwait)|prctl|sigfillset|cuda[A-Z][A-Za-z0-9_]*|__cuda[A-Za-z0-9_]*|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__cpu_model|__cpu_indicator_init|atexit)$'
if [ "$cublas" ]; then
    allowed="$allowed|^cublas(Create|Destroy|SetStream|SetWorkspace)_v2\$|^cublasS(geqrf|getrf|getrs)Batched\$"
    for s in cublasCreate_v2 cublasSgeqrfBatched cublasSgetrfBatched cublasSgetrsBatched; do
        echo "$foreign" | grep -qx $s || complain "built for cuBLAS, but not asked for" $s
    done
fi
complain "asked for, but not allowed" "$(echo "$foreign" | grep -vE "$allowed" | tr '\n' ' ')"
# writable data: none of C; a .cu file's registration with the runtime is the compiler's. Constant pointers count as read-only.
writable=$("$nm" -A "$lib" 2>/dev/null | grep -v '\.cu\.o:' | awk '$2 ~ /^[BbCc]$/ || $3 ~ /^[BbCc]$/ {print $NF}' | sort -u | tr '\n' ' ')
complain "writable data" "$writable"
data=$(size -A "$lib" 2>/dev/null | awk '/\.cu\.o/ {cu = 1} /:$/ && !/\.cu\.o/ {cu = 0} $1 == ".data" || $1 == ".bss" {if (!cu) n += $2} END {print n + 0}')
[ "$data" -eq 0 ] || complain "bytes of .data and .bss" "$data"
[ $bad -eq 0 ] && echo "symbols: $(echo "$exported" | wc -l) exported, $(echo "$foreign" | wc -l) asked for, all as they should be"
exit $bad
