/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * ids.h - ids that are not written as hexadecimal digits, or only in part
 *
 *      5b8efff798038103d269b633813fc60c               hexadecimal, as most write them
 *      W47/95gDgQPSabYzgT/GDA==                       the same bytes, in base64
 *      NWI4ZWZmZjc5ODAzODEwM2QyNjliNjMzODEzZmM2MGM=   base64 of the digits
 *                      d269b633813fc60c               its lower half, of older tracers
 *
 * Threads: any; there is no state.
 */
#ifndef CPTI_IDS_H
#define CPTI_IDS_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

/* Digits of the longest id: what base64 may stand for. */
enum { CPTI_ID_DIGITS_MAX = 32 };

/* What the letters of an id say of how it is written. */
enum cpti_id_form {
    CPTI_ID_PLAIN,     /* not in base64 */
    CPTI_ID_AMBIGUOUS, /* digits that may be base64, too, without '=' at its end */
    CPTI_ID_BASE64,    /* base64 without '=', or digits of another number of letters */
    CPTI_ID_PADDED     /* base64, which its '=' shows */
};

enum cpti_id_form cpti_id_form(struct cpt_bytes id);

/* The id that @id is in base64, or in base64url, of 8 or 16 bytes or as many digits, as
 * hexadecimal digits in @text; @id itself if it is none. */
struct cpt_bytes cpti_id_digits(struct cpt_bytes id, char text[CPTI_ID_DIGITS_MAX]);

/* Whether two ids that stand in one list are of one trace: their lower 64 bits, which
 * are all that older tracers hand on, are the same. */
bool cpti_is_one_trace(struct cpt_bytes left, struct cpt_bytes right);

#endif
