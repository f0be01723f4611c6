/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* outcome.h - the outcome of a request that ended without a reply; see cpt_rpc.h. */
#ifndef CPT_OUTCOME_H
#define CPT_OUTCOME_H

#include "framework/cpt_rpc.h"

/* The outcome of a request or a call that ended with @status. */
unsigned cpti_outcome_of(cpt_status status);

#endif
