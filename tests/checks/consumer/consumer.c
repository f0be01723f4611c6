/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * consumer.c - the smallest program of a user: a path of two segments, printed
 *
 * It proves that the installed headers compile and that the installed libraries link.
 */
#include <cpt/cpt_path.h>

#include <stdio.h>

int main(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const char name[] = "A: parse";
    char text[64];
    uint32_t frame = 0;

    if (path == NULL ||
        cpt_path_frame_add(path, CPT_FRAME_NONE,
                           (struct cpt_bytes){name, sizeof name - 1}, CPT_KIND_WORK,
                           &frame) != CPT_OK ||
        cpt_path_append_ns(path, frame, 200) != CPT_OK) {
        return 1;
    }
    (void)cpt_path_stack_text(path, frame, text, sizeof text);
    printf("%s 200\n", text);
    cpt_path_free(path);
    return 0;
}
