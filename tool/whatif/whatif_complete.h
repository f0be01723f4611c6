/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_complete.h - how a term may go on, for shells
 *
 *      cpt --complete set 'B: B' cpt whatif g.cptgraph …  ->  B: B1=  B: B2=  …
 *      cpt --complete set 'B: B1=5' …                     ->  B: B1=5%  B: B1=5ms  …
 *      cpt --complete cut 'B: B1 -> ' …                   ->  B: B1 -> A: A1  …
 *
 * A person waits for it: see base/brief.h. A name with a byte that is not shown is left
 * out; each shell quotes what it gets.
 */
#ifndef CPTI_CLI_WHATIF_COMPLETE_H
#define CPTI_CLI_WHATIF_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether @list is a verb of terms that are completed: "set", "cap", "cut" … */
bool cpti_whatif_completes(const char *list);

/* Prints the terms of the verb @list that begin with @prefix, one a line, for the kept
 * requests of the files among the @count @words. A term that ends with a mark or a
 * blank goes on. enum cpti_exit. */
int cpti_whatif_complete(const char *list, const char *prefix, size_t count,
                         char *const *words);

#endif
