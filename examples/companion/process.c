/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigaction, mlockall, SCHED_FIFO */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "examples/common/message.h"

volatile sig_atomic_t process_is_stopped, process_saves;

static void stop(int signal)
{
    (void)signal;
    process_is_stopped = 1;
}

static void want_save(int signal)
{
    (void)signal;
    process_saves = 1;
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = want_save;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

void process_be_realtime(int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    prctl(PR_SET_TIMERSLACK, 1UL); /* waits end at their time, not up to 50 us later; SCHED_FIFO has no slack */
    if (!priority) return;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        message(CONTINUE, "--realtime: memory is not locked: %s", strerror(errno));
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
        message(CONTINUE, "--realtime %d: no SCHED_FIFO: %s; goes on without", priority, strerror(errno));
}
