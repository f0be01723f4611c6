/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tables.h - how requests lie in the database
 *
 * cpt_requests has one row a request. Its stacks are arrays of equal length: one
 * element for each stack on which or below which it spent time, the empty stack (all of
 * it) first. A bucket is that of the inclusive time (cpt_tree_bucket()), so that the
 * database can make histograms without knowing how.
 *
 * cpt_stacks says what the numbers of stacks mean (stacks.h).
 *
 * Both are ReplacingMergeTree: rows with equal keys become one, and `FINAL` sees them
 * as one before that has happened. The key of a request holds its identity. So nothing
 * counts twice, whatever was sent twice.
 *
 * All of it is SQL that ClickHouse of 2018 (18.16) understands as well as that of
 * today: no Map, no LowCardinality, no wide integers, no query parameters.
 */
#ifndef CPTI_STORE_TABLES_H
#define CPTI_STORE_TABLES_H

#define CPTI_TABLE_REQUESTS                                                            \
    "CREATE TABLE IF NOT EXISTS cpt_requests ("                                        \
    "id UInt64, "           /* its identity */                                         \
    "source String, "       /* the log */                                              \
    "ordinal UInt64, "      /* and the number of the record in it; 0: not known */     \
    "service String, "      /* where it entered */                                     \
    "start_ns UInt64, "     /* wall clock, since 1970 */                               \
    "latency_ns UInt64, "   /* */                                                      \
    "weight UInt64, "       /* 1/p in 2^-20ths; 0: none */                             \
    "method String, "       /* */                                                      \
    "entry String, "        /* */                                                      \
    "status String, "       /* */                                                      \
    "is_forced UInt8, "     /* */                                                      \
    "is_random UInt8, "     /* */                                                      \
    "is_failed UInt8, "     /* */                                                      \
    "is_local_root UInt8, " /* */                                                      \
    "trace_id String, "     /* 16 bytes, or none */                                    \
    "attributes Nested("    /* of several with one key the last */                     \
    "key String, "                                                                     \
    "type UInt8, " /* 0 text, 1 integer, 2 real, 3 truth (an integer, 0 or 1) */       \
    "text String, integer Int64, real Float64), "                                      \
    "stacks Nested(id UInt64, self_ns UInt64, inclusive_ns UInt64, bucket UInt16)"     \
    ") ENGINE = ReplacingMergeTree() "                                                 \
    "PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) "          \
    "ORDER BY (service, start_ns, id)"

/* For tables that were made before there was this column. */
#define CPTI_TABLE_ORDINAL                                                             \
    "ALTER TABLE cpt_requests ADD COLUMN ordinal UInt64 AFTER source"
#define CPTI_HAS_ORDINAL                                                               \
    "SELECT count() FROM system.columns WHERE database = currentDatabase() AND "       \
    "table = 'cpt_requests' AND name = 'ordinal' FORMAT RowBinary"

#define CPTI_TABLE_STACKS                                                              \
    "CREATE TABLE IF NOT EXISTS cpt_stacks (id UInt64, parent UInt64, kind UInt16, "   \
    "name String) ENGINE = ReplacingMergeTree() ORDER BY (id, parent, kind, name)"

/* In the order in which load.c writes them. */
#define CPTI_INSERT_REQUESTS                                                           \
    "INSERT INTO cpt_requests (id, source, ordinal, service, start_ns, latency_ns, "   \
    "weight, method, entry, status, is_forced, is_random, is_failed, is_local_root, "  \
    "trace_id, "                                                                       \
    "attributes.key, attributes.type, attributes.text, attributes.integer, "           \
    "attributes.real, stacks.id, stacks.self_ns, stacks.inclusive_ns, stacks.bucket) " \
    "FORMAT RowBinary"

#define CPTI_INSERT_STACKS                                                             \
    "INSERT INTO cpt_stacks (id, parent, kind, name) FORMAT RowBinary"

#endif
