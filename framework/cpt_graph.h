/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_graph.h - a service's work, written as a graph of tasks
 *
 * A *task* is a function. It declares the values that it needs and the one that it
 * gives; the framework runs it as soon as these are there, on any free thread. A
 * *graph* is a table of tasks. It is checked once and compiled to a *plan*, which never
 * changes and serves any number of requests at once.
 *
 *      CPT_VALUE(query, struct query);      a value: its name and its C type
 *      CPT_VALUE(ads, struct ads);
 *      CPT_VALUE(page, struct page);
 *
 *      static cpt_status render(struct cpt_task *task)
 *      {
 *          const struct ads *ads = cpt_input(task, ads);
 *          struct page *page = cpt_output(task, page);
 *          ...
 *          return CPT_OK;
 *      }
 *
 *      static const struct cpt_task_def tasks[] = {
 *          {"find ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query)},
 *          {"render", render, CPT_GIVES(page), CPT_NEEDS(query, ads)},
 *      };
 *      static const struct cpt_graph search = {
 *          "search", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
 *
 * The compiler knows the type behind every name: reading `ads` into something else does
 * not compile. cpt_plan_new() refuses a circle, a value that no task gives, a task that
 * no task needs, each by name. Nothing here or in a task is about tracing.
 *
 * A task runs in *steps*. A step ends by returning CPT_OK (the output is filled in), an
 * error, or what cpt_await() returns: the task then continues in another function when
 * what it waits for is complete, and holds no thread until then.
 *
 *      pending = cpt_start(task, ads);          another task, on demand, or an RPC
 *      ... compute on ...                       (cpt_rpc.h), a timer, work of yours
 *      return cpt_await(task, pending, got_ads);
 *
 * The steps of one task never overlap. cpt_state() keeps what a step leaves for the
 * next one.
 *
 * Threads: any thread may use a plan once it is made. A struct cpt_task belongs to
 * the step that it was given to. cpt_complete() may be called from any thread.
 */
#ifndef CPT_GRAPH_H
#define CPT_GRAPH_H

#include "cpt/cpt_alloc.h"

#if defined(__cplusplus)
#include <type_traits>
#endif

CPT_BEGIN_DECLS

struct cpt_executor; /* see cpt_runtime.h */
struct cpt_task;     /* one task of one request, as its function sees it */
struct cpt_request;  /* one run of a plan; see cpt_runtime.h */
struct cpt_pending;  /* something that a task may wait for */
struct cpt_plan;

enum {
    CPT_TASK_VALUES_MAX = 16,  /* in one list of a row */
    CPT_TASK_NEEDS_MAX = 4096, /* inputs that a task needs, with needs_more */
    CPT_WAIT_DEPTH_MAX = 16,   /* of cpt_wait() on one thread */
    CPT_GRAPH_TASKS_MAX = 65535,
    CPT_PLAN_NAMES_MAX =
        1000,            /* that its requests give to work elsewhere: cpt_defer() */
    CPT_NESTING_MAX = 32 /* runs of plans within one another, below the request */
};

/* A value that tasks hand to each other. Same name = same value, within a graph. */
struct cpt_value {
    const char *name;
    size_t bytes;
    const char *type;      /* as it was declared, or NULL */
    const void *otherwise; /* of an optional input whose task failed, or NULL */
    /* Called once with the value when the memory of its request goes, unless it is all
     * zeros: its task has not run, or has put nothing there. NULL: nothing to free. */
    void (*cleanup)(void *value);
};

/* What the memory of a value can hold. */
#if !defined(__cplusplus)
#define CPT_VALUE_IS_PLAIN_(type) _Static_assert(1, "C has no others")
#else
#define CPT_VALUE_IS_PLAIN_(type)                                                      \
    static_assert(                                                                     \
        std::is_trivially_destructible<type>::value &&                                 \
            (std::is_trivially_copyable<type>::value ||                                \
             std::is_trivially_copy_constructible<type>::value),                       \
        "a value is copied byte by byte and never destroyed: give a pointer "          \
        "or a plain struct, not a type with a destructor as std::string")
#endif

/* Declares the value @name of C type @type. At file scope, once in a file. A value is
 * zeroed memory that is copied byte by byte, and freed with its request: C++ types that
 * need constructors or destructors are refused. */
#define CPT_VALUE(name, type)                                                          \
    typedef type cpt_value_type_##name;                                                \
    CPT_VALUE_IS_PLAIN_(cpt_value_type_##name);                                        \
    static const struct cpt_value cpt_value_##name CPT_UNUSED = {#name, sizeof(type),  \
                                                                 #type, NULL, NULL}

/* The same with an initializer of what cpt_input() returns if the value is wanted and
 * its task has failed: CPT_VALUE_OR(ads, struct ads, {.count = 0}). */
#define CPT_VALUE_OR(name, type, ...)                                                  \
    typedef type cpt_value_type_##name;                                                \
    CPT_VALUE_IS_PLAIN_(cpt_value_type_##name);                                        \
    static const cpt_value_type_##name cpt_value_otherwise_##name = __VA_ARGS__;       \
    static const struct cpt_value cpt_value_##name CPT_UNUSED = {                      \
        #name, sizeof(type), #type, &cpt_value_otherwise_##name, NULL}

/*
 * The same for a value that owns something: @free_value (a pointer to the value) is
 * called as `cleanup` of struct cpt_value, on the thread that ends the last work of the
 * request, without locks, whether the request succeeds or not. What the output of a
 * request owns is gone after cpt_request_run(). For an input that a request brings, and
 * for a component's output that becomes the output of its task, it is not called.
 *
 *      static void close_page(struct page *page) { free(page->text); }
 *      CPT_VALUE_CLEANED(page, struct page, close_page);
 */
#define CPT_VALUE_CLEANED(name, type, free_value)                                      \
    typedef type cpt_value_type_##name;                                                \
    CPT_VALUE_IS_PLAIN_(cpt_value_type_##name);                                        \
    static void cpt_value_cleanup_##name(void *value)                                  \
    {                                                                                  \
        free_value((cpt_value_type_##name *)value);                                    \
    }                                                                                  \
    static const struct cpt_value cpt_value_##name CPT_UNUSED = {                      \
        #name, sizeof(type), #type, NULL, cpt_value_cleanup_##name}

/* A sub-graph: a component of several tasks, with a frame of its own. */
struct cpt_group {
    const char *name;
    const struct cpt_group *parent; /* the sub-graph that it lies in, or NULL */
};

/* One step of a task. CPT_OK, CPT_WAITING from cpt_await(), or an error. */
typedef cpt_status (*cpt_task_fn)(struct cpt_task *task);

/* The lists of a row. In C++ each list has a type of its own, so that a list in the
 * place of another one does not compile. It reads like the array that it is in C. */
#if !defined(__cplusplus)
#define CPT_LIST_(member) const struct cpt_value *member[CPT_TASK_VALUES_MAX + 1]
#else
#define CPT_LIST_(member) struct cpt_value_list_##member member
#define CPT_LIST_TYPE_(member)                                                         \
    struct cpt_value_list_##member {                                                   \
        const struct cpt_value *values[CPT_TASK_VALUES_MAX + 1];                       \
        operator const struct cpt_value **()                                           \
        {                                                                              \
            return values;                                                             \
        }                                                                              \
        operator const struct cpt_value * const *() const                              \
        {                                                                              \
            return values;                                                             \
        }                                                                              \
    }
CPT_LIST_TYPE_(needs);
CPT_LIST_TYPE_(starts);
CPT_LIST_TYPE_(wants);
#endif

/* What a member is that is left out at the end of a row: in C++ its default must be
 * written, or each shorter row warns when a later version appends a member. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define CPT_NONE_ = {}
#else
#define CPT_NONE_
#endif

/* One row of a graph. Unused members are NULL. */
struct cpt_task_def {
    const char *name; /* shown after the service: "A: render" */
    cpt_task_fn run;
    const struct cpt_value *gives;
    CPT_LIST_(needs);
    /* Values that it may ask for while it runs (cpt_start). A task that gives one of
     * them runs on demand only, unless another task needs its value. If a task on
     * demand fails, or one that it needs, the task that waits for it sees that. */
    CPT_LIST_(starts) CPT_NONE_;
    const struct cpt_group *group CPT_NONE_;
    /* Optional inputs: it waits for them as for those that it needs, but one whose task
     * failed, or could not run, arrives as an error: see cpt_input_status(). If no task
     * needs that value, the request goes on without it. */
    CPT_LIST_(wants) CPT_NONE_;
    /* In place of a function: a graph that is run as a part of this one, below the
     * task's own frame. It takes what the task needs, if anything, and its output is
     * what the task gives; names may differ, types may not. It is compiled with the
     * graph it is in, and its service name is ignored; it may be NULL. */
    const struct cpt_graph *component CPT_NONE_;
    /* What cpt_task_context() gives to the function: one function may serve several
     * rows. Borrowed, as the graph. */
    void *context CPT_NONE_;
    /* Values that it needs beside `needs`, where those are too few: any number up to
     * CPT_TASK_NEEDS_MAX of both, ended by NULL. NULL: none. */
    const struct cpt_value *const *needs_more CPT_NONE_;
    /* Where `component` runs: what this points to when it begins; see cpt_spawn_on().
     * NULL, or a pointer to NULL: where the request runs. */
    struct cpt_executor *const *runs_on CPT_NONE_;
};

/* A graph: what is declared. Must outlive its plans. */
struct cpt_graph {
    const char *service;            /* name of the service; must not hold ": " */
    const struct cpt_value *input;  /* what a request brings, or NULL */
    const struct cpt_value *output; /* what it is answered with */
    const struct cpt_task_def *tasks;
    size_t task_count;
};

/* A graph of the array @rows: static const struct cpt_graph x = CPT_GRAPH(...); */
#define CPT_GRAPH(service_name, takes, gives_value, rows)                              \
    {                                                                                  \
        (service_name), CPT_GIVES(takes), CPT_GIVES(gives_value), (rows),              \
            sizeof(rows) / sizeof((rows)[0])                                           \
    }

/* The words of the table. In C each list names its member, so that unused ones can be
 * left out; in C++17 members stand in order, NULL or {NULL} if unused, and those at the
 * end may be left out: a list in the place of another one does not compile. */
#define CPT_GIVES(name) (&cpt_value_##name)
#if !defined(__cplusplus)
#define CPT_NEEDS(...)    .needs = CPT_VALUES_(__VA_ARGS__)
#define CPT_STARTS(...)   .starts = CPT_VALUES_(__VA_ARGS__)
#define CPT_WANTS(...)    .wants = CPT_VALUES_(__VA_ARGS__)
#define CPT_NEEDS_NOTHING .needs = {NULL}
#else
#define CPT_NEEDS(...)                                                                 \
    cpt_value_list_needs                                                               \
    {                                                                                  \
        CPT_VALUES_(__VA_ARGS__)                                                       \
    }
#define CPT_STARTS(...)                                                                \
    cpt_value_list_starts                                                              \
    {                                                                                  \
        CPT_VALUES_(__VA_ARGS__)                                                       \
    }
#define CPT_WANTS(...)                                                                 \
    cpt_value_list_wants                                                               \
    {                                                                                  \
        CPT_VALUES_(__VA_ARGS__)                                                       \
    }
#define CPT_NEEDS_NOTHING                                                              \
    {                                                                                  \
        NULL                                                                           \
    }
#endif

/*
 * Checks @graph and compiles it. NULL with the reason in @error: CPT_INVALID (a
 * sentence that names tasks and values), CPT_LIMIT, CPT_NO_MEMORY. @alloc NULL:
 * malloc's.
 */
CPT_API struct cpt_plan *cpt_plan_new(const struct cpt_graph *graph,
                                      const struct cpt_alloc *alloc,
                                      struct cpt_error *error);

/* Frees; no request of it may be running. NULL is fine. */
CPT_API void cpt_plan_free(struct cpt_plan *plan);

/* --- Inside a task --- */

/* The input @name, which the task needs or wants, or has started and seen complete;
 * NULL if it did not declare it. If the task that gives it failed, NULL or, if the
 * input is wanted, what CPT_VALUE_OR declared. Good until the request ends. */
#define cpt_input(task, name)                                                          \
    ((const cpt_value_type_##name *)cpt_task_input((task), &cpt_value_##name))

/* CPT_OK if that input is there; CPT_WAITING if not yet; else the error of its task. */
#define cpt_input_status(task, name) cpt_task_input_status((task), &cpt_value_##name)

/* The value that the task gives, zeroed at first. Good until the request ends. */
#define cpt_output(task, name)                                                         \
    ((cpt_value_type_##name *)cpt_task_output((task), &cpt_value_##name))

/* What steps of one task leave for each other: a zeroed struct, the same at each call
 * with the same type; NULL at the memory limit of the request, or with another size. */
#define cpt_state(task, type) ((type *)cpt_task_state((task), sizeof(type)))

CPT_API const void *cpt_task_input(struct cpt_task *task,
                                   const struct cpt_value *value);
CPT_API cpt_status cpt_task_input_status(struct cpt_task *task,
                                         const struct cpt_value *value);
CPT_API void *cpt_task_output(struct cpt_task *task, const struct cpt_value *value);
CPT_API void *cpt_task_state(struct cpt_task *task, size_t bytes);

/* @bytes of zeroed memory that lives as long as the request; NULL at its limit. */
CPT_API void *cpt_task_memory(struct cpt_task *task, size_t bytes);

/* Calls @run with @context once, when that memory goes; what was added last is called
 * first. CPT_OK; CPT_LIMIT, and it will not be called. */
CPT_API cpt_status cpt_task_at_end(struct cpt_task *task, void (*run)(void *context),
                                   void *context);

/* What the task's row has as `context`. */
CPT_API void *cpt_task_context(const struct cpt_task *task);

/* The request that the task belongs to; see cpt_runtime.h. */
CPT_API struct cpt_request *cpt_task_request(struct cpt_task *task);

/* How long the request of the task may still take (timeout_ns of its options):
 * UINT64_MAX without a deadline, 0 if it has passed. Reads the clock if there is
 * one. */
CPT_API uint64_t cpt_task_remaining_ns(struct cpt_task *task);

/* How much later than usual the answer may be, as far as that is known: what is left of
 * the slack of the request, which is less with each wait and call; 0: nothing, or its
 * service has no lanes (slack_wait_ns_max in struct cpt_service_options). */
CPT_API uint64_t cpt_task_slack_ns(const struct cpt_task *task);

/* From now on it is @slack_ns, but at most half of the time that is left: what the
 * program knows of this request, by a prediction for its user, say. No effect if its
 * service has no lanes. */
CPT_API void cpt_task_set_slack(struct cpt_task *task, uint64_t slack_ns);

/* 1: the request has failed, was cancelled or took too long, or the task was given up
 * (cpt_cancel()). A long computation may check this, and return. Costs one read. */
CPT_API int cpt_task_is_cancelled(struct cpt_task *task);

/* The task whose step runs on this thread, for code deep below it that was not handed
 * one; NULL outside. */
CPT_API struct cpt_task *cpt_current_task(void);

/* Notes why the task fails and returns @status, for `return cpt_fail(...)`. */
CPT_API cpt_status cpt_fail(struct cpt_task *task, cpt_status status,
                            const char *format, ...) CPT_PRINTF(3, 4);

/*
 * --- Waiting. A pending is borrowed; it is good until the request ends. ---
 *
 * No function returns NULL for one. At the memory limit of the request the pending has
 * failed already, with CPT_LIMIT: all functions that take a pending take it,
 * cpt_await(), cpt_await_some() and cpt_wait() of it fail, and cpt_await_all() passes
 * it by. A pending that is used wrongly gives an error, and is counted
 * (cpt_misuse_count()).
 */

/* Starts the task that gives value @name, which this one declared with CPT_STARTS; if
 * it runs or has ended already, the pending stands for that: with CPT_CANCELLED if it
 * was given up. If the value is not declared, it has failed with CPT_INVALID. */
#define cpt_start(task, name) cpt_task_start((task), &cpt_value_##name)
CPT_API struct cpt_pending *cpt_task_start(struct cpt_task *task,
                                           const struct cpt_value *value);

/* Work elsewhere, called @name on the path, that ends with cpt_complete(). Names beyond
 * the first CPT_PLAN_NAMES_MAX of a plan are shown as ‹other›. If
 * cpt_pending_status() of it is CPT_LIMIT, do not begin the work: the request does not
 * wait for its end, so memory of the request may be gone meanwhile. In all other cases,
 * also if it has been cancelled already, the pending must be completed. */
CPT_API struct cpt_pending *cpt_defer(struct cpt_task *task, const char *name);

/*
 * The same where the work can be stopped. @cancel is called at most once, on any thread
 * and without locks, if the work is no longer wanted (see cpt_cancel()); it may
 * complete the pending itself. Whether it is called or not, the pending must be
 * completed exactly once. It may be called before the work has begun and just after it
 * has ended: so @context must live as long as the request (cpt_task_memory()) and tell
 * what there is to stop.
 */
CPT_API struct cpt_pending *cpt_defer_cancellable(struct cpt_task *task,
                                                  const char *name,
                                                  void (*cancel)(void *context),
                                                  void *context);

/*
 * Completes after @delay_ns without holding a thread. If its timer cannot be set, it
 * has failed already: CPT_INVALID on an executor without timers, CPT_NO_MEMORY if there
 * is no thread or memory for it, CPT_LIMIT if there are too many. A wait that needs it
 * then fails the task; a race goes on without it.
 */
CPT_API struct cpt_pending *cpt_sleep(struct cpt_task *task, const char *name,
                                      uint64_t delay_ns);

/* The same, but not work: the pause before a failed call is repeated. */
CPT_API struct cpt_pending *cpt_back_off(struct cpt_task *task, uint64_t delay_ns);

/*
 * Starts a run of @plan, a component of this request, shown as @component below the
 * task: its tasks, with a path of their own, on the same executor. @name is the plan's
 * input and @input points to it, which is copied. Any number may be started, also of
 * plans that start others or themselves, CPT_NESTING_MAX deep; their memory counts with
 * the request's. They are cancelled with it.
 *
 * If it cannot be started, the pending has failed already: CPT_LIMIT, CPT_NO_MEMORY,
 * CPT_INVALID if @name is not what the plan takes; see cpt_run_sentence(). The plan is
 * freed after the request is gone.
 */
#define cpt_spawn(task, component, plan, name, input)                                  \
    cpt_task_spawn((task), (component), (plan), &cpt_value_##name,                     \
                   1 ? (input) : (const cpt_value_type_##name *)0)

/* The same with a value instead of its name; NULL, NULL: the plan takes none. */
CPT_API struct cpt_pending *cpt_task_spawn(struct cpt_task *task, const char *component,
                                           const struct cpt_plan *plan,
                                           const struct cpt_value *value,
                                           const void *input);

/*
 * The same on @executor instead of the request's: a pool of one thread for a database,
 * or a queue that a thread of yours runs (cpt_queue_executor_run()). What runs there is
 * a part of the task: its time stands below it, the time until the thread took it as
 * ‹queue›; calls, attributes and memory are the request's; it is cancelled with it. A
 * library called there finds its task by cpt_current_task(). @executor must outlive the
 * request.
 */
#define cpt_spawn_on(task, executor, component, plan, name, input)                     \
    cpt_task_spawn_on((task), (executor), (component), (plan), &cpt_value_##name,      \
                      1 ? (input) : (const cpt_value_type_##name *)0)
CPT_API struct cpt_pending *
cpt_task_spawn_on(struct cpt_task *task, struct cpt_executor *executor,
                  const char *component, const struct cpt_plan *plan,
                  const struct cpt_value *value, const void *input);

/*
 * The same for a thread that is not an executor's, as that on which a library calls
 * back: nothing of the run begins until some thread calls cpt_adopt() with the pending,
 * exactly once, also if it was cancelled; but never if its status is CPT_LIMIT,
 * CPT_NO_MEMORY or CPT_INVALID from the beginning. The first step then runs on that
 * thread, as a part of the task that handed it over; what follows a wait in it, and
 * tasks beside it, run where the request does. The time until then is ‹queue›. In the
 * step cpt_wait() blocks the thread, if the request is on a pool.
 */
#define cpt_hand_over(task, component, plan, name, input)                              \
    cpt_task_hand_over((task), (component), (plan), &cpt_value_##name,                 \
                       1 ? (input) : (const cpt_value_type_##name *)0)
CPT_API struct cpt_pending *cpt_task_hand_over(struct cpt_task *task,
                                               const char *component,
                                               const struct cpt_plan *plan,
                                               const struct cpt_value *value,
                                               const void *input);

/* Runs what was handed over as @pending on this thread, until it ends or waits. From
 * any thread, but not from a step of the same task. */
CPT_API void cpt_adopt(struct cpt_pending *pending);

/* What a run gave as @name, its plan's output: a component that was spawned, or shared
 * work (cpt_shared.h). NULL if it is not complete or has failed, or if its output is
 * another value. Good until the request ends. */
#define cpt_run_output(pending, name)                                                  \
    ((const cpt_value_type_##name *)cpt_task_run_output((pending), &cpt_value_##name))
CPT_API const void *cpt_task_run_output(struct cpt_pending *pending,
                                        const struct cpt_value *value);

/* Why the run failed: "task 'A: score': no such item"; empty if it has not. */
CPT_API const char *cpt_run_sentence(struct cpt_pending *pending);

/* Completes what cpt_defer() gave, exactly once, from any thread. Until the request is
 * gone, a second call is counted and has no effect. */
CPT_API void cpt_complete(struct cpt_pending *pending, cpt_status status);

/*
 * `return cpt_await(task, pending, next);` ends the step; the task goes on in @next
 * when @pending is complete, at once if it is already. @next sees whether it failed by
 * cpt_pending_status().
 */
CPT_API cpt_status cpt_await(struct cpt_task *task, struct cpt_pending *pending,
                             cpt_task_fn next);

/* The same for the first @wanted_count of @pendings to complete, including those that
 * are complete already: 1 is a race, pending_count - 1 leaves one behind. The others
 * continue, and may be awaited again. The array is not needed after the call. */
CPT_API cpt_status cpt_await_some(struct cpt_task *task,
                                  struct cpt_pending *const *pendings,
                                  size_t pending_count, size_t wanted_count,
                                  cpt_task_fn next);

/* The same for all that this task has started or called and that is not complete. */
CPT_API cpt_status cpt_await_all(struct cpt_task *task, cpt_task_fn next);

/* The same for at most @timeout_ns; what is not complete then ends as CPT_TIMEOUT, and
 * is given up as by cpt_cancel(). */
CPT_API cpt_status cpt_await_all_for(struct cpt_task *task, uint64_t timeout_ns,
                                     cpt_task_fn next);

/*
 * For code that cannot return: blocks the thread inside the step until @pending is
 * complete. On a pool another thread takes its place, and however many steps block, one
 * is left for what they wait for; on an executor of one thread other work runs on top
 * meanwhile, at most CPT_WAIT_DEPTH_MAX deep, and the step goes on when that has
 * returned. cpt_await() costs less.
 *
 * CPT_OK: it is complete. CPT_CANCELLED: the request has failed, or the task was given
 * up (cpt_cancel()). Otherwise the wait was refused, with a sentence for `return`:
 * CPT_LIMIT at that depth, or of memory; CPT_INVALID if nothing is left that could
 * complete it, or on an executor that cannot block (an event loop).
 */
CPT_API cpt_status cpt_wait(struct cpt_task *task, struct cpt_pending *pending);

/* CPT_WAITING while it is not complete; then how it ended. CPT_INVALID: not one. */
CPT_API cpt_status cpt_pending_status(struct cpt_pending *pending);

/*
 * Cancels @pending, which this task started and no longer wants. If it is not complete,
 * it ends as CPT_CANCELLED at once, and all of it is given up: a timer is cancelled, a
 * call aborted, the function of cpt_defer_cancellable() called. A task that it stands
 * for ends, at once or when its step has returned; so does everything that it has
 * started, and the locks that it has acquired (cpt_mutex.h) are released. But a task
 * that others name continues, unless they were all given up or have failed, and so does
 * a run that others share. Nothing of @pending is on the path. NULL is fine.
 *
 * Only the task that started a race cancels its losers; a loser that is not cancelled
 * continues, even after the request has succeeded. In the same way is given up: what a
 * timeout ends; all that a task has started which fails; all that is ongoing when a
 * request fails. The table is in docs/framework.md.
 */
CPT_API void cpt_cancel(struct cpt_pending *pending);

/* --- Not for reading: {&cpt_value_a, &cpt_value_b} from (a, b) --- */
#define CPT_VALUES_(...)                                                               \
    {                                                                                  \
        CPT_PICK_(__VA_ARGS__, CPT_V16_, CPT_V15_, CPT_V14_, CPT_V13_, CPT_V12_,       \
                  CPT_V11_, CPT_V10_, CPT_V9_, CPT_V8_, CPT_V7_, CPT_V6_, CPT_V5_,     \
                  CPT_V4_, CPT_V3_, CPT_V2_, CPT_V1_, 0)                               \
        (__VA_ARGS__)                                                                  \
    }
#define CPT_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, pick, ...) pick
#define CPT_V1_(a)                                                           &cpt_value_##a
#define CPT_V2_(a, ...)                                                      &cpt_value_##a, CPT_V1_(__VA_ARGS__)
#define CPT_V3_(a, ...)                                                      &cpt_value_##a, CPT_V2_(__VA_ARGS__)
#define CPT_V4_(a, ...)                                                      &cpt_value_##a, CPT_V3_(__VA_ARGS__)
#define CPT_V5_(a, ...)                                                      &cpt_value_##a, CPT_V4_(__VA_ARGS__)
#define CPT_V6_(a, ...)                                                      &cpt_value_##a, CPT_V5_(__VA_ARGS__)
#define CPT_V7_(a, ...)                                                      &cpt_value_##a, CPT_V6_(__VA_ARGS__)
#define CPT_V8_(a, ...)                                                      &cpt_value_##a, CPT_V7_(__VA_ARGS__)
#define CPT_V9_(a, ...)                                                      &cpt_value_##a, CPT_V8_(__VA_ARGS__)
#define CPT_V10_(a, ...)                                                     &cpt_value_##a, CPT_V9_(__VA_ARGS__)
#define CPT_V11_(a, ...)                                                     &cpt_value_##a, CPT_V10_(__VA_ARGS__)
#define CPT_V12_(a, ...)                                                     &cpt_value_##a, CPT_V11_(__VA_ARGS__)
#define CPT_V13_(a, ...)                                                     &cpt_value_##a, CPT_V12_(__VA_ARGS__)
#define CPT_V14_(a, ...)                                                     &cpt_value_##a, CPT_V13_(__VA_ARGS__)
#define CPT_V15_(a, ...)                                                     &cpt_value_##a, CPT_V14_(__VA_ARGS__)
#define CPT_V16_(a, ...)                                                     &cpt_value_##a, CPT_V15_(__VA_ARGS__)

CPT_END_DECLS

#endif
