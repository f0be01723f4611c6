/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * passwords.h - no password of an address is ever shown
 *
 *      clickhouse://user:hunter2@db:8123/cpt   -->   clickhouse://user:***@db:8123/cpt
 *
 * An address stands in errors, in notes of trees, in pages and their data. So the
 * password is overwritten in the arguments of the process, before anything reads them:
 * it is in no output, and no longer in the list of processes. An address with a
 * password is refused where it is opened (store.c): the password comes from the
 * environment.
 */
#ifndef CPTI_CLI_PASSWORDS_H
#define CPTI_CLI_PASSWORDS_H

#include <stddef.h>

/* Overwrites passwords in @count @words: in those that are an address, and in options
 * that have one as their value (--output=ADDRESS). A word becomes no longer. */
void cpti_passwords_hide(char *const *words, size_t count);

/* Overwrites @password, and what follows "Basic ", in @text, the answer of a server.
 * NULL or empty: there is no password. */
void cpti_password_hide_in(char *text, const char *password);

#endif
