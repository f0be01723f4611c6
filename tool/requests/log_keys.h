/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_keys.h - attributes of the logs on a command line, for completion
 *
 *      cpt --complete terms ar cpt report logs/ --where ar    ->   arm=
 *      cpt --complete terms arm=c cpt report logs/ …          ->   arm=control
 *      cpt --complete keys ar cpt diff logs/ --mix ar         ->   arm
 *
 * A person waits for it, so only the first records of the first logs are read. Only
 * plain words are printed: what a hostile log calls its keys must mean nothing to a
 * shell.
 */
#ifndef CPTI_CLI_LOG_KEYS_H
#define CPTI_CLI_LOG_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the keys, or the terms KEY=VALUE, that begin with @prefix, one a line, of the
 * logs and folders among the @count @words. Errors are not printed. enum cpti_exit. */
int cpti_log_keys_print(bool has_terms, const char *prefix, size_t count,
                        char *const *words);

/* After a message about @key: prints the key of the logs at @paths that is meant,
 * perhaps, unless @key itself is one. */
void cpti_log_keys_suggest(const char *key, const char *const *paths,
                           size_t path_count);

#endif
