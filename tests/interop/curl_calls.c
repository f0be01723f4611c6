/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * curl_calls.c - calls by libcurl with examples/interop/curl/cpt_curl.h
 *
 *      curl_calls URL [URL]      of service B of the chain; of one that notes headers
 *
 * F, told by hand, calls B alone, two at the same time, an address where nothing
 * listens, and one without a request. Each path must add up, and have drags. Prints the
 * stacks of the first. The second URL is called with a trace context that came, traced
 * and not, with one that was made, and with one of the program's own; twice of a
 * request whose graph is kept; and with baggage and B3.
 */
#include "examples/interop/curl/cpt_curl.h"

#include <cpt/cpt_log_queue.h>
#include <cpt/cpt_path.h>

#include <stdlib.h>

static void must(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "curl_calls: %s\n", what);
        exit(1);
    }
}

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

static CURL *new_easy(const char *base, const char *target)
{
    CURL *easy = curl_easy_init();
    char url[256];

    must(easy != NULL, "no handle");
    (void)snprintf(url, sizeof url, "%s%s", base, target);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    return easy;
}

/* Of calls in a row each segment of F, and of the way to B, is worth all of itself; of
 * several at once none is worth more. What a callee did not send is not known. */
static void check_drag(const struct cpt_path *path, size_t segment, const char *stack,
                       int is_in_a_row)
{
    const uint64_t duration_ns = cpt_path_segment(path, segment)->duration_ns;
    const uint64_t drag_ns = cpt_path_drag(path, segment);

    if (strstr(stack, ";B: ") == NULL ||
        strstr(stack, "B: /search;B: \u2039network") != NULL) {
        must(drag_ns != CPT_DRAG_UNKNOWN, "a drag is not known");
        must(is_in_a_row ? drag_ns == duration_ns : drag_ns <= duration_ns, "a drag");
    }
}

/* The stacks of the request, one on each line; checks the sum. Frees the request. */
static size_t count_below(struct cpt_manual *manual, const char *part, int is_printed)
{
    const struct cpt_path *path = NULL;
    struct cpt_error error = {0};
    size_t count = 0;
    char stack[2048];

    (void)cpt_manual_end(manual);
    path = cpt_manual_path(manual);
    must(path != NULL, "no path");
    must(cpt_path_check(path, cpt_path_sum_ns(path), &error) == CPT_OK, error.sentence);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        (void)cpt_path_stack_text(path, cpt_path_segment(path, i)->frame, stack,
                                  sizeof stack);
        count += strstr(stack, part) != NULL;
        check_drag(path, i, stack, is_printed);
        if (is_printed) {
            (void)printf("%s\n", stack);
        }
    }
    cpt_manual_free(manual, 200);
    return count;
}

static struct cpt_manual *begin(struct cpt_service *service)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/")};
    struct cpt_manual *manual = cpt_manual_new(service, &inbound);

    must(manual != NULL, "not traced");
    return manual;
}

/* One call; the handle's own headers go with it, twice. */
static void call_alone(struct cpt_service *service, const char *base)
{
    CURL *easy = new_easy(base, "/search?id=curl");
    struct curl_slist *headers = curl_slist_append(NULL, "X-Own: 1");
    struct cpt_manual *manual = begin(service);

    must(headers != NULL, "no memory");
    cpt_manual_enter(manual, "ask");
    for (int i = 0; i < 2; i++) {
        must(cpt_curl_perform(manual, easy, "B: /search", headers) == CURLE_OK, "call");
    }
    cpt_manual_leave(manual);
    must(count_below(manual, "F: ask;B: /search;B: item curl", 1) != 0, "no path of B");
    /* without a request, and afterwards without the ask */
    must(cpt_curl_perform(NULL, easy, "B: /search", headers) == CURLE_OK, "untraced");
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
}

