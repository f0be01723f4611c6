/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_set.c - the targets that the text of a stub names
 *
 *      "http://b1:8080,http://10.0.0.7:8080"
 *          |              '----------------------> a target
 *          '--> look-up --> 10.0.0.5, 10.0.0.6 --> two targets
 *                 ^    every resolve_ns, while     those that are not in a later
 *                 '--- calls use it                answer are retired
 *
 * Calls wait for the first answer of a name server only; later look-ups go on beside
 * them, and one that fails changes nothing. A name is looked up as IPv4. If it has no
 * such address, or none of them can be connected to, it is looked up as IPv6; and the
 * other way round from then on.
 *
 * What follows a change of the targets, such as that calls which wait for a connection
 * to a target go to another one, is done by a work: within the call that changed them
 * it would call itself.
 */
#include "cpt/base/hash_index.h"
#include "cpt/base/now.h"
#include "framework/transport/http/client/http_client.h"

#include <event2/dns.h>
#include <event2/util.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { FAMILY_COUNT = 2, JITTER_PART = 8, FOUND_MAX = 256 };

/* A part of the text: a name, or the address of one target. */
struct cpti_http_item {
    struct cpti_http_address address;
    struct cpti_http_set *set;
    struct lookup *lookup;   /* NULL: none is on its way */
    int family;              /* of the last answer, or of the one that is waited for */
    unsigned tried_families; /* by this look-up */
    bool is_known;           /* it has had addresses */
};

/* It may end later than the set. */
struct lookup {
    struct cpti_http_item *item; /* NULL: its set is gone */
    struct evdns_getaddrinfo_request *request;
    const struct cpt_alloc *alloc;
};

static void post(struct cpti_http_set *set)
{
    if (!set->is_posted) {
        set->is_posted = cpti_http_loop_post(set->client->http, &set->work);
    }
}

static struct cpti_http_target *target_of(struct cpti_target *health)
{
    return CPTI_CONTAINER(health, struct cpti_http_target, health);
}

/* @ns, or up to 1/8 less: what began together does not go on together. */
static uint64_t jittered(struct cpti_http_set *set, uint64_t ns)
{
    return ns - cpti_targets_random(&set->targets, ns / JITTER_PART + 1);
}

/* --- Targets of an item --- */

/* Whether @set has the target at @address; false: there is no memory or no room. */
static bool add_target(struct cpti_http_set *set, struct cpti_http_item *item,
                       struct cpti_http_address *address)
{
    struct cpti_http_target *target = set->targets.count < CPT_TARGETS_MAX
                                          ? cpti_http_pool_new(set, item, address)
                                          : NULL;

    return target != NULL && cpti_targets_add(&set->targets, &target->health,
                                              item->is_known, cpti_now_ns());
}

static void add_address(struct cpti_http_item *item, const char *number)
{
    const struct cpt_alloc *alloc = item->set->client->http->alloc;
    struct cpti_http_address address;

    if (cpti_http_address_number(&address, &item->address, number, alloc) == CPT_OK &&
        !add_target(item->set, item, &address)) {
        cpti_http_address_deinit(&address, alloc);
    }
}

static bool print_number(const struct evutil_addrinfo *found,
                         char number[INET6_ADDRSTRLEN])
{
    const void *bytes =
        found->ai_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)found->ai_addr)
                  ->sin6_addr
            : (const void *)&((const struct sockaddr_in *)(const void *)found->ai_addr)
                  ->sin_addr;

    return (found->ai_family == AF_INET || found->ai_family == AF_INET6) &&
           inet_ntop(found->ai_family, bytes, number, INET6_ADDRSTRLEN) != NULL;
}

