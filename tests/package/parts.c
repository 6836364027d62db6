/* SPDX-License-Identifier: MIT */
/* Program of the parts that PARTS names, X(name) each: steps them by turns, and prints a digest of each. */
#include <stdint.h>
#include <stdio.h>

#define X(name) uint64_t step_##name(void);
PARTS
#undef X

int main(void)
{
    int failed = 0;
    for (int i = 0; i < 5; i++) {
#define X(name)                                                                                                        \
    {                                                                                                                  \
        const uint64_t digest = step_##name();                                                                         \
        failed |= !digest;                                                                                             \
        if (i == 4) printf(#name " %016llx\n", (unsigned long long)digest);                                            \
    }
        PARTS
#undef X
    }
    return failed;
}
