/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_certificates.c - gRPC over TLS: who is believed, who is refused, which files
 *
 *      grpc_certificates      in a folder with what grpc_tls.sh has made
 *
 * A service listens with TLS, and calls of a task graph go to it.
 */
#include "grpc_support.h"

#include "framework/transport/cpt_http.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { TRIES = 20 };

#define OWN   "server.pem", "server.key"
#define TOOLS "tools.pem", "tools.key"

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "grpc_certificates: %s\n", what);
        exit(1);
    }
}

static struct cpt_http_tls tls_of(const char *certificate, const char *key,
                                  const char *ca)
{
    return (struct cpt_http_tls){.struct_bytes = sizeof(struct cpt_http_tls),
                                 .certificate_file = certificate,
                                 .key_file = key,
                                 .ca_file = ca};
}

/* Calls the service at @port by @host, with the certificates @tls; NULL: none. */
static void call(const struct cpt_http_tls *tls, const char *host, uint16_t port,
                 struct grpc_call_result *result)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .calls_tls = tls};
    struct cpt_error error = {0};
    struct cpt_grpc *grpc = cpt_grpc_new(&options, &error);
    struct grpc_call_request request = {.body = cpt_bytes_of("you"), .is_traced = true};
    char target[64];

    must(grpc != NULL, error.sentence);
    (void)snprintf(target, sizeof target, "%s:%u", host, (unsigned)port);
    request.stub.name = "G: Hello";
    request.stub.target = target;
    request.stub.method = "/t.G/Hello";
    request.stub.timeout_ns = 20000 * MS;
    grpc_call_out(grpc, &request, result);
    (void)cpt_grpc_stop(grpc);
    cpt_grpc_free(grpc);
}

static void is_answered(const struct cpt_http_tls *tls, const char *host, uint16_t port,
                        bool has_path, const char *what)
{
    struct grpc_call_result result;

    /* The callee is not on the path if its reply comes before the caller waits. */
    for (int i = 0; i < TRIES && (i == 0 || (has_path && !result.has_callee)); i++) {
        call(tls, host, port, &result);
    }
    must(result.statuses[0] == CPT_OK && strcmp(result.bodies[0], "hello you") == 0 &&
             result.is_path_good && result.has_callee == has_path,
         what);
    (void)printf("%s\n", what);
}

static void is_refused(const struct cpt_http_tls *tls, const char *host, uint16_t port,
                       const char *what)
{
    struct grpc_call_result result;

    call(tls, host, port, &result);
    must(result.statuses[0] != CPT_OK && result.is_path_good, what);
    (void)printf("%s\n", what);
}

static uint16_t listen_tls(const struct grpc_service *made,
                           const struct cpt_http_tls *tls)
{
    struct cpt_error error = {0};
    uint16_t port = 0;

    must(cpt_grpc_listen_tls(made->grpc, made->service, tls, NULL, 0, &port, &error) ==
             CPT_OK,
         error.sentence);
    return port;
}

/* Neither a port nor calls take @tls, and they say which file is bad. */
static void is_bad(const struct grpc_service *made, const struct cpt_http_tls *tls,
                   cpt_status status, const char *file)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .calls_tls = tls};
    struct cpt_error error = {0};

    must(cpt_grpc_listen_tls(made->grpc, made->service, tls, NULL, 0, NULL, &error) ==
             status,
         file);
    must(strncmp(error.sentence, file, strlen(file)) == 0, error.sentence);
    (void)printf("a port: %s\n", error.sentence);
    must(cpt_grpc_new(&options, &error) == NULL && error.status == status, file);
    must(strncmp(error.sentence, file, strlen(file)) == 0, error.sentence);
}

static void try_files(const struct grpc_service *made)
{
    struct cpt_http_tls tls = tls_of("none.pem", "server.key", NULL);

    is_bad(made, &tls, CPT_IO, "none.pem: ");
    tls = tls_of("server.pem", "open.key", NULL);
    is_bad(made, &tls, CPT_INVALID, "open.key: ");
    tls = tls_of("server.pem", "fifo", NULL);
    is_bad(made, &tls, CPT_INVALID, "fifo: ");
    tls = tls_of("text.pem", "server.key", NULL);
    is_bad(made, &tls, CPT_INVALID, "text.pem: ");
    tls = tls_of("cut.pem", "server.key", NULL);
    is_bad(made, &tls, CPT_INVALID, "cut.pem: it was cut short");
    tls = tls_of("server.pem", "server.key", "cut.pem");
    is_bad(made, &tls, CPT_INVALID, "cut.pem: it was cut short");
    tls = tls_of("server.pem", "server.key", "none.pem");
    is_bad(made, &tls, CPT_IO, "none.pem: ");
    tls = tls_of("server.pem", "tools.key", NULL); /* of another certificate */
    must(cpt_grpc_listen_tls(made->grpc, made->service, &tls, NULL, 0, NULL, NULL) ==
             CPT_INVALID,
         "a key of another certificate is taken");
    tls = tls_of(NULL, NULL, NULL);
    must(cpt_grpc_listen_tls(made->grpc, made->service, &tls, NULL, 0, NULL, NULL) ==
             CPT_INVALID,
         "no certificate is taken");
}