/* One with a header of @bytes: it passes, and B is asked if they leave room. */
static void call_headed(struct cpt_service *service, const char *base, int bytes,
                        int is_asked)
{
    CURL *easy = new_easy(base, "/search?id=curl");
    struct curl_slist *headers = NULL;
    struct cpt_manual *manual = begin(service);
    char line[8200];

    (void)snprintf(line, sizeof line, "X-Own: %0*d", bytes, 1);
    headers = curl_slist_append(NULL, line);
    must(headers != NULL, "no memory");
    must(cpt_curl_perform(manual, easy, "B: /search", headers) == CURLE_OK, "headed");
    must(count_below(manual, is_asked ? "B: item curl" : "B: ‹blind spot›", 0) != 0,
         is_asked ? "not asked" : "asked");
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
}

static void call_two(struct cpt_service *service, const char *base)
{
    CURLM *multi = curl_multi_init();
    CURL *easy[2];
    struct cpt_curl_call calls[2];
    struct cpt_manual *manual = begin(service);
    int running = 2;
    int left = 0;

    must(multi != NULL, "no multi handle");
    for (int i = 0; i < 2; i++) {
        easy[i] = new_easy(base, i == 0 ? "/search?id=one" : "/search?id=two");
        cpt_curl_begin(&calls[i], manual, easy[i], "B: /search", NULL);
        (void)curl_multi_add_handle(multi, easy[i]);
    }
    cpt_manual_wait_begin(manual);
    while (running != 0) {
        struct CURLMsg *message = NULL;

        (void)curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            const int i = message->easy_handle == easy[1];

            must(message->data.result == CURLE_OK, "one of two calls");
            cpt_curl_end(&calls[i], message->data.result);
        }
        (void)curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    cpt_manual_wait_end(manual);
    must(count_below(manual, "F: /;B: /search;B: item ", 0) != 0, "no path of two");
    for (int i = 0; i < 2; i++) {
        (void)curl_multi_remove_handle(multi, easy[i]);
        curl_easy_cleanup(easy[i]);
    }
    (void)curl_multi_cleanup(multi);
}

static void call_nobody(struct cpt_service *service)
{
    CURL *easy = new_easy("http://127.0.0.1:1", "/");
    struct cpt_manual *manual = begin(service);

    must(cpt_curl_perform(manual, easy, "Z: /", NULL) != CURLE_OK, "call of nothing");
    must(count_below(manual, "Z: ‹blind spot›", 0) == 1, "no blind spot");
    curl_easy_cleanup(easy);
}

#define PARENT(flags) "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" flags

/* What a request that came with @parent and @state carries to its callee; @parent NULL:
 * it came without. */
static void call_carrying(struct cpt_service *service, const char *base,
                          const char *parent, const char *state,
                          struct curl_slist *headers)
{
    const struct cpt_field field = {cpt_bytes_of("Tracestate"), cpt_bytes_of(state)};
    struct cpt_inbound inbound = {
        .method = cpt_bytes_of("/"), .headers = &field, .header_count = 1};
    struct cpt_manual *manual = NULL;
    CURL *easy = new_easy(base, "/context");

    if (parent != NULL) {
        inbound.traceparent = cpt_bytes_of(parent);
    }
    manual = cpt_manual_new_carrying(service, &inbound);
    must(manual != NULL, "nothing to carry");
    must(cpt_curl_perform(manual, easy, "E: /", headers) == CURLE_OK, "context");
    cpt_manual_free(manual, 200);
    curl_easy_cleanup(easy);
}

static void call_with_contexts(struct cpt_service *service, const char *base)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "F", .probability = -1};
    struct cpt_service *untraced = cpt_service_new(&options, NULL);
    struct curl_slist *own = curl_slist_append(NULL, "TraceParent: " PARENT("00"));

    must(untraced != NULL && own != NULL, "no memory");
    call_carrying(service, base, PARENT("05"), "a=1 , b=2", NULL);
    call_carrying(untraced, base, PARENT("05"), "a=1 , b=2", NULL);
    call_carrying(service, base, PARENT("01"), "a=1,=", NULL); /* malformed */
    call_carrying(untraced, base, NULL, "a=1", NULL);          /* made */
    call_carrying(service, base, PARENT("01"), "a=1", own);
    curl_slist_free_all(own);
    cpt_service_free(untraced);
}

