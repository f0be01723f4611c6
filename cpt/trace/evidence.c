/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* evidence.c - the words for how it is known who waited; see cpt_trace.h */
#include "cpt/cpt_trace.h"

const char *cpt_evidence_word(unsigned evidence)
{
    static const char *const words[CPT_EVIDENCE_COUNT] = {"recorded", "measured",
                                                          "told", "learnt", "inferred"};

    return evidence < CPT_EVIDENCE_COUNT ? words[evidence] : NULL;
}
