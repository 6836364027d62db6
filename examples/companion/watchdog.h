/* SPDX-License-Identifier: MIT
 *
 * Signs of life for systemd, which restarts a program that gives none: datagrams to the socket in NOTIFY_SOCKET.
 * Without that variable nothing is done.
 */
#ifndef COMPANION_WATCHDOG_H
#define COMPANION_WATCHDOG_H

/** The program is ready. */
void watchdog_ready(void);

/** It lives: to be called once a second by the thread of the cameras. */
void watchdog_alive(void);

#endif
