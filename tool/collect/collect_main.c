/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_main.c - the program cpt-collect-grpc; see collect_grpc.h */
#include "tool/base/options.h"
#include "tool/base/output.h"

extern const struct cpti_command cpti_command_collect;

int main(int count, char **words)
{
    struct cpti_arguments arguments;
    int exit_status =
        cpti_arguments_init(&arguments, &cpti_command_collect,
                            count > 0 ? (size_t)count - 1 : 0, words + (count > 0));

    exit_status = CPTI_THEN(exit_status, cpti_command_collect.run(&arguments));
    cpti_arguments_deinit(&arguments);
    return cpti_finish(exit_status);
}
