/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * when.h - points of time as people give them
 *
 *      2026-01-31T12:00:00Z   2026-01-31T12:00:00.5+01:00   2026-01-31   (UTC)
 *      @1769860800            seconds since 1970-01-01 UTC
 *      15m   36h   7d         so long ago (ns, us, ms, s, m, h, d)
 */
#ifndef CPTI_CLI_WHEN_H
#define CPTI_CLI_WHEN_H

#include <stdint.h>

/* Wall-clock nanoseconds of @text, given that it is @now_unix_ns. 1 if it is one of the
 * above, else 0 and *@unix_ns is as before. */
int cpti_when(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns);

#endif
