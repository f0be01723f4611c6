/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_async.cc - a service on the asynchronous interfaces of grpc++, both sides
 *
 *      grpc_async callback TARGET FOLDER    callbacks: reactors, stub->async()
 *      grpc_async queue TARGET FOLDER       one completion queue, of server and client
 *
 * Prints its port. What a handler does is said by the text that it is sent:
 *
 *      once    calls TARGET, and answers when that has answered
 *      many    50 calls at once
 *      row     a second call when the first one has answered
 *      other   answers, and calls, on a thread of its own
 *
 * Where the handler goes on elsewhere than on the thread that it began on, it says for
 * which request: cpt::grpc_scope.
 */
#include "grpc_operated.hpp"

#include <grpc_demo.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <thread>

using demo::Greeter;
using demo::Text;
using namespace std::chrono_literals;

namespace
{

enum { MANY = 50 };

int count_of(const std::string &what)
{
    return what == "many" ? MANY : 1;
}

/* --- Callbacks --- */

/* One call, which deletes itself. */
struct callback_call {
    grpc::ClientContext context;
    Text request;
    Text reply;
};

class callback_handler final : public Greeter::CallbackService
{
  public:
    explicit callback_handler(const std::string &target)
        : stub_(Greeter::NewStub(channel_to(target, true)))
    {
    }
    grpc::ServerUnaryReactor *Hello(grpc::CallbackServerContext *context,
                                    const Text *request, Text *reply) override
    {
        grpc::ServerUnaryReactor *reactor = context->DefaultReactor();
        const std::string what = request->text();

        reply->set_text("hello " + what);
        if (what == "other") {
            std::thread([=] {
                const cpt::grpc_scope scope(cpt::grpc_request::of(context));
                const cpt::grpc_part part("elsewhere");

                std::this_thread::sleep_for(1ms);
                call(what, [=](const grpc::Status &status) { reactor->Finish(status); });
            }).detach();
        } else if (what == "row") {
            call(what, [=](const grpc::Status &) {
                const cpt::grpc_scope scope(cpt::grpc_request::of(context));

                call(what, [=](const grpc::Status &status) { reactor->Finish(status); });
            });
        } else {
            auto left = std::make_shared<std::atomic<int>>(count_of(what));

            for (int i = count_of(what); i > 0; i--) {
                call(what, [=](const grpc::Status &status) {
                    if (--*left == 0) {
                        reactor->Finish(status);
                    }
                });
            }
        }
        return reactor;
    }

  private:
    void call(const std::string &what, std::function<void(const grpc::Status &)> done)
    {
        auto *one = new callback_call;

        one->request.set_text(what);
        stub_->async()->Hello(&one->context, &one->request, &one->reply,
                              [one, done](const grpc::Status &status) {
                                  done(status);
                                  delete one;
                              });
    }

    std::unique_ptr<Greeter::Stub> stub_;
};

int serve_callbacks(const std::string &target, const char *log_folder)
{
    sigset_t ends;

    operated::block_signals(&ends);
    operated service(log_folder, 1);
    callback_handler handler(target);
    grpc::ServerBuilder builder;

    builder.RegisterService(&handler);
    const std::unique_ptr<grpc::Server> server = service.start(&builder);
    operated::wait_for_end(&ends);
    server->Shutdown(std::chrono::system_clock::now() + 5s);
    return 0;
}

/* --- A completion queue --- */

/* What an event belongs to. */
class event
{
  public:
    virtual ~event() = default;
    virtual void run(bool is_ok) = 0;
};

class queue_server;

/* A request from its arrival to its answer; deletes itself. */
class queue_request final : public event
{
  public:
    explicit queue_request(queue_server *server);
    void run(bool is_ok) override;
    /* A call of it has ended. */
    void called(const grpc::Status &status);

  private:
    void begin();
    void call();
    void finish(const grpc::Status &status)
    {
        is_answered_ = true;
        responder_.Finish(reply_, status, this);
    }

