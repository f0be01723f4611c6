/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * relation.h - rows with columns that are declared once, and shown in each format
 *
 *      key       unit   get           text      Markdown    CSV          JSON
 *      "gain_ns" ns     row_gain() -> gain ms   | gain ms | gain_ns      "gain_ns":
 *      "name"    name   row_name() -> frame     | frame |   name         "name":
 *
 * A command says what its columns are and where its rows lie; which of them a person
 * wants, in which order and format, is in the options of cpti_view_options. In JSON a
 * row is an object with all columns, in a table it has those that the relation shows.
 * The columns stand in the help and in the man page, too.
 *
 * In order of use: cpti_view_read; cpti_relation_sort; cpti_relation_print, or
 * cpti_relation_json within a document. Threads: one at a time.
 */
#ifndef CPTI_TOOL_RELATION_H
#define CPTI_TOOL_RELATION_H

#include "tool/base/command.h"
#include "tool/table/json_write.h"

enum { CPTI_COLUMNS_MAX = 40, CPTI_VALUE_BYTES = 4096 };

/* What the values of a column are. */
enum cpti_column_kind {
    CPTI_TEXT,      /* words of ours, or what is escaped already */
    CPTI_STACK,     /* the same of frames; their ends tell most */
    CPTI_NAME,      /* text from outside, escaped for people */
    CPTI_WORD,      /* one of ours, or a number that has none in this version */
    CPTI_COUNT,     /* whole numbers */
    CPTI_NS,        /* nanoseconds; milliseconds in tables */
    CPTI_NS_CHANGE, /* likewise, with their sign */
    CPTI_NS_RARE,   /* likewise; six digits in JSON below 1, so rare is not 0 */
    CPTI_NS_WHOLE,  /* whole nanoseconds, likewise */
    CPTI_SHARE,     /* 0 to 1; per cent in tables */
    CPTI_PART,      /* 0 to 1, with three digits in tables */
    CPTI_P,         /* probabilities, likewise, down to <0.001 */
    CPTI_WHOLE,     /* numbers without a point in tables */
    CPTI_FACTOR,    /* numbers with two digits in tables */
    CPTI_NUMBER,    /* other numbers, of six digits */
    CPTI_FLAG       /* yes or no */
};

/* What a getter is asked for. */
struct cpti_asked {
    const void *context;
    const void *row;
    unsigned what; /* a number of the column, so that one getter serves several */
    char *room;    /* CPTI_VALUE_BYTES for a text that has to be made */
    char *shorter; /* likewise, if it does not fit as a table's last; or "" */
};

/* One value. Zero is not known: "-", an empty cell, null. */
struct cpti_cell {
    bool is_known;
    bool is_none;          /* not known, as it has no place here: no field in JSON */
    struct cpt_bytes text; /* of texts, stacks, names; good until the next one */
    uint64_t count;        /* of counts and whole ns, and 0 or 1 of flags */
    double number;         /* of the others */
};

typedef struct cpti_cell (*cpti_column_fn)(const struct cpti_asked *asked);

/* Values; of a word that is NULL its number is shown. */
struct cpti_cell cpti_cell_unknown(void);
struct cpti_cell cpti_cell_none(void);
struct cpti_cell cpti_cell_bytes(struct cpt_bytes text);
struct cpti_cell cpti_cell_text(const char *text);
struct cpti_cell cpti_cell_format(const struct cpti_asked *asked, const char *format,
                                  ...) CPT_PRINTF(2, 3);
void cpti_cell_shorten(const struct cpti_asked *asked, const char *format, ...)
    CPT_PRINTF(2, 3);
struct cpti_cell cpti_cell_word(const char *word, unsigned number);
struct cpti_cell cpti_cell_count(uint64_t count);
struct cpti_cell cpti_cell_number(double number);
struct cpti_cell cpti_cell_known(bool is_known, double number); /* or unknown */

/* Field @field of rows that are @type, as `get` and `what` of a column. */
#define CPTI_OF(type, field)                                                           \
    _Generic(&((type *)NULL)->field, double *                                          \
             : cpti_field_number, uint64_t *                                           \
             : cpti_field_count, uint32_t *                                            \
             : cpti_field_count32, int *                                               \
             : cpti_field_truth, bool *                                                \
             : cpti_field_flag, char **                                                \
             : cpti_field_text, const char **                                          \
             : cpti_field_text, struct cpt_bytes *                                     \
             : cpti_field_bytes),                                                      \
        offsetof(type, field)

struct cpti_cell cpti_field_number(const struct cpti_asked *asked);
struct cpti_cell cpti_field_count(const struct cpti_asked *asked);
struct cpti_cell cpti_field_count32(const struct cpti_asked *asked);
struct cpti_cell cpti_field_truth(const struct cpti_asked *asked);
struct cpti_cell cpti_field_flag(const struct cpti_asked *asked);
struct cpti_cell cpti_field_text(const struct cpti_asked *asked);  /* NULL: unknown */
struct cpti_cell cpti_field_bytes(const struct cpti_asked *asked); /* empty: none */

/* Writes fields of the open object: what JSON has in the place of one value. */
typedef void (*cpti_put_fn)(const struct cpti_asked *asked, struct cpti_json *json);