/* Of an answer the first FOUND_MAX addresses are looked at. */
static bool is_found(const struct evutil_addrinfo *found, const char *text)
{
    char number[INET6_ADDRSTRLEN];

    for (unsigned i = 0; found != NULL && i < FOUND_MAX; found = found->ai_next, i++) {
        if (print_number(found, number) && strcmp(number, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_number(const struct cpti_http_item *item, const char *number)
{
    const struct cpti_targets *targets = &item->set->targets;

    for (size_t i = 0; i < targets->count; i++) {
        const struct cpti_http_target *target = target_of(targets->items[i]);

        if (target->item == item && strcmp(target->address.number, number) == 0) {
            return true;
        }
    }
    return false;
}

/* From now on the targets of @item are those at @found. */
static void take(struct cpti_http_item *item, const struct evutil_addrinfo *found)
{
    struct cpti_targets *targets = &item->set->targets;
    char number[INET6_ADDRSTRLEN];

    for (size_t i = targets->count; i > 0; i--) {
        struct cpti_http_target *target = target_of(targets->items[i - 1]);

        if (target->item == item && !is_found(found, target->address.number)) {
            cpti_targets_remove(targets, &target->health);
            cpti_http_pool_retire(target);
        }
    }
    for (unsigned i = 0; found != NULL && i < FOUND_MAX; found = found->ai_next, i++) {
        if (print_number(found, number) && !has_number(item, number)) {
            add_address(item, number);
        }
    }
    item->is_known = true;
}

/* --- Look-ups --- */

static void on_found(int result, struct evutil_addrinfo *found, void *context);

/* Looks @item up; a callback within this call is fine. */
static void look_up(struct cpti_http_item *item, int family)
{
    const struct evutil_addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    struct cpt_http *http = item->set->client->http;
    struct evdns_getaddrinfo_request *request = NULL;
    struct lookup *lookup = cpt_alloc_zeroed(http->alloc, sizeof *lookup);

    item->family = family;
    item->tried_families++;
    if (lookup == NULL) {
        post(item->set);
        return;
    }
    lookup->item = item;
    lookup->alloc = http->alloc;
    item->lookup = lookup;
    item->set->lookup_count++;
    request =
        evdns_getaddrinfo(http->dns, item->address.host, "0", &hints, on_found, lookup);
    if (item->lookup == lookup) { /* it is on its way */
        lookup->request = request;
    }
}

static int other_family(int family)
{
    return family == AF_INET ? AF_INET6 : AF_INET;
}

static void on_found(int result, struct evutil_addrinfo *found, void *context)
{
    struct lookup *lookup = context;
    struct cpti_http_item *item = lookup->item;

    cpt_alloc_free(lookup->alloc, lookup);
    if (item != NULL) {
        item->lookup = NULL;
        item->set->lookup_count--;
        if (result == 0 && found != NULL) {
            take(item, found);
        } else if (item->tried_families < FAMILY_COUNT) {
            look_up(item, other_family(item->family));
        } else {
            item->family = other_family(item->family); /* as it was */
        }
        post(item->set);
    }
    if (found != NULL) {
        evutil_freeaddrinfo(found);
    }
}

static void look_up_all(struct cpti_http_set *set)
{
    for (size_t i = 0; i < set->item_count; i++) {
        struct cpti_http_item *item = &set->items[i];

        if (item->address.is_name && item->lookup == NULL) {
            item->tried_families = 0;
            look_up(item, item->family);
        }
    }
}

static void on_resolve(struct cpt_timer *timer)
{
    struct cpti_http_set *set =
        CPTI_CONTAINER(timer, struct cpti_http_set, resolve_timer);

    set->is_resolve_timed = false;
    if (set->was_used) {
        set->was_used = false;
        look_up_all(set);
    }
}

static void resolve_later(struct cpti_http_set *set)
{
    if (set->has_names && set->targets.count > 0 && !set->is_resolve_timed &&
        !set->client->is_closed) {
        set->resolve_timer.fire = on_resolve;
        set->is_resolve_timed =
            cpti_http_loop_after(set->client->http, &set->resolve_timer,
                                 jittered(set, set->targets.options->resolve_ns)) ==
            CPT_OK;
    }
}

bool cpti_http_set_look_elsewhere(struct cpti_http_call *call)
{
    struct cpti_http_item *item = call->target->item;

    if (!item->address.is_name || call->has_tried_other_family) {
        return false;
    }
    call->has_tried_other_family = true;
    if (item->lookup == NULL) {
        item->tried_families = FAMILY_COUNT - 1;
        look_up(item, other_family(item->family));
    }
    return true;
}

/* --- What follows a change --- */

/* Calls that wait for a connection to a target that gets no calls now go elsewhere. */
static void move_waiting(struct cpti_http_set *set, struct cpti_http_target *target)
{
    struct cpti_http_calls calls;
    struct cpti_http_call *call = NULL;

    TAILQ_INIT(&calls);
    TAILQ_CONCAT(&calls, &target->waiting, turn);
    target->waiting_count = 0;
    TAILQ_FOREACH(call, &calls, turn)
    {
        call->is_waiting = false;
        call->is_begun = false;
        cpti_targets_end(&set->targets, &target->health, CPTI_TARGET_NOTHING, 0);
    }
    while ((call = TAILQ_FIRST(&calls)) != NULL) {
        TAILQ_REMOVE(&calls, call, turn);
        cpti_http_call_go(call);
    }
}

static void run(struct cpt_work *work)
{
    struct cpti_http_set *set = CPTI_CONTAINER(work, struct cpti_http_set, work);
    struct cpti_http_client *client = set->client;
    struct cpti_http_target *target = NULL;
    struct cpti_http_target *next = NULL;

    set->is_posted = false;
    for (target = LIST_FIRST(&client->targets); target != NULL; target = next) {
        next = LIST_NEXT(target, all);
        if (target->set == set && !TAILQ_EMPTY(&target->waiting) &&
            (target->is_gone || target->health.is_unready ||
             target->health.state == CPTI_TARGET_EJECTED)) {
            move_waiting(set, target);
        }
    }
    if (set->lookup_count == 0) {
        resolve_later(set);
        for (size_t count = set->waiting_count; count > 0; count--) {
            struct cpti_http_call *call = TAILQ_FIRST(&set->waiting);

            TAILQ_REMOVE(&set->waiting, call, turn);
            set->waiting_count--;
            call->is_waiting = false;
            cpti_http_call_go(call);
        }
    }
    cpti_http_pool_sweep(client);
}

static void on_report(void *context, const struct cpti_target *target,
                      const char *reason, uint64_t for_ns)
{
    cpti_http_target_report(context, target, reason, for_ns);
    post(context);
}

/* --- Sets --- */

bool cpti_http_set_use(struct cpti_http_set *set, bool *is_coming)
{
    if (!set->has_names && set->targets.count == 1) {
        return true;
    }
    set->was_used = true;
    set->was_called = true;
    if (set->has_names && set->lookup_count == 0 && !set->is_posted &&
        (!set->is_resolve_timed || set->targets.count == 0)) {
        look_up_all(set); /* for the first time, or after a pause */
    }
    if (set->targets.count > 1 && !set->is_check_timed &&
        set->client->options.check_path != NULL) {
        cpti_http_checks_begin(set);
    }
    *is_coming = set->lookup_count > 0 || set->is_posted;
    return set->targets.count > 0;
}

static void set_free(struct cpti_http_set *set)
{
    const struct cpt_alloc *alloc = set->client->http->alloc;

    for (size_t i = 0; i < set->item_count; i++) {
        cpti_http_address_deinit(&set->items[i].address, alloc);
    }
    cpt_alloc_free(alloc, set->items);
    cpt_alloc_free(alloc, set->text);
    cpt_alloc_free(alloc, set);
}

static size_t count_items(const char *text)
{
    size_t count = 1;

    for (; *text != '\0'; text++) {
        count += *text == ',';
    }
    return count;
}

/* The part of a list that begins at *@text, which moves behind it. A part without a
 * scheme has that of the first one. */
static cpt_status item_read(struct cpti_http_item *item, const char **text,
                            const struct cpt_alloc *alloc)
{
    char part[CPTI_HTTP_ADDRESS_TEXT_MAX + 1];
    const char *first = item->set->text;
    const char *mark = strstr(first, "://");
    size_t bytes = 0;
    size_t scheme_bytes = 0;

    *text += strspn(*text, " ");
    bytes = strcspn(*text, ", ");
    if (mark != NULL && mark < first + strcspn(first, ",") &&
        memmem(*text, bytes, "://", 3) == NULL) {
        scheme_bytes = (size_t)(mark - first) + 3;
    }
    if (scheme_bytes + bytes >= sizeof part) {
        return CPT_INVALID;
    }
    (void)snprintf(part, sizeof part, "%.*s%.*s", (int)scheme_bytes, first, (int)bytes,
                   *text);
    *text += bytes;
    *text += strspn(*text, " ");
    if (**text != '\0' && *(*text)++ != ',') {
        return CPT_INVALID;
    }
    return cpti_http_address_init(&item->address, part, alloc);
}

/* The first target of https makes what the options did not give. */
static cpt_status need_tls(struct cpt_http *http)
{
    return http->calls_tls.made != NULL
               ? CPT_OK
               : cpti_tls_context_init(&http->calls_tls, NULL, false, http->alloc,
                                       NULL);
}

static cpt_status items_read(struct cpti_http_set *set)
{
    const struct cpt_alloc *alloc = set->client->http->alloc;
    const size_t count = count_items(set->text);
    const char *text = set->text;
    cpt_status status = CPT_OK;

    if (count > CPT_TARGETS_MAX) {
        return CPT_INVALID;
    }
    set->items = cpt_alloc_zeroed(alloc, count * sizeof *set->items);
    if (set->items == NULL) {
        return CPT_NO_MEMORY;
    }
    while (set->item_count < count && status == CPT_OK) {
        struct cpti_http_item *item = &set->items[set->item_count];

        item->set = set;
        item->family = AF_INET;
        status = item_read(item, &text, alloc);
        if (status == CPT_OK && item->address.is_tls) {
            status = need_tls(set->client->http);
            set->item_count += status != CPT_OK; /* it is freed as the others */
        }
        set->item_count += status == CPT_OK;
        set->has_names |= status == CPT_OK && item->address.is_name;
    }
    return status;
}

/* The targets of items that are numbers. */
static cpt_status numbers_add(struct cpti_http_set *set)
{
    const struct cpt_alloc *alloc = set->client->http->alloc;

    for (size_t i = 0; i < set->item_count; i++) {
        struct cpti_http_item *item = &set->items[i];
        struct cpti_http_address address;
        cpt_status status = CPT_OK;

        if (item->address.is_name) {
            continue;
        }
        status = cpti_http_address_number(&address, &item->address, NULL, alloc);
        if (status != CPT_OK) {
            return status;
        }
        if (!add_target(set, item, &address)) {
            cpti_http_address_deinit(&address, alloc);
            return CPT_LIMIT;
        }
    }
    return CPT_OK;
}

static void targets_free(struct cpti_http_set *set)
{
    while (set->targets.count > 0) {
        struct cpti_http_target *target = target_of(set->targets.items[0]);

        cpti_targets_remove(&set->targets, &target->health);
        cpti_http_pool_free(target);
    }
}

static cpt_status set_new(struct cpti_http_client *client, const char *text,
                          struct cpti_http_set **made)
{
    const struct cpt_alloc *alloc = client->http->alloc;
    struct cpti_http_set *set = cpt_alloc_zeroed(alloc, sizeof *set);
    uint64_t seed = client->options.seed + client->set_count;
    cpt_status status = CPT_NO_MEMORY;

    if (set == NULL) {
        return CPT_NO_MEMORY;
    }
    if (client->options.seed == 0 && getrandom(&seed, sizeof seed, 0) < 0) {
        seed = cpti_now_ns();
    }
    set->client = client;
    set->work.run = run;
    TAILQ_INIT(&set->waiting);
    cpti_targets_init(&set->targets, &client->options, seed);
    set->targets.report = on_report;
    set->targets.context = set;
    set->text = cpti_http_text_copy(cpt_bytes_of(text), alloc);
    if (set->text != NULL) {
        status = items_read(set);
    }
    if (status == CPT_OK) {
        status = numbers_add(set);
    }
    if (status != CPT_OK) {
        targets_free(set);
        set_free(set);
        return status;
    }
    *made = set;
    return CPT_OK;
}

cpt_status cpti_http_set_find(struct cpti_http_client *client, const char *text,
                              struct cpti_http_set **found)
{
    const size_t bytes = strnlen(text, CPT_TARGETS_TEXT_BYTES_MAX + 1);
    const uint64_t hash = cpt_hash_bytes(0, text, bytes);
    struct cpti_http_set **place = &client->sets[hash % CPTI_HTTP_SET_BUCKETS];
    cpt_status status = CPT_OK;

    if (bytes > CPT_TARGETS_TEXT_BYTES_MAX) {
        return CPT_INVALID;
    }
    while (*place != NULL && strcmp((*place)->text, text) != 0) {
        place = &(*place)->next;
    }
    if (*place == NULL) {
        if (client->set_count >= CPTI_HTTP_SETS_MAX) {
            return CPT_LIMIT;
        }
        status = set_new(client, text, place);
        client->set_count += status == CPT_OK;
    }
    *found = *place;
    return status;
}

static void set_close(struct cpti_http_set *set)
{
    struct cpt_http *http = set->client->http;

    (void)cpti_http_loop_cancel(http, &set->resolve_timer);
    set->is_resolve_timed = false;
    cpti_http_checks_end(set);
    for (size_t i = 0; i < set->item_count; i++) {
        struct lookup *lookup = set->items[i].lookup;

        if (lookup != NULL) {
            set->items[i].lookup = NULL;
            set->lookup_count--;
            lookup->item = NULL;
            if (lookup->request != NULL) {
                evdns_getaddrinfo_cancel(lookup->request);
            }
        }
    }
}

void cpti_http_sets_close(struct cpti_http_client *client)
{
    client->is_closed = true;
    for (size_t i = 0; i < CPTI_HTTP_SET_BUCKETS; i++) {
        for (struct cpti_http_set *set = client->sets[i]; set != NULL;
             set = set->next) {
            set_close(set);
        }
    }
}

void cpti_http_sets_free(struct cpti_http_client *client)
{
    for (size_t i = 0; i < CPTI_HTTP_SET_BUCKETS; i++) {
        while (client->sets[i] != NULL) {
            struct cpti_http_set *set = client->sets[i];

            client->sets[i] = set->next;
            targets_free(set);
            set_free(set);
        }
    }
}
