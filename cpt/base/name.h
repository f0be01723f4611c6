/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* name.h - names that may have to be cut first, for the files of the core */
#ifndef NAME_H
#define NAME_H

#include "cpt/cpt_name.h"

/* As cpt_names_add(), but @name may be of any length and hold NUL: cpt_name_bound()
 * cuts it. */
cpt_status cpti_names_add_any(struct cpt_names *names, struct cpt_bytes name,
                              cpt_name_id *id);

#endif
