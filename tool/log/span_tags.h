/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_tags.h - which attributes of spans become those of the record of their trace */
#ifndef CPTI_CLI_SPAN_TAGS_H
#define CPTI_CLI_SPAN_TAGS_H

#include "cpt/cpt_name.h"
#include "import/formats/tags.h"

struct cpti_arguments;

/* The option, in the table of a command that takes spans; and what is said of it. */
#define CPTI_TAG_OPTION                                                                \
    {                                                                                  \
        "attribute", 0, "KEY",                                                         \
            "of spans, keep attribute KEY of the root or its process; may repeat"      \
    }
#define CPTI_TAG_TEXT                                                                  \
    "--attribute KEY gives records the attribute KEY of the root span, or else of "    \
    "its process (OpenTelemetry's resource), so that they can be selected by it; "     \
    "if the root is the client's side of a call, also of the callee's span. It may "   \
    "be given up to 16 times. Texts of more than 1024 bytes, lists and objects are "   \
    "left out."

/* The keys that @arguments have, each once, to @keys; their number to *@count. enum
 * cpti_exit. */
int cpti_span_tags(const struct cpti_arguments *arguments,
                   struct cpt_bytes keys[CPTI_TAG_KEYS_MAX], size_t *count);

#endif
