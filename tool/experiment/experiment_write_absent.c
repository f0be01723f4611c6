/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* experiment_write_absent.c - without services nothing can read a file of settings */
#include "tool/experiment/experiment_write.h"

#include "tool/base/output.h"

int cpti_experiment_file(const struct cpti_arguments *arguments)
{
    (void)arguments;
    return cpti_failed("this cpt was built without services: write the file by hand");
}
