/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* brief.c - looks into files while a person waits; see brief.h */
#include "tool/base/brief.h"

#include "tool/base/files.h"
#include "tool/base/folders.h"
#include "tool/base/output.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { SECONDS_MAX = 2 };

static atomic_bool is_late;

/* The first time reading ends, the second time the program: with no answer. */
static void ring(int number)
{
    (void)number;
    if (atomic_exchange(&is_late, true)) {
        _exit(CPTI_EXIT_FAILED);
    }
}

static void set_alarm(long seconds)
{
    const struct itimerval timer = {{seconds, 0}, {seconds, 0}};

    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

void cpti_brief_init(struct cpti_brief *brief, const struct cpti_command *folders,
                     size_t count, char *const *words)
{
    struct sigaction action = {.sa_handler = ring, .sa_flags = SA_RESTART};

    *brief = (struct cpti_brief){
        .files = {.command = folders, .operands = calloc(count + 1, sizeof(char *))},
        .silence = {.is_silent = true}};
    if (brief->files.operands == NULL) {
        return;
    }
    cpti_messages_to(&brief->silence);
    (void)sigaction(SIGALRM, &action, NULL);
    set_alarm(SECONDS_MAX);
    cpti_inputs_end_if(&is_late);
    cpti_inputs_cut(CPTI_BRIEF_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct stat about;

        /* "-" is no file, but what is typed */
        if (stat(words[i], &about) == 0 && strcmp(words[i], "-") != 0 &&
            (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) {
            brief->files.operands[brief->files.operand_count++] = words[i];
        }
    }
    if (brief->files.operand_count != 0 &&
        cpti_folders_open(&brief->files) == CPTI_EXIT_DONE) {
        brief->count = brief->files.operand_count < CPTI_BRIEF_FILES_MAX
                           ? brief->files.operand_count
                           : CPTI_BRIEF_FILES_MAX;
    }
}

void cpti_brief_deinit(struct cpti_brief *brief)
{
    set_alarm(0);
    cpti_inputs_end_if(NULL);
    cpti_inputs_cut(0);
    cpti_messages_to(NULL);
    cpti_arguments_deinit(&brief->files);
}
