/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * forwarding.c - which headers say that a request was sent on for another
 *
 * The names, how they begin and how they end, stand in forwarding-headers.txt, with the
 * reasons: a header is made of that when we are built.
 */
#include "wire/cpt_metadata.h"
#include "wire/forwarding-headers.made.h"

#include <stdbool.h>
#include <strings.h>

enum place { PLACE_is, PLACE_begins, PLACE_ends };

static const struct {
    enum place place;
    const char *text;
    size_t bytes;
} rules[] = {
#define RULE_(place, text) {PLACE_##place, text, sizeof text - 1},
    CPTI_FORWARDING_RULES(RULE_)
#undef RULE_
};

int cpt_header_is_forwarding(struct cpt_bytes name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const size_t bytes = rules[i].bytes;
        const bool has_length =
            rules[i].place == PLACE_is ? name.bytes == bytes : name.bytes >= bytes;
        const size_t skipped = rules[i].place == PLACE_ends ? name.bytes - bytes : 0;

        if (has_length && strncasecmp(name.data + skipped, rules[i].text, bytes) == 0) {
            return 1;
        }
    }
    return 0;
}
