/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cpt_plan.hpp - running requests of a graph in C++, and work that they share; see
 * cpt.hpp */
#ifndef CPT_PLAN_HPP
#define CPT_PLAN_HPP

#include <cpt/cpt.hpp>

#include <condition_variable>
#include <mutex>

namespace cpt
{

/* --- Plans --- */

/* How a request is run. */
struct run_options {
    cpt_executor *executor = nullptr; /* default: this thread */
    cpt_path *path = nullptr;         /* gets the critical path; null: not traced */
    duration timeout{};
};

/* How it ended. */
template <class Out> struct outcome {
    cpt_status status = CPT_WAITING;
    std::string sentence;
    std::optional<Out> output;
    explicit operator bool() const
    {
        return output.has_value();
    }
};

/* A request that plan::start() has started. If it ends before the request does, that is
 * cancelled, and waited for. */
template <class Out> class running
{
  public:
    running() = default;
    running(const running &) = delete;
    running &operator=(const running &) = delete;
    ~running()
    {
        if (handle_ != nullptr) {
            (void)cpt_request_cancel(handle_);
        }
        wait();
    }
    /* From any thread, at any time; see cpt_request_cancel(). */
    bool cancel()
    {
        return handle_ != nullptr && cpt_request_cancel(handle_) != 0;
    }
    /* Waits until nothing of it runs any more: not in a task. */
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        has_changed_.wait(lock, [&] { return is_gone_; });
        cpt_request_handle_free(std::exchange(handle_, nullptr));
    }
    /* Waits, and hands over how it ended. */
    outcome<Out> get()
    {
        wait();
        return std::move(end_);
    }

  private:
    template <class In, class Any> friend class plan;

