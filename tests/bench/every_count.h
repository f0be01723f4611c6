/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* every_count.h - requests whose instructions can be counted; see every_count.c. */
#ifndef EVERY_COUNT_H
#define EVERY_COUNT_H

#include <stddef.h>

/* Serves @count requests in the way @name; an exit status. */
int every_count(const char *name, size_t count);

#endif
