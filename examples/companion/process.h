/* SPDX-License-Identifier: MIT
 *
 * The companion as a process: signals, priority, memory.
 */
#ifndef COMPANION_PROCESS_H
#define COMPANION_PROCESS_H

#include <signal.h>

extern volatile sig_atomic_t process_is_stopped; /**< 1: SIGINT or SIGTERM came. */
extern volatile sig_atomic_t process_saves;      /**< 1: SIGUSR1 came; reset by whoever saves. */

void process_catch_signals(void);

/** Priority and memory that stays, where the system permits; what it refuses is reported. 0: none is wanted. */
void process_be_realtime(int priority);

#endif