    static void note_done(cpt_request *request, void *context) noexcept
    {
        running *to = static_cast<running *>(context);

        to->end_.status = cpt_request_status(request);
#if defined(__cpp_exceptions)
        try {
            to->keep(request);
        } catch (...) {
            to->end_.output.reset();
            to->end_.status = CPT_FAILED;
            to->set_sentence("its output could not be handed over");
        }
#else
        to->keep(request);
#endif
        if (to->path_ != nullptr) {
            (void)cpt_request_path(request, to->path_, nullptr);
        }
    }
    void keep(const cpt_request *request)
    {
        const void *output = cpt_request_output(request);

        if (end_.status != CPT_OK || output == nullptr) {
            end_.sentence = cpt_request_sentence(request);
        } else if constexpr (detail::is_plain<Out>) {
            end_.output.emplace(*static_cast<const Out *>(output));
        } else { /* no task reads it any more: it would need its own output */
            end_.output.emplace(std::move(**static_cast<Out *const *>(output)));
        }
    }
    void set_sentence(const char *text) noexcept
    {
#if defined(__cpp_exceptions)
        try {
            end_.sentence = text;
        } catch (...) {
            end_.sentence.clear();
        }
#else
        end_.sentence = text;
#endif
    }
    static void note_gone(void *context) noexcept
    {
        running *to = static_cast<running *>(context);
        const std::lock_guard<std::mutex> lock(to->mutex_);

        to->is_gone_ = true;
        to->has_changed_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable has_changed_;
    cpt_request_handle *handle_ = nullptr;
    outcome<Out> end_;
    cpt_path *path_ = nullptr;
    bool is_gone_ = true;
};

/* A graph, checked and compiled. It keeps the graph as it is now. */
template <class In, class Out> class plan
{
  public:
    explicit plan(const graph<In, Out> &of)
        : state_(of.state()),
          plan_(cpt_plan_new(of.get(), nullptr, &error_), cpt_plan_free)
    {
    }
    /* false: the graph was refused, why() says for what. */
    explicit operator bool() const
    {
        return plan_ != nullptr;
    }
    const char *why() const
    {
        return error_.sentence;
    }
    const cpt_plan *get() const
    {
        return plan_.get();
    }

    /* Runs one request to its end, and waits until nothing of it runs any more. Not in a
     * task. */
    outcome<Out> run(const In &input, const run_options &how = {}) const
    {
        running<Out> own;

        (void)start_as(input, own, how, false);
        return own.get();
    }
    /* Starts one; @to says how it ends, and can cancel it. If it cannot be started, @to
     * has ended. CPT_INVALID: @to still runs another one. */
    cpt_status start(const In &input, running<Out> &to,
                     const run_options &how = {}) const
    {
        return start_as(input, to, how, true);
    }

  private:
    cpt_status start_as(const In &input, running<Out> &to, const run_options &how,
                        bool is_held) const
    {
        cpt_request_options options = {};
        cpt_error error = {};
        cpt_status status = CPT_OK;

        {
            const std::lock_guard<std::mutex> lock(to.mutex_);

            if (!to.is_gone_) {
                return CPT_INVALID;
            }
            cpt_request_handle_free(std::exchange(to.handle_, nullptr));
            to.is_gone_ = false;
        }
        to.end_.status = CPT_WAITING;
        to.end_.sentence.clear();
        to.end_.output.reset();
        to.path_ = how.path;
        options.struct_bytes = sizeof options;
        options.plan = plan_.get();
        options.executor = how.executor;
        options.input = &input;
        options.done = running<Out>::note_done;
        options.gone = running<Out>::note_gone;
        options.context = &to;
        options.is_traced = how.path != nullptr;
        options.timeout_ns = detail::ns(how.timeout);
        status = plan_ == nullptr ? cpt_error_set(&error, CPT_INVALID, 0, "%s",
                                                  error_.sentence[0] != '\0'
                                                      ? error_.sentence
                                                      : "the plan was moved away")
                 : is_held ? cpt_request_start_held(&options, &to.handle_, &error)
                           : cpt_request_start(&options, &error);
        if (status != CPT_OK) {
            to.end_.status = status;
            to.set_sentence(error.sentence);
            running<Out>::note_gone(&to);
        }
        return status;
    }

    std::shared_ptr<const detail::graph_state> state_;
    cpt_error error_ = {};
    std::unique_ptr<cpt_plan, decltype(&cpt_plan_free)> plan_;
};

/* --- Shared work --- */

/* Questions that are answered together: what the graph of a batch takes. */
template <class Item> struct batch : cpt_batch {
    const Item *begin() const
    {
        return static_cast<const Item *>(items);
    }
    const Item *end() const
    {
        return begin() + count;
    }
    std::size_t size() const
    {
        return count;
    }
    const Item &operator[](std::size_t index) const
    {
        return begin()[index];
    }
};

/* What shared work does; see struct cpt_shared_options. */
struct shared_options {
    cpt_executor *executor = nullptr; /* default: that of the first request */
    std::size_t memory_bytes_max = 0;
    std::size_t keys_max = 0;
    std::size_t waiters_max = 0;
    std::size_t batch_count_max = 0; /* of a graph of cpt::batch; default 64 */
    duration batch_delay{};
    bool is_traced_on_demand = false;
};

/*
 * Work that requests share; see cpt_shared.h. Of a graph that takes an In, one run for
 * all who ask for a key; of one that takes a cpt::batch<In>, one run for many items.
 *
 *      cpt::shared loads("titles", load_graph);
 *
 *      return task.await(task.share(loads, key, item), [](cpt::task, const title &t) ...
 *
 * What In points to must outlive the run, not only the request that begins it. It
 * outlives all requests that use it; that of cpt::program is made by share() of that.
 */
template <class In, class Out> class shared
{
  public:
    /* For cpt::program; until that has made it, runs fail. */
    shared() = default;
    shared(const char *name, const graph<In, Out> &of, const shared_options &how = {})
        : plan_(std::make_unique<owned<In>>(of)), is_owned_(true)
    {
        make(name, plan_.get(), options_of(how, nullptr));
    }
    shared(const char *name, const graph<batch<In>, Out> &of,
           const shared_options &how = {})
        : plan_(std::make_unique<owned<batch<In>>>(of)), is_owned_(true)
    {
        make(name, plan_.get(), options_of(how, detail::value_of<In>()));
    }
    shared(const shared &) = delete;
    shared &operator=(const shared &) = delete;
    /* All requests that use it are gone. */
    ~shared()
    {
        if (is_owned_) {
            cpt_shared_free(shared_);
        }
    }
    /* false: it was refused, why() says for what. */
    explicit operator bool() const
    {
        return shared_ != nullptr;
    }
    const char *why() const
    {
        return error_.sentence;
    }
    cpt_shared *get() const
    {
        return shared_;
    }

  private:
    friend class program;

    struct any_plan {
        any_plan() = default;
        any_plan(const any_plan &) = delete;
        any_plan &operator=(const any_plan &) = delete;
        virtual ~any_plan() = default;
        virtual const cpt_plan *get() const = 0;
        virtual const char *why() const = 0;
    };
    template <class Taken> struct owned : any_plan {
        plan<Taken, Out> of;
        explicit owned(const graph<Taken, Out> &graph) : of(graph)
        {
        }
        const cpt_plan *get() const override
        {
            return of.get();
        }
        const char *why() const override
        {
            return of.why();
        }
    };

    static cpt_shared_options options_of(const shared_options &how,
                                         const cpt_value *item)
    {
        constexpr std::size_t batch_count_default = 64;
        cpt_shared_options options = {};

        options.struct_bytes = sizeof options;
        options.executor = how.executor;
        options.memory_bytes_max = how.memory_bytes_max;
        options.keys_max = how.keys_max;
        options.waiters_max = how.waiters_max;
        if (item != nullptr) {
            options.item = item;
            options.batch_count_max =
                how.batch_count_max != 0 ? how.batch_count_max : batch_count_default;
            options.batch_delay_ns = detail::ns(how.batch_delay);
        }
        options.is_traced_on_demand = how.is_traced_on_demand;
        return options;
    }
    void make(const char *name, const any_plan *of, cpt_shared_options options)
    {
        options.name = name;
        options.plan = of->get();
        if (options.plan == nullptr) {
            (void)cpt_error_set(&error_, CPT_INVALID, 0, "%s", of->why());
            return;
        }
        shared_ = cpt_shared_new(&options, &error_);
    }

    std::unique_ptr<any_plan> plan_;
    bool is_owned_ = false;
    cpt_error error_ = {};
    cpt_shared *shared_ = nullptr;
};

template <class In, class Out>
shared(const char *, const graph<batch<In>, Out> &) -> shared<In, Out>;
template <class In, class Out>
shared(const char *, const graph<batch<In>, Out> &, shared_options) -> shared<In, Out>;

} // namespace cpt

#endif
