/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_tags.h - which attributes of spans become those of the record of their trace */
#ifndef CPTI_CLI_SPAN_TAGS_H
#define CPTI_CLI_SPAN_TAGS_H

#include "cpt/cpt_name.h"
#include "import/formats/tags.h"

struct cpti_arguments;

/* The option, in the table of a command that takes spans. */
#define CPTI_TAG_OPTION                                                                \
    {                                                                                  \
        "attribute", 0, "KEY",                                                         \
            "of spans, keep attribute KEY of the root or its process; may repeat"      \
    }

/* The keys that @arguments have, each once, to @keys; their number to *@count. enum
 * cpti_exit. */
int cpti_span_tags(const struct cpti_arguments *arguments,
                   struct cpt_bytes keys[CPTI_TAG_KEYS_MAX], size_t *count);

#endif
