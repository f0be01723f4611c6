/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_totals.c - what became of the spans of many traces; see span_totals.h */
#include "tool/requests/span_totals.h"

#include "tool/base/output.h"

#include <inttypes.h>

void cpti_span_totals_add(struct cpti_span_totals *totals, struct cpti_spans *spans,
                          const struct cpti_spans_report *report)
{
    totals->dropped += report->dropped;
    totals->joined += report->joined;
    totals->clipped += report->clipped;
    totals->contradictory += report->contradictions > 0;
#define ADD(name, sentence) totals->name += report->name;
    CPTI_SPAN_DROP_MAP(ADD)
#undef ADD
    totals->fragments[report->fragment]++;
    cpti_moved_clocks_add(&totals->clocks, spans, report);
}

uint64_t cpti_span_totals_fragments(const struct cpti_span_totals *totals)
{
    uint64_t count = 0;

    for (unsigned i = CPTI_SPAN_WHOLE + 1; i < CPTI_SPAN_FRAGMENTS; i++) {
        count += totals->fragments[i];
    }
    return count;
}

void cpti_tell_count(uint64_t count, const char *what)
{
    if (count > 0) {
        cpti_warn("%" PRIu64 " %s", count, what);
    }
}

void cpti_span_totals_tell(const struct cpti_span_totals *totals)
{
#define TELL(name, sentence) cpti_tell_count(totals->name, "spans left out " sentence);
    CPTI_SPAN_DROP_MAP(TELL)
#undef TELL
    cpti_moved_clocks_tell(&totals->clocks);
    cpti_tell_count(totals->contradictory,
                    "traces in which the clocks of hosts contradict each other");
    cpti_tell_count(totals->clipped, "spans cut to the time of their parent");
    cpti_tell_count(totals->joined, "pieces joined with the span that they are of");
    cpti_tell_count(totals->unknown_fields,
                    "fields passed over that OpenTelemetry's protocol 1.x does not "
                    "have");
    cpti_tell_count(totals->replaced, "characters that were not UTF-8, or half of a "
                                      "pair, and are U+FFFD now");
    cpti_tell_count(totals->refused_spans, "spans left out without an id");
#define TELL(NAME, word, sentence)                                                     \
    cpti_tell_count(totals->fragments[CPTI_SPAN_##NAME],                               \
                    "traces are fragments, as their root " sentence                    \
                    ": averages have them only with --include-fragments");
    CPTI_SPAN_FRAGMENT_MAP(TELL)
#undef TELL
    cpti_tell_count(totals->rootless,
                    "traces left out in which no span can be the root");
    cpti_tell_count(totals->empty, "traces left out that took no time");
}
