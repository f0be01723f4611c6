/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * regression_main.c - a fuzz target without a fuzzer: reads the empty input, and all
 * files and folders in its arguments
 *
 * So every compiler and every build tests the inputs that once failed.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t input_count;

/* An exact copy, so that sanitizers detect overreads. */
static int try_bytes(const unsigned char *data, size_t bytes)
{
    unsigned char *copy = calloc(1, bytes != 0 ? bytes : 1);
    int is_good = 0;

    if (copy != NULL) {
        if (bytes != 0) {
            memcpy(copy, data, bytes);
        }
        is_good = LLVMFuzzerTestOneInput(copy, bytes) == 0;
        input_count++;
    }
    free(copy);
    return is_good;
}

static int try_file(const char *name)
{
    static unsigned char data[1 << 20];
    FILE *in = fopen(name, "rb");
    size_t bytes = 0;

    if (in == NULL) {
        perror(name);
        return 0;
    }
    bytes = fread(data, 1, sizeof data, in);
    fclose(in);
    return try_bytes(data, bytes);
}

static int try_folder(DIR *folder, const char *name)
{
    const struct dirent *entry = NULL;
    int is_good = 1;

    while (is_good && (entry = readdir(folder)) != NULL) {
        char path[4096];

        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
            is_good = try_file(path);
        }
    }
    return is_good;
}

int main(int argument_count, char **arguments)
{
    int is_good = try_bytes(NULL, 0);

    for (int i = 1; i < argument_count && is_good; i++) {
        DIR *folder = opendir(arguments[i]);

        is_good =
            folder != NULL ? try_folder(folder, arguments[i]) : try_file(arguments[i]);
        if (folder != NULL) {
            closedir(folder);
        }
    }
    printf("%zu inputs\n", input_count);
    return is_good && input_count > 1 ? 0 : 1;
}
