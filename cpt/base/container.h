/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* container.h - from a member back to its struct. Inline; shared by the libraries. */
#ifndef CPTI_CONTAINER_H
#define CPTI_CONTAINER_H

#include <stddef.h>

/* The struct @type whose @member is at @pointer. */
#define CPTI_CONTAINER(pointer, type, member)                                          \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* The same of a const @pointer. */
#define CPTI_CONST_CONTAINER(pointer, type, member)                                    \
    ((const type *)(const void *)((const char *)(pointer)-offsetof(type, member)))

#endif
