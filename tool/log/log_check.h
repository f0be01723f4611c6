/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_check.h - whether the index of a log agrees with its records
 *
 * A reader trusts the ranges and sets of an index whose checksums fit the blocks. This
 * compares them with the records.
 */
#ifndef CPTI_CLI_LOG_CHECK_H
#define CPTI_CLI_LOG_CHECK_H

#include "tool/base/files.h"

/* CPTI_EXIT_DONE, also if @input has no usable index or is not seekable;
 * CPTI_EXIT_FAILED if the index would hide a record, with the block printed. */
int cpti_log_check_index(struct cpti_input *input);

#endif