    queue_server *server_;
    grpc::ServerContext context_;
    Text request_;
    Text reply_;
    grpc::ServerAsyncResponseWriter<Text> responder_;
    int left_ = 0;
    bool has_begun_ = false;
    bool is_answered_ = false;
    bool is_second_ = false;
};

class queue_call final : public event
{
  public:
    queue_call(queue_server *server, queue_request *of, const std::string &what);
    void run(bool) override
    {
        of_->called(status_);
        delete this;
    }

  private:
    queue_request *of_;
    grpc::ClientContext context_;
    Text reply_;
    grpc::Status status_;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Text>> reader_;
};

class queue_server
{
  public:
    queue_server(const std::string &target, const char *log_folder)
        : service_(log_folder, 1), stub(Greeter::NewStub(channel_to(target, true)))
    {
        grpc::ServerBuilder builder;

        builder.RegisterService(&handler);
        queue = builder.AddCompletionQueue();
        server_ = service_.start(&builder);
    }
    void run(const sigset_t *ends)
    {
        std::thread events([this] { run_events(); });

        new queue_request(this);
        operated::wait_for_end(ends);
        is_ending = true;
        server_->Shutdown(std::chrono::system_clock::now() + 5s);
        queue->Shutdown();
        events.join();
    }

  private:
    void run_events()
    {
        void *tag = nullptr;
        bool is_ok = false;

        while (queue->Next(&tag, &is_ok)) {
            static_cast<event *>(tag)->run(is_ok);
        }
    }
    operated service_;

  public:
    Greeter::AsyncService handler;
    std::unique_ptr<Greeter::Stub> stub;
    std::unique_ptr<grpc::ServerCompletionQueue> queue;
    std::atomic<bool> is_ending{false};

  private:
    std::unique_ptr<grpc::Server> server_; /* ends first */
};

queue_request::queue_request(queue_server *server)
    : server_(server), responder_(&context_)
{
    server_->handler.RequestHello(&context_, &request_, &responder_,
                                  server_->queue.get(), server_->queue.get(), this);
}

void queue_request::run(bool is_ok)
{
    if (is_answered_ || !is_ok) {
        delete this;
    } else if (!has_begun_) {
        has_begun_ = true;
        if (!server_->is_ending) {
            new queue_request(server_);
        }
        begin();
    }
}

void queue_request::call()
{
    const cpt::grpc_scope scope(cpt::grpc_request::of(&context_));

    new queue_call(server_, this, request_.text());
}

void queue_request::begin()
{
    const std::string &what = request_.text();

    reply_.set_text("hello " + what);
    left_ = count_of(what);
    if (what == "other") {
        std::thread([this] {
            {
                const cpt::grpc_scope scope(cpt::grpc_request::of(&context_));
                const cpt::grpc_part part("elsewhere");

                std::this_thread::sleep_for(1ms);
            }
            call();
        }).detach();
        return;
    }
    for (int i = left_; i > 0; i--) {
        call();
    }
}

void queue_request::called(const grpc::Status &status)
{
    if (--left_ > 0) {
        return;
    }
    if (request_.text() == "row" && !is_second_) {
        is_second_ = true;
        left_ = 1;
        call();
        return;
    }
    finish(status);
}

queue_call::queue_call(queue_server *server, queue_request *of, const std::string &what)
    : of_(of)
{
    Text request;

    request.set_text(what);
    reader_ = server->stub->AsyncHello(&context_, request, server->queue.get());
    reader_->Finish(&reply_, &status_, this);
}

int serve_queue(const std::string &target, const char *log_folder)
{
    sigset_t ends;

    operated::block_signals(&ends);
    queue_server server(target, log_folder);
    server.run(&ends);
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string verb = argc == 4 ? argv[1] : "";

    return verb == "callback" ? serve_callbacks(argv[2], argv[3])
           : verb == "queue"  ? serve_queue(argv[2], argv[3])
                              : 2;
}
