/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_advice.h - what lines of a program lack, and the directive that makes it write
 * it
 *
 *      nginx, CPTI_LACKS_ID --> "in nginx.conf" "log_format cpt '$remote_addr ... "
 *
 * Threads: any; the texts are constant.
 */
#ifndef CPTI_CLI_EVENT_ADVICE_H
#define CPTI_CLI_EVENT_ADVICE_H

#include "cpt/cpt_name.h"

/* Bits, the most important one first. */
enum cpti_lack {
    CPTI_LACKS_ID = 1,       /* of the request */
    CPTI_LACKS_LENGTH = 2,   /* points, where intervals could be */
    CPTI_LACKS_FINENESS = 4, /* of stamps: whole seconds */
    CPTI_LACKS_CALLS = 8     /* intervals of callees alone */
};

struct cpti_advice {
    const char *format;
    unsigned lacks;        /* of these it helps against */
    const char *where;     /* the directive belongs: "nginx.conf, http { }" */
    const char *directive; /* lines, joined by '\n' */
};

/* The advice for lines of @format, empty for one that is no built-in one, against the
 * most important of @lacks, for which there is some; NULL: there is none. */
const struct cpti_advice *cpti_advice_of(struct cpt_bytes format, unsigned lacks);

/* "no id of the request" of a bit. */
const char *cpti_lack_text(unsigned lack);

#endif
