/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_tags.c - see span_tags.h */
#include "tool/log/span_tags.h"

#include "tool/base/options.h"
#include "tool/base/output.h"

#include <string.h>

/* What the tool itself says of records, no span may say: these keys, and the id of the
 * trace. */
static const char own[] = "cpt.";

static bool is_own(const char *key)
{
    return strncmp(key, own, sizeof own - 1) == 0 || strcmp(key, "trace") == 0;
}

static bool has(const struct cpt_bytes *keys, size_t count, struct cpt_bytes key)
{
    for (size_t i = 0; i < count; i++) {
        if (cpt_bytes_equal(keys[i], key)) {
            return true;
        }
    }
    return false;
}

int cpti_span_tags(const struct cpti_arguments *arguments,
                   struct cpt_bytes keys[CPTI_TAG_KEYS_MAX], size_t *count)
{
    const char *key;

    *count = 0;
    for (size_t i = 0; (key = cpti_value_at(arguments, "attribute", i)) != NULL; i++) {
        const struct cpt_bytes bytes = cpt_bytes_of(key);

        if (bytes.bytes == 0 || bytes.bytes > CPT_NAME_BYTES_MAX || is_own(key)) {
            return cpti_usage("option '--attribute': '%s' is no key of an attribute "
                              "that a span can give",
                              cpti_quoted(key));
        }
        if (has(keys, *count, bytes)) {
            continue;
        }
        if (*count == CPTI_TAG_KEYS_MAX) {
            return cpti_usage("option '--attribute' may be given %d times",
                              CPTI_TAG_KEYS_MAX);
        }
        keys[(*count)++] = bytes;
    }
    return CPTI_EXIT_DONE;
}
