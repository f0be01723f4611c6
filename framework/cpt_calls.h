/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_calls.h - a call of another service as one row of a graph
 *
 * A task that only calls a service needs no function of its own. Its row says what is
 * sent, what is made of the answer, for how long it is waited for, and what happens if
 * there is none:
 *
 *      static cpt_status put_item(struct cpt_task *task, struct cpt_bytes *body)
 *      {
 *          return cpt_print(task, body, "%d", cpt_input(task, item)->number);
 *      }
 *
 *      static cpt_status take_price(struct cpt_task *task,
 *                                   const struct cpt_call_reply *reply)
 *      {
 *          return cpt_number_of(reply->body, &cpt_output(task, price)->cents);
 *      }
 *
 *      static const struct cpt_task_def tasks[] = {
 *          CPT_CALLS("price", price, CPT_NEEDS(item), &price_stub,
 *                    put_item, take_price, .timeout_ns = 50 * MS, .hedge_ns = 10 * MS,
 *                    CPT_FALLBACK(price, {.cents = -1})),
 *          {"render", render, CPT_GIVES(page), CPT_NEEDS(item, price)},
 *      };
 *
 * On the path it stands as its steps would, written by hand with cpt_call_attempt(),
 * cpt_hedge_wait() and cpt_back_off(): each attempt is a call with its number, where
 * the task really waited for it; an attempt that lost is cancelled, and on no path.
 *
 * Threads: any. A row belongs to one graph or to several; its budget is shared by all
 * requests that use it.
 */
#ifndef CPT_CALLS_H
#define CPT_CALLS_H

#include "cpt_rpc.h"

CPT_BEGIN_DECLS

enum {
    CPT_CALL_RETRIES_MAX = 16,       /* retry_count_max above it counts as this */
    CPT_CALL_EXTRA_PERCENT = 10,     /* default of extra_percent_max */
    CPT_CALL_EXTRA_BURST_COUNT = 10, /* extra calls that may be made at once */
    CPT_CALL_FIELDS_MAX = 64,        /* of each kind, in a struct cpt_call_request */
    CPT_CALL_LINE_BYTES_MAX = 8192   /* of a path and its query, once filled in */
};

/* --- What a call says beside its body --- */

/*
 * The method of a stub is written as that of its callee, with a query if it has one:
 *
 *      "/lookup"                       POST with a body, GET without one
 *      "PUT /users/{id}"               a verb; and a parameter: one segment, not empty
 *      "GET /files/{name...}"          the rest of the path, whose '/' stay
 *      "GET /search?q={text}&limit=9"  parameters of a query, which may be empty
 *
 * A parameter is what cpt_call_set_parameter() said; else the value of that name which
 * the task needs, if that is an int64_t or a struct cpt_bytes. Its bytes are encoded,
 * so that none of it is another segment, a query or a line. A parameter that nothing
 * says, or that would make a path lead elsewhere ("", ".", "..", "../a"), fails the
 * call, and the row, as CPT_INVALID with a sentence.
 */
struct cpt_call_request {
    size_t struct_bytes;
    struct cpt_bytes body;
    unsigned attempt;                 /* 1, 2 …: as cpt_call_attempt() */
    const char *const *reply_headers; /* those to keep of the answer, for
                                         cpt_call_header(); ended by NULL */
    /* By the functions below. */
    const struct cpt_field *parameters;
    size_t parameter_count;
    const struct cpt_field *query; /* behind that of the stub */
    size_t query_count;
    const struct cpt_field *headers;
    size_t header_count;
    int is_idempotent; /* as in struct cpt_call_row */
    /* How much later than usual the answer may come without delaying the request, by a
     * prediction or by kept graphs (`cpt slack`): the callee is sent it, with what the
     * request has left, and need not have lanes. Set it; 0: nothing is known. Of a row
     * it is that of the first attempt. */
    uint64_t slack_ns;
};

