/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_operated.hpp - what the operator of a service on grpc++ adds, for tests: the
 * service M with its logs, and channels that are traced */
#ifndef GRPC_OPERATED_HPP
#define GRPC_OPERATED_HPP

#include <cpt/cpt_grpc.hpp>
#include <cpt/cpt_log_file.h>
#include <cpt/cpt_log_queue.h>

#include <csignal>
#include <iostream>

inline std::shared_ptr<grpc::Channel> channel_to(const std::string &target,
                                                 bool is_traced)
{
    cpt::grpc_client_factories out;

    if (is_traced) {
        out.push_back(std::make_unique<cpt::grpc_client_tracing>());
    }
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        target, grpc::InsecureChannelCredentials(), grpc::ChannelArguments(),
        std::move(out));
}

/* M; ends the process if it cannot be made. Prints at its end what it has refused. */
class operated
{
  public:
    operated(const char *log_folder, double probability)
    {
        cpt_error error = {};
        cpt_log_file_options file_options = {};
        file_options.struct_bytes = sizeof file_options;
        file_options.directory = log_folder;
        file_ = cpt_log_file_new(&file_options, &error);
        file_options.content = CPT_LOG_GRAPHS;
        graph_file_ = cpt_log_file_new(&file_options, &error);
        cpt_log_queue_options queue_options = {};
        queue_options.struct_bytes = sizeof queue_options;
        queue_options.sink = cpt_log_file_write;
        queue_options.context = file_;
        log_ = cpt_log_queue_new(&queue_options, &error);
        queue_options.context = graph_file_;
        queue_options.content = CPT_LOG_GRAPHS;
        graphs_ = cpt_log_queue_new(&queue_options, &error);
        cpt_service_options options = {};
        options.struct_bytes = sizeof options;
        options.name = "M";
        options.role = CPT_ROLE_INNER;
        options.probability = probability > 0 ? probability : -1; /* 0: the default */
        options.log = log_;
        options.graphs = graphs_; /* of the requests whose callers ask for it */
        service_ = cpt_service_new(&options, &error);
        if (file_ == nullptr || log_ == nullptr || graph_file_ == nullptr ||
            graphs_ == nullptr || service_ == nullptr) {
            std::cerr << error.sentence << "\n";
            std::exit(1);
        }
    }
    operated(const operated &) = delete;
    operated &operator=(const operated &) = delete;
    ~operated()
    {
        (void)cpt_service_drain(service_, 5000000000u);
        cpt_service_counters(service_, print_refused, nullptr);
        cpt_service_free(service_);
        cpt_log_queue_free(log_);
        cpt_log_queue_free(graphs_);
        cpt_log_file_free(file_);
        cpt_log_file_free(graph_file_);
    }
    /* A server of M on any port, which it prints. */
    std::unique_ptr<grpc::Server> start(grpc::ServerBuilder *builder)
    {
        cpt::grpc_server_factories in;
        int port = 0;

        in.push_back(std::make_unique<cpt::grpc_server_tracing>(service_));
        builder->experimental().SetInterceptorCreators(std::move(in));
        builder->AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                                  &port);
        auto server = builder->BuildAndStart();
        std::cout << "grpc " << port << std::endl;
        return server;
    }
    /* From now on signals wait for wait_for_end(); before threads are started. */
    static void block_signals(sigset_t *ends)
    {
        sigemptyset(ends);
        sigaddset(ends, SIGTERM);
        sigaddset(ends, SIGINT);
        pthread_sigmask(SIG_BLOCK, ends, nullptr);
    }
    static void wait_for_end(const sigset_t *ends)
    {
        int signal = 0;

        sigwait(ends, &signal);
    }

  private:
    static void print_refused(void *, const cpt_counter *counter)
    {
        if (std::strncmp(counter->name, "refused_trace", 13) == 0) {
            std::cout << counter->name << " " << counter->value << std::endl;
        }
    }

    cpt_log_file *file_ = nullptr;
    cpt_log_queue *log_ = nullptr;
    cpt_log_file *graph_file_ = nullptr;
    cpt_log_queue *graphs_ = nullptr;
    cpt_service *service_ = nullptr;
};

#endif