/* Where a column is. */
enum cpti_column_place {
    CPTI_EVERYWHERE = 0,
    CPTI_IN_TABLES,  /* made of other columns for people, as an interval is */
    CPTI_NOT_IN_JSON /* unless it is asked for: an object there has it */
};

/* One column. The key NULL ends a list. */
struct cpti_column {
    const char *key;     /* in JSON and CSV, and for --columns and --sort */
    const char *heading; /* in tables */
    unsigned kind;       /* enum cpti_column_kind */
    cpti_column_fn get;
    unsigned what;
    const char *note; /* lower case, no full stop; NULL: the key says it */
    unsigned place;   /* enum cpti_column_place */
    cpti_put_fn put;  /* in JSON instead; without @get in JSON alone; or NULL */
};

struct cpti_relation {
    const char *name;                  /* of the rows in JSON: "frames" */
    const struct cpti_column *columns; /* in the order of JSON and CSV */
    const char *shown; /* keys, separated by commas: those of tables, in their order */
    const char *const *orders; /* further words of --sort, that the command knows; the
                                  last one is NULL; or NULL */
    bool ends_in_line;         /* in JSON, no line begins behind the last row */
    const char *when; /* for the help: "--sweep", if only that prints it; or NULL */
};

/* Rows, side by side in memory. */
struct cpti_rows {
    const void *items;
    size_t count;
    size_t bytes; /* of one; 0: the items are pointers to rows */
    const void *context;
    const void *rest;      /* the last row of tables: what the others are; or NULL */
    const char *rest_keys; /* of what is known of it, separated by commas; NULL: all */
};

/* The @count rows of the array @items, or those that an array points to. */
#define CPTI_ROWS_AT(pointers, count, context)                                         \
    ((struct cpti_rows){(pointers), (count), 0, (context), NULL, NULL})
#define CPTI_ROWS(items, count, context)                                               \
    ((struct cpti_rows){(items), (count), sizeof *(items), (context), NULL, NULL})

enum cpti_format {
    CPTI_FORMAT_TEXT = 0,
    CPTI_FORMAT_MARKDOWN,
    CPTI_FORMAT_CSV,
    CPTI_FORMAT_JSON
};

/* How the rows of a relation are wanted. */
struct cpti_view {
    const struct cpti_relation *relation;
    unsigned format; /* enum cpti_format */
    const struct cpti_column *columns[CPTI_COLUMNS_MAX];
    size_t column_count;
    const struct cpti_column *sort; /* NULL: the order of the command */
    bool is_chosen;                 /* the columns are those of --columns */
    uint64_t bytes_max;             /* of --max-bytes; 0: no limit */
};

/* --format, --columns and --sort. Of a command with several relations, the last two are
 * about the one with the most rows. */
extern const struct cpti_option cpti_view_options[];

/*
 * Reads these options, --max-bytes, and --json, which is --format json. @shown: the
 * columns of tables, if the relation's are not the right ones here, or NULL.
 *
 * enum cpti_exit; CPTI_EXIT_USAGE has said which columns there are.
 */
int cpti_view_read(const struct cpti_arguments *arguments,
                   const struct cpti_relation *relation, const char *shown,
                   struct cpti_view *view);

/* Refuses these options, if one was given, beside @what, which prints no table. enum
 * cpti_exit. */
int cpti_view_refuse(const struct cpti_arguments *arguments, const char *what);

/* The view of another relation of the same command: in the same format, with the
 * columns and the order that are its own. In CSV there is no place for it. */
struct cpti_view cpti_view_beside(const struct cpti_view *view,
                                  const struct cpti_relation *relation,
                                  const char *shown);

/* Takes @column in the place of the one with the same key, for another heading. */
void cpti_view_replace(struct cpti_view *view, const struct cpti_column *column);

/* Whether people read it: there may be other lines around the rows. */
bool cpti_view_is_for_people(const struct cpti_view *view);

/* How many rows are printed of at most @row_max: people get @people_max. */
size_t cpti_view_rows(const struct cpti_view *view, size_t row_max, size_t people_max);

/* Writes what a person must know of column @index to @text: its key, its heading in
 * tables, and its note. false: there are fewer. */
bool cpti_column_text(const struct cpti_relation *relation, size_t index, char *text,
                      size_t capacity);

/* The column with the key @key, or NULL. */
const struct cpti_column *cpti_relation_column(const struct cpti_relation *relation,
                                               const char *key);

/* Puts the @count rows at @items of @bytes each into the order that --sort wants: the
 * largest numbers first, texts from A to Z, what is not known last; equal rows stay as
 * they are. Without --sort it does nothing. */
void cpti_relation_sort(const struct cpti_view *view, void *items, size_t count,
                        size_t bytes, const void *context);

/* Prints the first @row_max rows as text, Markdown or CSV on stdout. enum cpti_exit. */
int cpti_relation_print(const struct cpti_view *view, const struct cpti_rows *rows,
                        size_t row_max);

/* Writes them as an array with the relation's name, each on a line of its own. */
void cpti_relation_json(const struct cpti_view *view, const struct cpti_rows *rows,
                        size_t row_max, struct cpti_json *json);

#endif
