/* SPDX-License-Identifier: MIT
 *
 * Threads that do nothing but keep processors busy, as other work on the computer would.
 */
#ifndef HIL_BURN_H
#define HIL_BURN_H

#define BURN_MAX 64

/** Make their number that many, 0..BURN_MAX. Returns 0 where the system gives no more. */
int burn_set(int threads);

#endif
