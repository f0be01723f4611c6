/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment_write.h - an experiment written into a file of settings
 *
 *      options --> a line --> FILE with it --> read as a service does --> renamed
 *
 * The rest of the file stays. What a service would refuse is not written.
 */
#ifndef CPTI_CLI_EXPERIMENT_WRITE_H
#define CPTI_CLI_EXPERIMENT_WRITE_H

struct cpti_arguments;

/* Writes the experiment of the options into the file of --write. enum cpti_exit. */
int cpti_experiment_file(const struct cpti_arguments *arguments);

#endif
