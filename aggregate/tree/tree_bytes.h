/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* tree_bytes.h - constants of the format of encoded trees, which tree_write.c writes
 * and tree_bytes.c reads and describes */
#ifndef TREE_BYTES_H
#define TREE_BYTES_H

#define CPTI_TREE_MAGIC "CPTTREE"

enum {
    CPTI_TREE_MAGIC_BYTES = 7,
    CPTI_TREE_VERSION_WITHOUT_CUBES = 1,
    CPTI_TREE_VERSION = 2,
    CPTI_TREE_VERSION_WITH_DRAGS = 3, /* beside those of version 2 */
    CPTI_TREE_VERSION_WITH_DRAGS_WITHOUT_CUBES = 4,
    CPTI_TREE_HEAD_BYTES = 16,
    CPTI_TREE_CRC_BYTES = 4
};

#endif
