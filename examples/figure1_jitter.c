/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* figure1_jitter.c - random times of the demo; see figure1_jitter.h */
#include "figure1_jitter.h"

#include <math.h>

/* Spreads each bit over all: the last step of SplitMix64. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Between 0 and 1, never one of them. */
static double uniform(uint64_t number)
{
    return ((double)(mix(number) >> 11) + 0.5) / 9007199254740992.0;
}

uint64_t figure1_number(uint64_t number, const char *name, unsigned part)
{
    uint64_t made = mix(number + part + 1);

    for (; *name != '\0'; name++) {
        made = mix(made + UINT64_C(0x9e3779b97f4a7c15) * (unsigned char)*name);
    }
    return made;
}

double figure1_lognormal(uint64_t number, double sigma)
{
    /* Box and Muller */
    const double radius = sqrt(-2 * log(uniform(number)));
    const double angle =
        6.283185307179586 * uniform(number + UINT64_C(0x9e3779b97f4a7c15));

    return exp(sigma * radius * cos(angle) - sigma * sigma / 2);
}
