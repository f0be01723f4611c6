/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * scan.h - where the values of a text of JSON end
 *
 *      {"resourceSpans": [{ ... }, { ... }]}
 *       '----key-----'    '-----value-----'
 *
 * Only strings and brackets are looked at, in a window of the text: whether a value is
 * JSON is for its parser.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_SCAN_H
#define CPTI_SCAN_H

#include "import/bytes/window.h"

/* Of a value that is no string and has no brackets. */
enum { CPTI_SCAN_WORD_BYTES_MAX = 1 << 20 };

struct cpti_scan {
    struct cpti_window window;
    /* of the value that is being passed */
    size_t depth;
    bool is_in_string;
};

/* Passes blanks, commas and a byte order mark to the next byte, *@byte. CPT_OK;
 * CPT_END; CPT_NO_MEMORY; errors of the read function. */
cpt_status cpti_scan_look(struct cpti_scan *scan, char *byte);

/*
 * Passes the value at `at` of the window, reading more as needed; it drops what is
 * longer than the window may be. CPT_OK; CPT_TRUNCATED: the text ends in it;
 * CPT_CORRUPT: a word without an end; CPT_NO_MEMORY; errors of the read function.
 */
cpt_status cpti_scan_value(struct cpti_scan *scan);

#endif
