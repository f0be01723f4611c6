/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tables.h - the tables of the database
 *
 * cpt_requests has one row for each request. Its stacks are arrays of equal length,
 * with an element for each stack on or below which the request spent time; the empty
 * stack, which has all its time, is the first. The bucket is that of the inclusive time
 * (cpt_tree_bucket()), so the database can make histograms without computing it.
 *
 * cpt_stacks tells the frames of the stacks' numbers (stacks.h).
 *
 * Both are ReplacingMergeTree: rows with equal keys are merged into one, and `FINAL`
 * treats them as one before that. The key of a request includes its identity. So no
 * request that was sent twice counts twice.
 *
 * The SQL works with ClickHouse from 18.16 (2018) on: no Map, no LowCardinality, no
 * wide integers, no query parameters.
 */
#ifndef CPTI_STORE_TABLES_H
#define CPTI_STORE_TABLES_H

#define CPTI_TABLE_REQUESTS                                                            \
    "CREATE TABLE IF NOT EXISTS cpt_requests ("                                        \
    "id UInt64, "       /* its identity */                                             \
    "source String, "   /* the log */                                                  \
    "ordinal UInt64, "  /* and the number of the record in it; 0: not known */         \
    "service String, "  /* the entry service */                                        \
    "start_ns UInt64, " /* wall clock, since 1970 */                                   \
    "latency_ns UInt64, "                                                              \
    "weight UInt64, " /* 1/p in 2^-20ths; 0: none */                                   \
    "method String, "                                                                  \
    "entry String, "                                                                   \
    "status String, "                                                                  \
    "is_forced UInt8, "                                                                \
    "is_random UInt8, "                                                                \
    "is_failed UInt8, "                                                                \
    "is_local_root UInt8, "                                                            \
    "trace_id String, "  /* 16 bytes, or none */                                       \
    "attributes Nested(" /* of equal keys the last */                                  \
    "key String, "                                                                     \
    "type UInt8, " /* 0 text, 1 integer, 2 real, 3 truth (an integer, 0 or 1) */       \
    "text String, integer Int64, real Float64), "                                      \
    "stacks Nested(id UInt64, self_ns UInt64, inclusive_ns UInt64, bucket UInt16)"     \
    ") ENGINE = ReplacingMergeTree() "                                                 \
    "PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000), 'UTC')) "          \
    "ORDER BY (service, start_ns, id)"

/* For tables made before this column existed. */
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
