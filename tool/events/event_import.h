/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_import.h - lines of logs become records of a path log: cpt import --events
 *
 *      requests --> traces --> spans, or the order of points --> path --> record
 *
 * A record says where it is from: CPTI_SOURCE_ATTRIBUTE is "events",
 * CPTI_EVENTS_ATTRIBUTE how its spans were found (cpti_event_method_word()), and its
 * evidence is learnt or inferred. An id of the request that is no trace id is the
 * attribute CPTI_REQUEST_ID_ATTRIBUTE.
 */
#ifndef CPTI_CLI_EVENT_IMPORT_H
#define CPTI_CLI_EVENT_IMPORT_H

struct cpti_arguments;
struct cpti_command;

/* What --events takes of folders. */
extern const struct cpti_command cpti_event_folders;

/* Runs `cpt import --events`. enum cpti_exit. */
int cpti_event_import(const struct cpti_arguments *arguments);

#endif
