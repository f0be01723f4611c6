/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* assert_spans_absent.c - rules on spans in a build without a library for JSON */
#include "tool/assert/assert.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

int cpti_assert_spans(struct cpti_assert *assertion, struct cpti_input *input)
{
    (void)assertion;
    return cpti_failed_at((struct cpti_at){.file = cpti_input_name(input)},
                          "is no path log, and this cpt was built without simdjson "
                          "and jansson, so it cannot read spans");
}

int cpti_assert_spans_end(struct cpti_assert *assertion)
{
    (void)assertion;
    return CPTI_EXIT_DONE;
}
