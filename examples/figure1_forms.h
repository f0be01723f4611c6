/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* figure1_forms.h - the page /forms of service A */
#ifndef FIGURE1_FORMS_H
#define FIGURE1_FORMS_H

#include "figure1.h"

extern const struct cpt_graph figure1_forms;

/* What the page needs; @b2 is how B2 is called. 0: no memory. */
int figure1_forms_begin(const struct cpt_stub *b2);

/* When no request of it runs any more. */
void figure1_forms_end(void);

#endif
