/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sql.h - a selection as SQL
 *
 * A statement never contains text from outside: text is written as unhex('…') of its
 * bytes, a float as reinterpretAsFloat64(unhex('…')), an integer in decimal digits. So
 * nothing needs escapes, and no float is rounded.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_SQL_H
#define CPTI_SQL_H

#include "tool/store/row_binary.h"
#include "tool/store/store.h"

/* Appends formatted text of at most 511 bytes. */
void cpti_sql_add(struct cpti_packed *sql, const char *format, ...) CPT_PRINTF(2, 3);

/* unhex('…') of @text. */
void cpti_sql_hex(struct cpti_packed *sql, struct cpt_bytes text);

/* Ends @sql with a NUL. NULL without memory. */
const char *cpti_sql_text(struct cpti_packed *sql);

/* The condition of the time window and the entry service. */
void cpti_sql_range(struct cpti_packed *sql,
                    const struct cpti_store_question *question);

/* "(…)": that the database can decide the condition and it holds. With picks: that the
 * request is one of them. The stacks of term n are in the table cpt_n, the picks in
 * cpt_picks; see query.h. */
void cpti_sql_selected(struct cpti_packed *sql,
                       const struct cpti_store_question *question);

/* "(…)": that the database cannot decide exactly whether the condition holds. */
void cpti_sql_undecided(struct cpti_packed *sql,
                        const struct cpti_store_question *question);

/* The conditions that leave out forced requests, fragments, and the own records of
 * inner services; "1" if they count. */
const char *cpti_sql_forced(const struct cpti_store_question *question);
const char *cpti_sql_fragment(const struct cpti_store_question *question);
const char *cpti_sql_root(const struct cpti_store_question *question);

/* The weight of a request: "… AS w". */
void cpti_sql_weight(struct cpti_packed *sql,
                     const struct cpti_store_question *question);

/* " WHERE …" of all selected requests whose weight w is not 0. */
void cpti_sql_where(struct cpti_packed *sql,
                    const struct cpti_store_question *question);

#endif
