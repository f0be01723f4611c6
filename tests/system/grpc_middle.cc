/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_middle.cc - an existing service on grpc++, and a client that knows nothing of us
 *
 *      grpc_middle serve TARGET FOLDER [PROBABILITY]
 *                        the service M: calls TARGET and prints its port, and at its end
 *                        what of trace contexts it has refused
 *      grpc_middle call TARGET TEXT [NAME=VALUE…]
 *                        one call without interceptors; prints what came
 *
 * The handlers have not a line about paths; what they do is said by the text that they
 * are sent:
 *
 *      twice      calls TARGET twice in a row
 *      both       twice at once
 *      overlap    computes while a call is under way
 *      deadline   calls with a deadline that passes
 *      cancel     begins a call, cancels it
 *      fail       answers NOT_FOUND
 *      count      reads a stream of TARGET
 *      bytes      sends back metadata of 3 KB of its own
 *      own        calls with a traceparent of its own
 */
#include "grpc_operated.hpp"

#include <cpt/cpt_path.h>

#include <grpc_demo.grpc.pb.h>

#include <chrono>
#include <fstream>
#include <thread>

using demo::Greeter;
using demo::Text;
using namespace std::chrono_literals;

namespace
{

class middle final : public Greeter::Service
{
  public:
    explicit middle(const std::string &target)
        : stub_(Greeter::NewStub(channel_to(target, true)))
    {
    }

    grpc::Status Hello(grpc::ServerContext *context, const Text *request,
                       Text *reply) override
    {
        const std::string &what = request->text();

        std::this_thread::sleep_for(2ms);
        reply->set_text("hello " + what);
        if (what == "fail") {
            return {grpc::StatusCode::NOT_FOUND, "not here"};
        }
        if (what == "bytes") {
            for (int i = 0; i < 2; i++) {
                context->AddTrailingMetadata("x-more-bin", std::string(1500, '\x01'));
            }
        }
        if (what == "both") {
            return call_both(what);
        }
        if (what == "overlap") {
            return call_overlapped(what);
        }
        if (what == "count") {
            return call_count(what, reply);
        }
        if (what == "deadline" || what == "cancel") {
            (void)call_in_vain(what);
            return grpc::Status::OK;
        }
        const grpc::Status status = call(what);

        return status.ok() && what == "twice" ? call(what) : status;
    }

    grpc::Status Count(grpc::ServerContext *, const Text *request,
                       grpc::ServerWriter<Text> *writer) override
    {
        Text part;

        for (int i = 0; i < 3; i++) {
            std::this_thread::sleep_for(1ms);
            part.set_text(request->text() + std::to_string(i));
            writer->Write(part);
        }
        return call(request->text());
    }

  private:
    grpc::Status call(const std::string &what)
    {
        grpc::ClientContext context;
        Text request;
        Text reply;

        if (what == "own") {
            context.AddMetadata("traceparent",
                                "00-11111111111111111111111111111111-"
                                "2222222222222222-00");
        }
        request.set_text(what);
        const grpc::Status status = stub_->Hello(&context, request, &reply);

        return status.ok() && reply.text() != what
                   ? grpc::Status(grpc::StatusCode::DATA_LOSS, reply.text())
                   : status;
    }
    grpc::Status call_count(const std::string &what, Text *reply)
    {
        grpc::ClientContext context;
        Text request;
        Text part;

        request.set_text(what);
        const auto reader = stub_->Count(&context, request);

        while (reader->Read(&part)) {
            reply->set_text(reply->text() + " " + part.text());
        }
        return reader->Finish();
    }
    grpc::Status call_both(const std::string &what)
    {
        grpc::CompletionQueue queue;
        grpc::ClientContext contexts[2];
        grpc::Status statuses[2];
        Text replies[2];
        Text request;
        std::unique_ptr<grpc::ClientAsyncResponseReader<Text>> readers[2];

        request.set_text(what);
        for (int i = 0; i < 2; i++) {
            readers[i] = stub_->AsyncHello(&contexts[i], request, &queue);
            readers[i]->Finish(&replies[i], &statuses[i], &contexts[i]);
        }
        for (int i = 0; i < 2; i++) {
            void *tag = nullptr;
            bool is_ok = false;

            queue.Next(&tag, &is_ok);
        }
        return statuses[0].ok() ? statuses[1] : statuses[0];
    }
    grpc::Status call_overlapped(const std::string &what)
    {
        grpc::CompletionQueue queue;
        grpc::ClientContext context;
        grpc::Status status;
        Text request;
        Text reply;
        void *tag = nullptr;
        bool is_ok = false;

        request.set_text(what);
        const cpt::grpc_overlap overlap;
        auto reader = stub_->AsyncHello(&context, request, &queue);
        reader->Finish(&reply, &status, &context);
        {
            const cpt::grpc_part part("compute");
            std::this_thread::sleep_for(1ms);
        }
        const cpt::grpc_wait wait;
        queue.Next(&tag, &is_ok);
        return status;
    }
    grpc::Status call_in_vain(const std::string &what)
    {
        grpc::ClientContext context;
        Text request;
        Text reply;
        std::thread other;

        request.set_text(what);
        if (what == "deadline") {
            context.set_deadline(std::chrono::system_clock::now() + 1ms);
        } else {
            other = std::thread([&] {
                std::this_thread::sleep_for(1ms);
                context.TryCancel();
            });
        }
        const grpc::Status status = stub_->Hello(&context, request, &reply);

        if (other.joinable()) {
            other.join();
        }
        return status;
    }

    std::unique_ptr<Greeter::Stub> stub_;
};

/* --- What an operator adds --- */

int serve(const std::string &target, const char *log_folder, double probability)
{
    sigset_t ends;

    operated::block_signals(&ends);
    operated service(log_folder, probability);
    middle handler(target);
    grpc::ServerBuilder builder;

    builder.RegisterService(&handler);
    const std::unique_ptr<grpc::Server> server = service.start(&builder);
    operated::wait_for_end(&ends);
    server->Shutdown(std::chrono::system_clock::now() + 5s);
    return 0;
}

/* --- A client that knows nothing of us --- */

int call(const std::string &target, const std::string &what, char **fields)
{
    const auto stub = Greeter::NewStub(
        grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    Text request;
    Text reply;
    grpc::Status status;

    if (what.compare(0, 6, "asked-") == 0) {
        context.AddMetadata("critical-path", "1;max=2048");
    }
    for (; *fields != nullptr; fields++) {
        const std::string field = *fields;

        context.AddMetadata(field.substr(0, field.find('=')),
                            field.substr(field.find('=') + 1));
    }
    request.set_text(what.substr(what.rfind('-') + 1));
    if (what.find("stream") != std::string::npos) {
        const auto reader = stub->Count(&context, request);

        while (reader->Read(&reply)) {
            std::cout << reply.text() << " ";
        }
        status = reader->Finish();
    } else {
        status = stub->Hello(&context, request, &reply);
        std::cout << reply.text() << " ";
    }
    const auto &trailing = context.GetServerTrailingMetadata();
    const auto path = trailing.find("critical-path-bin");

    std::cout << "status " << status.error_code() << " paths "
              << trailing.count("critical-path-bin") << "\n";
    if (path != trailing.end()) {
        std::ofstream("path.bin", std::ios::binary)
            .write(path->second.data(),
                   static_cast<std::streamsize>(path->second.size()));
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string verb = argc >= 4 ? argv[1] : "";

    return verb == "serve" ? serve(argv[2], argv[3], argc > 4 ? std::stod(argv[4]) : 1)
           : verb == "call" ? call(argv[2], argv[3], argv + 4)
                            : 2;
}
