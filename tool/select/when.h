/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * when.h - points in time as people write them
 *
 *      2026-01-31T12:00:00Z   2026-01-31T12:00:00.5+01:00   2026-01-31   (UTC)
 *      @1769860800            seconds since 1970-01-01 UTC
 *      15m   36h   7d         that long ago (ns, us, ms, s, m, h, d)
 */
#ifndef CPTI_CLI_WHEN_H
#define CPTI_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *@unix_ns to the wall-clock nanoseconds of @text, where the present time is
 * @now_unix_ns. False, and *@unix_ns is unchanged, if @text is none of the above. */
bool cpti_when(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns);

#endif
