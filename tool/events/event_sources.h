/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_sources.h - the option --sources: what stands where in lines of logs */
#ifndef CPTI_CLI_EVENT_SOURCES_H
#define CPTI_CLI_EVENT_SOURCES_H

#include "tool/base/options.h"
#include "import/lines/sources.h"

#define CPTI_SOURCES_OPTION                                                            \
    {                                                                                  \
        "sources", 0, "FILE",                                                          \
            "what the lines are: 'source NAME = CLAUSES', see docs/events.md; "        \
            "default: "                                                                \
            "CSV with our columns, and formats that are known"                         \
    }

/* Reads the file of --sources; *@sources is NULL without it, and otherwise the
 * caller's. Files of lnav that it names are looked for beside it. enum cpti_exit. */
int cpti_event_sources_read(const struct cpti_arguments *arguments,
                            struct cpti_sources **sources);

#endif