/*
 * Each adds to @request; @name and @value are copied, and live as long as the request
 * of @task. CPT_OK; CPT_INVALID: a header that cpt_call_field_is_sendable() refuses;
 * CPT_LIMIT at CPT_CALL_FIELDS_MAX or the memory limit. Errors have a sentence, for
 * `return`; @request is then as before.
 */
CPT_API cpt_status cpt_call_set_parameter(struct cpt_task *task,
                                          struct cpt_call_request *request,
                                          const char *name, struct cpt_bytes value);
CPT_API cpt_status cpt_call_add_query(struct cpt_task *task,
                                      struct cpt_call_request *request,
                                      const char *name, struct cpt_bytes value);
CPT_API cpt_status cpt_call_add_header(struct cpt_task *task,
                                       struct cpt_call_request *request,
                                       const char *name, struct cpt_bytes value);

/* cpt_call() with all that @request says; NULL: nothing. If it cannot be made, it has
 * failed as CPT_INVALID. */
CPT_API struct cpt_pending *cpt_call_with(struct cpt_task *task,
                                          const struct cpt_stub *stub,
                                          const struct cpt_call_request *request);

/* The header @name of an answer, one of those that the call asked for: the first, in
 * any case. If there is none, its data is NULL. Anything may stand in it but a NUL. */
CPT_API struct cpt_bytes cpt_call_header(const struct cpt_call_reply *reply,
                                         const char *name);

/* --- A call as one row --- */

/* An answer with the status @http_status of HTTP counts as @outcome (enum cpt_outcome):
 * whether it has succeeded, may be repeated, and how the task fails. */
struct cpt_call_answer {
    unsigned http_status;
    unsigned outcome;
};

/*
 * A call. Everything but `stub` may be left out. It is the `context` of its task, whose
 * function is cpt_call_run(), and is written to by the runtime: not const.
 *
 * An attempt has *succeeded* if it is answered with CPT_OUTCOME_OK. It may be repeated
 * if there is no answer (but CPT_LIMIT, CPT_CANCELLED), or if it is answered
 * UNAVAILABLE, RESOURCE_EXHAUSTED, ABORTED, DEADLINE_EXCEEDED, INTERNAL or UNKNOWN. All
 * other answers are final. Let only those calls be retried or hedged that the callee
 * may carry out twice.
 *
 * Beside that, HTTP sends an attempt again if the kept connection that it took was
 * closed before a byte of the answer came, and if nothing of it was written, or it is
 * idempotent (RFC 9110, 9.2.2): GET, HEAD, OPTIONS, TRACE, PUT and DELETE are, and rows
 * that say so. Others, such as POST, end as CPT_IO: the callee may have carried them
 * out. What is sent again remains one attempt, and its time that of one call.
 */
