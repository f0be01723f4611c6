/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_check.h - whether the index of a log says what is so
 *
 * Who reads by an index believes its ranges and sets, once the checksums have told that
 * it was written for these blocks. Here they are compared with the records.
 */
#ifndef CPTI_CLI_LOG_CHECK_H
#define CPTI_CLI_LOG_CHECK_H

#include "cpt/cli/base/files.h"

/* CPTI_EXIT_DONE, also if @input has no index that can be used, or cannot be read
 * backwards; CPTI_EXIT_FAILED if it would hide a record, which has been said. */
int cpti_log_check_index(struct cpti_input *input);

#endif