static void try_calls(const struct grpc_service *made)
{
    struct cpt_http_tls own = tls_of(OWN, NULL);
    const struct cpt_http_tls other = tls_of("other.pem", "other.key", NULL);
    const struct cpt_http_tls believes = tls_of(NULL, NULL, "ca.pem");
    const struct cpt_http_tls strange = tls_of(NULL, NULL, "strange-ca.pem");
    const struct cpt_http_tls tools = tls_of(TOOLS, "ca.pem");
    const struct cpt_http_tls stranger =
        tls_of("stranger.pem", "stranger.key", "ca.pem");
    uint16_t port = listen_tls(made, &own);

    is_answered(&believes, "https://localhost", port, true, "a name that it has");
    is_answered(&believes, "https://127.0.0.1", port, true, "an address that it has");
    is_refused(&strange, "https://localhost", port, "signed by another");
    is_refused(NULL, "https://localhost", port, "signed by none that the system knows");
    is_refused(NULL, "127.0.0.1", port, "without TLS");
    is_refused(&believes, "https://localhost", made->port, "TLS to a port without");
    is_refused(&believes, "https://localhost", listen_tls(made, &other),
               "another name");

    own.ca_file = "ca.pem";
    own.requires_certificate = 1;
    port = listen_tls(made, &own);
    is_answered(&tools, "https://localhost", port, true, "a client with a certificate");
    is_refused(&believes, "https://localhost", port, "a client without");
    is_refused(&stranger, "https://localhost", port, "a client of another authority");
}

static void copy_file(const char *from, const char *to)
{
    char text[16384];
    FILE *in = fopen(from, "r");
    FILE *out = fopen("copy", "w");
    size_t bytes = 0;

    must(in != NULL && out != NULL, from);
    bytes = fread(text, 1, sizeof text, in);
    must(fwrite(text, 1, bytes, out) == bytes && fclose(out) == 0 &&
             chmod("copy", 0600) == 0 && rename("copy", to) == 0,
         to);
    (void)fclose(in);
}

/* Certificates that are renewed while a port serves; those that are bad. */
static void try_again(void)
{
    const struct cpt_http_tls now = tls_of("now.pem", "now.key", NULL);
    const struct cpt_http_tls believes = tls_of(NULL, NULL, "ca.pem");
    const struct cpt_http_tls strange = tls_of(NULL, NULL, "strange-ca.pem");
    struct cpt_error error = {0};
    struct grpc_service made;
    uint16_t port = 0;

    grpc_service_start(&made, NULL, NULL);
    must(cpt_grpc_reload_tls(made.grpc, &error) == CPT_OK, "no port is a bad port");
    copy_file("server.pem", "now.pem");
    copy_file("server.key", "now.key");
    port = listen_tls(&made, &now);
    is_answered(&believes, "https://localhost", port, true, "the first certificate");
    copy_file("renewed.pem", "now.pem");
    must(cpt_grpc_reload_tls(made.grpc, &error) == CPT_INVALID &&
             strncmp(error.sentence, "now.pem: ", 9) == 0,
         "a key of another certificate is taken");
    is_answered(&believes, "https://localhost", port, true, "the first one, still");
    copy_file("text.pem", "now.pem");
    must(cpt_grpc_reload_tls(made.grpc, &error) == CPT_INVALID, "no PEM is taken");
    must(remove("now.pem") == 0 && cpt_grpc_reload_tls(made.grpc, &error) == CPT_IO,
         "no file is taken");
    is_answered(&believes, "https://localhost", port, true, "and still");
    is_refused(&strange, "https://localhost", port, "of the second authority: not yet");
    copy_file("renewed.pem", "now.pem");
    copy_file("renewed.key", "now.key");
    must(cpt_grpc_reload_tls(made.grpc, &error) == CPT_OK, error.sentence);
    is_answered(&strange, "https://localhost", port, true, "the second certificate");
    is_refused(&believes, "https://localhost", port, "the first one is gone");
    must(grpc_counter(made.grpc, "grpc_tls_reloads") == 2 &&
             grpc_counter(made.grpc, "grpc_tls_reloads_refused") == 3,
         "counters");
    must(grpc_service_stop(&made) == CPT_OK, "it does not stop");
}

/* An entry that trusts a name gives paths to who shows it. */
static void try_trust(void)
{
    static const char *const trusted[] = {"dns:tools.shop", NULL};
    const struct cpt_service_options entry = {
        .struct_bytes = sizeof entry, .probability = -1, .trusted_networks = trusted};
    const struct cpt_http_tls own = tls_of(OWN, "ca.pem");
    const struct cpt_http_tls believes = tls_of(NULL, NULL, "ca.pem");
    const struct cpt_http_tls tools = tls_of(TOOLS, "ca.pem");
    const struct cpt_http_tls other = tls_of("other.pem", "other.key", "ca.pem");
    struct grpc_service made;
    uint16_t port = 0;

    grpc_service_start(&made, NULL, &entry);
    port = listen_tls(&made, &own);
    is_answered(&tools, "https://localhost", port, true, "a trusted name gets a path");
    is_answered(&believes, "https://localhost", port, false, "no name gets none");
    is_answered(&other, "https://localhost", port, false, "another name gets none");
    must(grpc_service_stop(&made) == CPT_OK, "it does not stop");
}

int main(void)
{
    struct grpc_service made;

    must(mkfifo("fifo", 0600) == 0, "no fifo");
    grpc_service_start(&made, NULL, NULL);
    try_files(&made);
    try_calls(&made);
    must(grpc_service_stop(&made) == CPT_OK, "it does not stop");
    try_trust();
    try_again();
    return printf("all is well\n") > 0 ? 0 : 1;
}
