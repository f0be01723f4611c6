/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * api_0_1.h - how the files beside this one state what the public headers of 0.1 have
 *
 * They were written once, from the headers as they were before their folders were
 * divided into rooms, and are never regenerated; before 0.1.0 was released, headers
 * that serve our own tool alone left them (PRIVATE_HEADERS, cmake/CptModule.cmake).
 * They state a promise to programs: a later version adds declarations, and neither
 * removes nor changes one. A new version gets its own files beside them.
 *
 *   VALUE(a, n)          the constant a has the value n
 *   ENUM(enum a)         there is an enum of that name, of the size of an int
 *   TYPE(a, t *)         the typedef a is the type t
 *   FIRST(s, f, t *)     struct or union s has a field f of type t
 *   NEXT(s, p, f, t *)   the same, and it comes after the field p: initialisers without
 *                        names rely on the order
 *   FUNCTION(r, f, (a))  the function f takes a, returns r, and can be linked
 *
 * Left out on purpose: the fields walk_* of struct cpt_trace_task. They are scratch of
 * the walk, and only cpt/critical*.c wrote them; a program only had to zero the struct.
 */
#ifndef API_0_1_H
#define API_0_1_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE(constant, value) _Static_assert((constant) == (value), #constant)
#define ENUM(type)             _Static_assert(sizeof(type) == sizeof(int), #type)
#define TYPE(type, pointer)                                                            \
    _Static_assert(_Generic((type *)NULL, pointer : 1, default : 0), #type)
#define FIRST(type, field, pointer)                                                    \
    _Static_assert(_Generic(&((type *)NULL)->field, pointer : 1, default : 0),         \
                   #type ": " #field)
#define NEXT(type, before, field, pointer)                                             \
    FIRST(type, field, pointer);                                                       \
    _Static_assert(offsetof(type, before) < offsetof(type, field),                     \
                   #type ": " #before " before " #field)
#define FUNCTION(result, name, arguments) result(*const api_##name) arguments = name

#endif
