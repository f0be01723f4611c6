/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_tsc.c - the processor's time stamp counter as a clock
 *
 * An invariant TSC (CPUID 8000_0007h, EDX bit 8) counts at one speed on every processor
 * of the machine, at any frequency and in sleep. So
 *
 *      ns = (counter - base) * scale / 2^32 + base_ns
 *
 * with a scale that is measured once. Each of the two measurements reads the operating
 * system's clock between two readings of the counter. It is repeated, and the closest
 * two readings count, so that a thread switch in between is not measured.
 *
 * The kernel may know better: if it does not use the TSC as its own clock source
 * (processors that disagree, a virtual machine that was moved), neither do we.
 */
#include "cpt/cpt_clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CALIBRATION_NS = 10000000, TRIES = 64 };

__extension__ typedef unsigned __int128 wide;

enum state { STATE_NEW, STATE_BUSY, STATE_ABSENT, STATE_READY };

/* Written once while state is BUSY; read after an acquire of READY. */
static struct {
    uint64_t base;
    uint64_t base_ns;
    uint64_t scale; /* ns a tick, times 2^32 */
} tsc;

static _Atomic int tsc_state = STATE_NEW;

static uint64_t read_tsc(void *context)
{
    (void)context;
    return tsc.base_ns + (uint64_t)(((wide)(__rdtsc() - tsc.base) * tsc.scale) >> 32);
}

static const struct cpt_clock tsc_clock = {read_tsc, NULL};

/* One moment by both clocks. */
struct moment {
    uint64_t ticks;
    uint64_t ns;
};

static struct moment read_both(void)
{
    struct moment best = {0, 0};
    uint64_t best_width = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = __rdtsc();
        const uint64_t ns = cpt_clock_now_ns(cpt_clock_monotonic());
        const uint64_t width = __rdtsc() - before;

        if (width < best_width) {
            best_width = width;
            best = (struct moment){before + width / 2, ns};
        }
    }
    return best;
}

static bool has_invariant_tsc(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
}

/* Whether the kernel uses the counter itself. False if there is no such file. */
static bool kernel_trusts_tsc(void)
{
    static const char path[] =
        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char text[16] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;

    if (file >= 0) {
        (void)close(file);
    }
    return bytes >= 4 && memcmp(text, "tsc\n", 4) == 0;
}

static bool calibrate(void)
{
    const struct timespec pause = {.tv_nsec = CALIBRATION_NS};
    struct moment first;
    struct moment last;

    if (!has_invariant_tsc() || !kernel_trusts_tsc()) {
        return false;
    }
    first = read_both();
    (void)nanosleep(&pause, NULL);
    last = read_both();
    if (last.ticks <= first.ticks || last.ns < first.ns + CALIBRATION_NS / 2) {
        return false;
    }
    tsc.base = first.ticks;
    tsc.base_ns = first.ns;
    tsc.scale =
        (uint64_t)(((wide)(last.ns - first.ns) << 32) / (last.ticks - first.ticks));
    return tsc.scale != 0;
}

const struct cpt_clock *cpt_clock_tsc(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int state = STATE_NEW;

    /* The thread that calibrated releases tsc; a thread that finds it ready acquires
     * it.
     */
    if (atomic_compare_exchange_strong_explicit(&tsc_state, &state, STATE_BUSY,
                                                memory_order_acquire,
                                                memory_order_acquire)) {
        state = calibrate() ? STATE_READY : STATE_ABSENT;
        atomic_store_explicit(&tsc_state, state, memory_order_release);
    }
    while (state == STATE_BUSY) {
        (void)nanosleep(&pause, NULL);
        state = atomic_load_explicit(&tsc_state, memory_order_acquire);
    }
    return state == STATE_READY ? &tsc_clock : NULL;
}

#else

const struct cpt_clock *cpt_clock_tsc(void)
{
    return NULL;
}

#endif

const struct cpt_clock *cpt_clock_fastest(void)
{
    const struct cpt_clock *clock = cpt_clock_tsc();

    return clock != NULL ? clock : cpt_clock_monotonic();
}

const char *cpt_clock_name(const struct cpt_clock *clock)
{
    if (clock == cpt_clock_monotonic()) {
        return "monotonic";
    }
    return clock != NULL && clock == cpt_clock_tsc() ? "tsc" : "other";
}
