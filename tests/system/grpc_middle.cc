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
 *      grpc_middle room TARGET COUNT [SEED]
 *                        COUNT calls with metadata of 0 to 8 KB, of the answer or of a
 *                        call that TARGET makes, each with an ask and without: the status is the same; prints how many had a path
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
 *      own6500    sends back trailing metadata of that many bytes, as HTTP/2 counts
 *      bad6500    the same with an error
 *      out6500    calls with metadata of that many bytes
 *      own        calls with a traceparent of its own
 *      own baggage  calls with baggage and B3 of its own
 *      gateway    calls with all metadata that came, and answers with all that came back
 */
#include "grpc_operated.hpp"

#include <cpt/cpt_path.h>

#include <grpc_demo.grpc.pb.h>

#include <algorithm>
#include <cctype>
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
        if (what.size() > 3 && std::isdigit(static_cast<unsigned char>(what[3])) != 0) {
            return what.compare(0, 3, "out") == 0 ? call_headed(what)
                                                  : own_metadata(context, what);
        }
        if (what == "gateway") {
            return pass_on(context, what);
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
    /* Metadata of as many bytes as @what says, and a path of any size. */
    static grpc::Status own_metadata(grpc::ServerContext *context,
                                     const std::string &what)
    {
        std::size_t left = std::stoul(what.substr(3));

        while (left > 50) {
            const std::size_t bytes = std::min<std::size_t>(left, 1000);

            const char letter = static_cast<char>('a' + left / 1000); /* HPACK sees no two */

            context->AddTrailingMetadata("x-own", std::string(bytes - 37, letter));
            left -= bytes;
        }
        for (int i = 0; i < 100; i++) {
            const cpt::grpc_part part(("part " + std::to_string(i * 7919)).c_str());
        }
        return what.compare(0, 3, "bad") == 0
                   ? grpc::Status(grpc::StatusCode::NOT_FOUND, "not % here")
                   : grpc::Status::OK;
    }
    grpc::Status call_headed(const std::string &what)
    {
        grpc::ClientContext context;
        Text request;
        Text reply;

        for (std::size_t left = std::stoul(what.substr(3)); left > 50;) {
            const std::size_t bytes = std::min<std::size_t>(left, 1000);

            context.AddMetadata("x-own", std::string(bytes - 37, 'a'));
            left -= bytes;
        }
        request.set_text("own0"); /* which calls no other */
        return stub_->Hello(&context, request, &reply);
    }
    grpc::Status pass_on(grpc::ServerContext *from, const std::string &what)
    {
        grpc::ClientContext to;
        Text request;
        Text reply;

        for (const auto &field : from->client_metadata()) {
            const std::string name(field.first.data(), field.first.size());

            if (name != "user-agent") {
                to.AddMetadata(name, {field.second.data(), field.second.size()});
            }
        }
        request.set_text(what);
        const grpc::Status status = stub_->Hello(&to, request, &reply);

        for (const auto &field : to.GetServerTrailingMetadata()) {
            from->AddTrailingMetadata({field.first.data(), field.first.size()},
                                      {field.second.data(), field.second.size()});
        }
        return status;
    }
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
        if (what == "own baggage") {
            context.AddMetadata("baggage", "mine=1");
            context.AddMetadata("b3", "0");
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

/* The code that @what is answered with; adds the paths that came to *@path_count. */
int code_of(Greeter::Stub *stub, const std::string &what, bool asks, int *path_count)
{
    grpc::ClientContext context;
    Text request;
    Text reply;

    if (asks) {
        context.AddMetadata("critical-path", "1;max=2048");
    }
    request.set_text(what);
    const grpc::Status status = stub->Hello(&context, request, &reply);

    *path_count +=
        static_cast<int>(context.GetServerTrailingMetadata().count("critical-path-bin"));
    return status.error_code();
}

int room(const std::string &target, int count, unsigned seed)
{
    const auto stub = Greeter::NewStub(
        grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
    int path_count = 0;
    int failed_count = 0;

    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        static const char *const kinds[] = {"bad", "own", "own", "out"};
        const std::string what = kinds[seed >> 30] + std::to_string((seed >> 8) % 8192);
        const int plain = code_of(stub.get(), what, false, &path_count);
        const int asked = code_of(stub.get(), what, true, &path_count);

        if (plain != asked) {
            std::cout << what << ": status " << plain << ", with an ask " << asked << "\n";
            return 1;
        }
        failed_count += plain != 0;
    }
    std::cout << "room: " << count << " asked, " << path_count << " paths, "
              << failed_count << " failed either way\n";
    return path_count == 0 || path_count >= count;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string verb = argc >= 4 ? argv[1] : "";

    return verb == "serve" ? serve(argv[2], argv[3], argc > 4 ? std::stod(argv[4]) : 1)
           : verb == "call" ? call(argv[2], argv[3], argv + 4)
           : verb == "room" ? room(argv[2], std::stoi(argv[3]),
                                   argc > 4 ? static_cast<unsigned>(std::stoul(argv[4])) : 1)
                            : 2;
}
