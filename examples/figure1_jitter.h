/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * figure1_jitter.h - random times of the demo, the same in each run
 *
 * A request has a number (n=17), and each call that it makes another one, made of that
 * of its caller and of which call it is. A step's time is made of the number and of
 * which step it is, and of nothing else, so no state is kept and no order matters.
 */
#ifndef FIGURE1_JITTER_H
#define FIGURE1_JITTER_H

#include <stdint.h>

/* The number of part @part of @name in what has number @number. */
uint64_t figure1_number(uint64_t number, const char *name, unsigned part);

/* A lognormal random number of mean 1, whose logarithm has the standard deviation
 * @sigma, from 0 to FIGURE1_SIGMA_MAX. Equal numbers give equal ones. */
double figure1_lognormal(uint64_t number, double sigma);

#define FIGURE1_SIGMA_MAX 2.0

#endif
