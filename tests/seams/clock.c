/* An LD_PRELOAD in which the wall clock is wrong: FAKE_CLOCK is the time that it shows at first, in seconds since 1970, and FAKE_CLOCK_STEP how
 * many seconds it jumps ahead, or back, each time that it is asked. The monotonic clock stays true. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shown(void)
{
    static long long asked;
    const char *first = getenv("FAKE_CLOCK"), *step = getenv("FAKE_CLOCK_STEP");
    return (time_t)((first ? atoll(first) : 0) + (step ? atoll(step) : 0) * asked++);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){ shown(), 0 };
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    *now = (struct timeval){ shown(), 0 };
    return 0;
}

time_t time(time_t *now)
{
    time_t told = shown();
    if (now) *now = told;
    return told;
}
