/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* could_be.c - verdicts by the width of an interval; see could_be.h */
#include "tool/whatif/could_be.h"

#include <math.h>

static const double nothing_share = 0.005; /* of the latency */
static const double telling_share = 0.5;   /* of the number: a wider interval … */
static const double number_share = 0.1;    /* … and one as narrow as that */

static unsigned verdict_of(const struct cpti_could_be *could_be, double number_ns,
                           double latency_ns)
{
    const double width_ns = could_be->high_ns - could_be->low_ns;
    const double size_ns = fabs(number_ns);

    if (could_be->low_ns >= -nothing_share * latency_ns &&
        could_be->high_ns <= nothing_share * latency_ns) {
        return CPTI_VERDICT_NOTHING;
    }
    if ((could_be->low_ns < 0 && could_be->high_ns > 0) ||
        width_ns > telling_share * size_ns) {
        return CPTI_VERDICT_CANNOT_TELL;
    }
    return width_ns > number_share * size_ns ? CPTI_VERDICT_INTERVAL
                                             : CPTI_VERDICT_NUMBER;
}

struct cpti_could_be cpti_could_be_of(double low_ns, double high_ns, double number_ns,
                                      double latency_ns)
{
    struct cpti_could_be could_be = {.low_ns = fmin(low_ns, number_ns),
                                     .high_ns = fmax(high_ns, number_ns)};

    could_be.verdict = verdict_of(&could_be, number_ns, latency_ns);
    return could_be;
}

struct cpti_could_be cpti_could_be_less(const struct cpti_could_be *could_be)
{
    return (struct cpti_could_be){could_be->verdict, 0 - could_be->high_ns,
                                  0 - could_be->low_ns};
}

const char *cpti_verdict_word(unsigned verdict)
{
    static const char *const words[] = {[CPTI_VERDICT_NONE] = NULL,
                                        [CPTI_VERDICT_NOTHING] = "nothing",
                                        [CPTI_VERDICT_CANNOT_TELL] = "cannot_tell",
                                        [CPTI_VERDICT_INTERVAL] = "interval",
                                        [CPTI_VERDICT_NUMBER] = "number"};

    return words[verdict];
}

void cpti_could_be_put(const struct cpti_could_be *could_be, const char *key,
                       bool has_verdict, struct cpti_json *json)
{
    if (could_be->verdict == CPTI_VERDICT_NONE) {
        return;
    }
    cpti_json_open(json, key, '{');
    cpti_json_ns(json, "low_ns", could_be->low_ns);
    cpti_json_ns(json, "high_ns", could_be->high_ns);
    cpti_json_close(json);
    if (has_verdict) {
        cpti_json_text(json, "verdict", cpti_verdict_word(could_be->verdict));
    }
}