static cpt_status drop_block(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_OK;
}

/* Each call carries an id of its own, for the graph of its callee. */
static void call_kept(const char *base)
{
    const struct cpt_log_queue_options queue = {
        .struct_bytes = sizeof queue, .sink = drop_block, .content = CPT_LOG_GRAPHS};
    struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "F", .probability = 1};
    struct cpt_service *service = NULL;
    struct cpt_manual *manual = NULL;
    CURL *easy = new_easy(base, "/context");

    options.graphs = cpt_log_queue_new(&queue, NULL);
    options.graph_every = 1;
    service = cpt_service_new(&options, NULL);
    must(options.graphs != NULL && service != NULL, "no memory");
    manual = begin(service);
    for (int i = 0; i < 2; i++) {
        must(cpt_curl_perform(manual, easy, "E: /", NULL) == CURLE_OK, "kept");
    }
    cpt_manual_free(manual, 200);
    curl_easy_cleanup(easy);
    cpt_service_free(service);
    cpt_log_queue_free(options.graphs);
}

/* What a request that came with @fields carries, of a service with @role. */
static void call_with(unsigned role, const char *base, const struct cpt_field *fields,
                      size_t count, struct curl_slist *headers)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "F", .role = role, .probability = -1};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    const struct cpt_inbound inbound = {
        .method = cpt_bytes_of("/"), .headers = fields, .header_count = count};
    struct cpt_manual *manual = NULL;
    CURL *easy = new_easy(base, "/others");

    must(service != NULL, "no memory");
    manual = cpt_manual_new_carrying(service, &inbound);
    must(cpt_curl_perform(manual, easy, "E: /", headers) == CURLE_OK, "others");
    cpt_manual_free(manual, 200);
    curl_easy_cleanup(easy);
    cpt_service_free(service);
}

static void call_with_others(const char *base)
{
    char large[CPT_BAGGAGE_BYTES_MAX] = "a=";
    struct cpt_field fields[] = {
        {cpt_bytes_of("baggage"), cpt_bytes_of("a=1")},
        {cpt_bytes_of("X-B3-TraceId"), cpt_bytes_of("f")},
        {cpt_bytes_of("baggage"), cpt_bytes_of("b=2")},
    };
    const struct cpt_field one = {cpt_bytes_of("baggage"), {large, sizeof large}};
    struct curl_slist *baggage = curl_slist_append(NULL, "Baggage: own=1");
    struct curl_slist *b3 = curl_slist_append(NULL, "B3: 0");

    must(baggage != NULL && b3 != NULL, "no memory");
    memset(large + 2, '1', sizeof large - 2);
    call_with(CPT_ROLE_INNER, base, fields, 3, NULL);
    call_with(CPT_ROLE_INNER, base, &one, 1, NULL);
    call_with(CPT_ROLE_INNER, base, fields, 2, baggage);
    call_with(CPT_ROLE_INNER, base, fields, 2, b3);
    call_with(CPT_ROLE_ENTRY, base, fields, 3, NULL); /* of a stranger */
    curl_slist_free_all(baggage);
    curl_slist_free_all(b3);
}

int main(int argc, char **argv)
{
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "F",
                                                .probability = 1,
                                                .drag_share = 1,
                                                .metadata_bytes_max = 4096};
    struct cpt_service *service = cpt_service_new(&options, NULL);

    must((argc == 2 || argc == 3) && service != NULL, "usage: curl_calls URL [URL]");
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    call_alone(service, argv[1]);
    call_headed(service, argv[1], 6500, 1);
    call_headed(service, argv[1], 8100, 0);
    call_two(service, argv[1]);
    call_nobody(service);
    if (argc == 3) {
        call_with_contexts(service, argv[2]);
        call_kept(argv[2]);
        call_with_others(argv[2]);
    }
    cpt_service_free(service);
    curl_global_cleanup();
    return 0;
}
