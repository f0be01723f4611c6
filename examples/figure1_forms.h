/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* figure1_forms.h - the page /forms of service A */
#ifndef FIGURE1_FORMS_H
#define FIGURE1_FORMS_H

#include "figure1.h"

extern const struct cpt_graph figure1_forms;

/* Makes what the page needs; @b2 is the stub of B2. 0: out of memory. */
int figure1_forms_begin(const struct cpt_stub *b2);

/* Frees it, when no request of the page runs any more. */
void figure1_forms_end(void);

#endif
