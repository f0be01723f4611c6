/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cpt_program.hpp - the main() of a service in C++; see cpt.hpp and cpt_service_main.h */
#ifndef CPT_PROGRAM_HPP
#define CPT_PROGRAM_HPP

#include <cpt/cpt.hpp>
#include <cpt/cpt_service_main.h>

#include <functional>

namespace cpt
{

using service_graph = graph<cpt_rpc_request, cpt_rpc_reply>;

/* The main() of a service; see cpt_service_main.h:
 *
 *      return cpt::program("front").method("/page", page).stub(price).run(argc, argv);
 */
class program
{
  public:
    explicit program(std::string name) : state_(std::make_shared<state>())
    {
        state_->name = std::move(name);
        state_->options.struct_bytes = sizeof state_->options;
    }
    /* "/page", "GET /users/{id}", "*" */
    program &method(const char *path, const service_graph &answers,
                    duration timeout = {})
    {
        const cpt_graph *graph = answers.get();

        state_->graphs.push_back(answers.state());
        state_->methods.push_back(
            {path, graph->tasks, graph->task_count, detail::ns(timeout)});
        return *this;
    }
    /* Where --to says, by HTTP; by gRPC if begin() sets its transport:
     * `called.transport = cpt_grpc_transport(grpc)`, see docs/grpc.md. */
    program &stub(cpt_stub &called)
    {
        state_->stubs.push_back(&called);
        return *this;
    }
    program &role(cpt_role role)
    {
        state_->options.role = role;
        return *this;
    }
    program &pool(const char *name, unsigned worker_count, cpt_executor **set)
    {
        state_->pools.push_back({name, worker_count, set});
        return *this;
    }
    /* Makes @work, of which one run of @of is the work; see cpt::shared. */
    template <class In, class Out>
    program &share(const char *name, const graph<In, Out> &of, shared<In, Out> &work,
                   const shared_options &how = {})
    {
        return share_as(name, of, work, how, nullptr);
    }
    template <class In, class Out>
    program &share(const char *name, const graph<batch<In>, Out> &of,
                   shared<In, Out> &work, const shared_options &how = {})
    {
        return share_as(name, of, work, how, detail::value_of<In>());
    }
    /* "--name VALUE_NAME" of its own, which sets @value. */
    program &flag(const char *name, const char *value_name, const char *help,
                  const char *&value)
    {
        state_->flags.push_back({name, value_name, help, &value});
        return *this;
    }
    /* For --version. */
    program &version(const char *text)
    {
        state_->options.version = text;
        return *this;
    }
    program &listen(const char *address)
    {
        state_->options.listen = address;
        return *this;
    }
    /* Called when all is made and nothing serves yet: opens what tasks use. What it
     * throws ends the program. */
    program &begin(std::function<void(const cpt_main_parts &)> open)
    {
        state_->begin = std::move(open);
        return *this;
    }
    /* Called when no task runs any more, if begin() has succeeded. */
    program &end(std::function<void()> close)
    {
        state_->end = std::move(close);
        return *this;
    }
    /* All other options. */
    cpt_main_options &options()
    {
        return state_->options;
    }
    int run(int argc, char **argv)
    {
        state &own = *state_;
        int status = 0;

        close_lists(own);
        if (own.begin || own.end) {
            own.options.begin = run_begin;
            own.options.end = run_end;
            own.options.context = &own;
        }
        status = cpt_service_main(argc, argv, &own.options);
        if (status == 1) { /* work may have been left alone, which uses the graphs */
            static auto *const kept = new std::vector<std::shared_ptr<state>>();

            kept->push_back(state_);
        }
        return status;
    }

  private:
    struct state {
        std::string name;
        std::vector<cpt_main_method> methods;
        std::vector<cpt_main_pool> pools;
        std::vector<cpt_main_share> shares;
        std::list<cpt_shared_options> share_options;
        std::vector<cpt_main_flag> flags;
        std::vector<cpt_stub *> stubs;
        std::vector<std::shared_ptr<const detail::graph_state>> graphs;
        std::function<void(const cpt_main_parts &)> begin;
        std::function<void()> end;
        cpt_main_options options = {};
    };

    template <class In, class Taken, class Out>
    program &share_as(const char *name, const graph<Taken, Out> &of,
                      shared<In, Out> &work, const shared_options &how,
                      const cpt_value *item)
    {
        state_->graphs.push_back(of.state());
        state_->share_options.push_back(shared<In, Out>::options_of(how, item));
        state_->shares.push_back(
            {name, of.get(), &work.shared_, &state_->share_options.back()});
        return *this;
    }

    static void close_lists(state &own)
    {
        own.methods.push_back({});
        own.pools.push_back({});
        own.shares.push_back({});
        own.flags.push_back({});
        own.stubs.push_back(nullptr);
        own.options.name = own.name.c_str();
        own.options.methods = own.methods.data();
        own.options.pools = own.pools.data();
        own.options.shares = own.shares.data();
        own.options.flags = own.flags.data();
        own.options.stubs = own.stubs.data();
    }

    static cpt_status run_begin(void *context, const cpt_main_parts *parts,
                                cpt_error *error) noexcept
    {
        const state *own = static_cast<const state *>(context);

#if defined(__cpp_exceptions)
        try {
            if (own->begin) {
                own->begin(*parts);
            }
            return CPT_OK;
        } catch (const cpt::error &why) {
            return cpt_error_set(error, why.status(), 0, "%s", why.what());
        } catch (const std::exception &why) {
            return cpt_error_set(error, CPT_FAILED, 0, "%s", why.what());
        } catch (...) {
            return cpt_error_set(error, CPT_FAILED, 0,
                                 "an exception that is no std::exception");
        }
#else
        (void)error;
        if (own->begin) {
            own->begin(*parts);
        }
        return CPT_OK;
#endif
    }
    static void run_end(void *context) noexcept
    {
        const state *own = static_cast<const state *>(context);

        if (own->end) {
            own->end();
        }
    }

    std::shared_ptr<state> state_;
};

} // namespace cpt

#endif