struct cpt_call_row {
    const struct cpt_stub *stub;
    /* Sets *@body, which must live as long as the request: cpt_print(),
     * cpt_task_memory(), an input. Called once; its error fails the task. NULL: the
     * first value that the row needs, if that is a struct cpt_bytes or an int64_t (in
     * decimal digits) and no parameter of the stub, else an empty body, as always for
     * "GET /…", HEAD and DELETE. */
    cpt_status (*encode)(struct cpt_task *task, struct cpt_bytes *body);
    /* Fills in the output from the answer that succeeded. An error of it is one of the
     * call, which is not repeated. NULL: the output is a struct cpt_bytes, the body, or
     * an int64_t, by cpt_number_of(). */
    cpt_status (*decode)(struct cpt_task *task, const struct cpt_call_reply *reply);
    uint64_t timeout_ns;      /* of all attempts and pauses together; default: none. The
                            timeout of the stub is that of each attempt. */
    unsigned retry_count_max; /* further attempts after a failed one; default 0 */
    uint64_t backoff_ns; /* the first pause before a further attempt; default 5 ms. Each
                            is twice the last, up to 1 s, less a random half. */
    uint64_t hedge_ns; /* a second attempt runs beside the first after this time, or as
                          soon as that fails; the first success wins, the other is
                          cancelled; 0: none */
    const struct cpt_stub *other_stub; /* another replica, for every second attempt;
                                          default: stub */
    const void *fallback; /* the output if the call fails: CPT_FALLBACK(); NULL: the
                                  task fails. Must be all zeros if the value has a
                                  cleanup. */
    unsigned extra_percent_max; /* retries and hedges, beyond CPT_CALL_EXTRA_BURST_COUNT
                                   at once, in percent of first attempts; default 10 */
    int decodes_errors; /* `decode` also gets answers with other outcomes than OK, once
                           no attempt is left for them */
    void *context;      /* for the functions: cpt_call_context() */
    /* In place of `fallback`: fills in the output, or fails; for values that own
     * something. */
    cpt_status (*fall_back)(struct cpt_task *task);
    /* Says what else the call says: cpt_call_set_parameter(), cpt_call_add_query(),
     * cpt_call_add_header(); it may change the body. Called once, after `encode`; its
     * error fails the task. */
    cpt_status (*prepare)(struct cpt_task *task, struct cpt_call_request *request);
    const char *const *reply_headers; /* for `decode`: CPT_REPLY_HEADERS("ETag") */
    /* Statuses of HTTP that mean something else to this row, ended by {0, 0}:
     * CPT_ANSWERS({404, CPT_OUTCOME_OK}) hands 404 to `decode`, which gets the answer
     * as it came. */
    const struct cpt_call_answer *answers;
    int is_idempotent;    /* the callee may carry it out twice, though it is a POST or a
                          PATCH: it only looks something up, or knows a key in it */
    unsigned reserved[4]; /* the runtime's: what of the budget is spent */
};

/* The row of a task called @task_name, which gives the value @value and needs what
 * @needs_of_row says: CPT_NEEDS(...) or CPT_NEEDS_NOTHING. What follows initialises its
 * struct cpt_call_row. At file scope, in C; in C++ see cpt.hpp. */
#define CPT_CALLS(task_name, value, needs_of_row, ...)                                 \
    {                                                                                  \
        .name = (task_name), .run = cpt_call_run, .gives = CPT_GIVES(value),           \
        needs_of_row, .context = &(struct cpt_call_row)                                \
        {                                                                              \
            __VA_ARGS__, .reserved = { 0 }                                             \
        }                                                                              \
    }

/* In such a row: an initializer of what the value is if the call fails. */
#define CPT_FALLBACK(value, ...) .fallback = &(const cpt_value_type_##value)__VA_ARGS__

/* In such a row: the headers that `decode` reads; what statuses mean. */
#define CPT_REPLY_HEADERS(...)                                                         \
    .reply_headers = (const char *const[])                                             \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }
#define CPT_ANSWERS(...)                                                               \
    .answers = (const struct cpt_call_answer[])                                        \
    {                                                                                  \
        __VA_ARGS__,                                                                   \
        {                                                                              \
            0, 0                                                                       \
        }                                                                              \
    }

/* The function of a task whose context is a struct cpt_call_row. */
CPT_API cpt_status cpt_call_run(struct cpt_task *task);

/* `context` of the row of @task, in its functions; there cpt_state() is taken. */
CPT_API void *cpt_call_context(const struct cpt_task *task);

/* --- Bodies as text --- */

/* Sets *@text to what printf() would print, in memory of the request; for `return`.
 * CPT_OK; CPT_LIMIT at its limit, CPT_INVALID, as by cpt_fail(). */
CPT_API cpt_status cpt_print(struct cpt_task *task, struct cpt_bytes *text,
                             const char *format, ...) CPT_PRINTF(3, 4);

/* Sets *@number to @text, a decimal number with an optional '-'. CPT_OK; CPT_CORRUPT:
 * it is something else, or has more digits than fit; *@number is not changed. */
CPT_API cpt_status cpt_number_of(struct cpt_bytes text, int64_t *number);

CPT_END_DECLS

#endif
