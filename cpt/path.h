/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* path.h - what the files of the core tell each other about a path */
#ifndef PATH_H
#define PATH_H

#include "cpt/cpt_path.h"

/* Where @path takes its memory from; scratch memory for it comes from there too. */
const struct cpt_alloc *cpti_path_alloc(const struct cpt_path *path);

#endif
