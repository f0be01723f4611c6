/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waits_places.c - where the service of a call tells of its requests; see waits.h
 *
 *      --operators-of of the tool     of the service that the stub's name begins with
 *      "operators" of the call        what its stub says: "HOST:PORT", ":PORT", a list
 *      "target" of the call           of HTTP only; one, once that is picked
 *
 * The first of these that is there counts. If it is a list, each is asked: ids tell at
 * which of them the request is.
 */
#include "tool/live/waits.h"

#include <stdio.h>
#include <string.h>

/* --- Lists --- */

/* Takes the next part of *@list, which has commas, to @part. */
static bool next_part(struct cpt_bytes *list, struct cpt_bytes *part)
{
    const char *comma = NULL;

    if (list->bytes == 0) {
        return false;
    }
    comma = memchr(list->data, ',', list->bytes);
    *part = *list;
    if (comma == NULL) {
        list->bytes = 0;
        return true;
    }
    part->bytes = (size_t)(comma - list->data);
    list->data += part->bytes + 1;
    list->bytes -= part->bytes + 1;
    return true;
}

/* "B" of a stub called "B: /check". */
static struct cpt_bytes service_of(struct cpti_doc_value value)
{
    struct cpt_bytes name = cpti_answer_string(value, "name");

    for (size_t i = 0; i + 1 < name.bytes; i++) {
        if (name.data[i] == ':' && name.data[i + 1] == ' ') {
            name.bytes = i;
        }
    }
    return name;
}

/* What the user says of @service: "B=HOST:PORT,HOST:PORT" of several such. */
static struct cpt_bytes said_of(const char *said, struct cpt_bytes service)
{
    struct cpt_bytes list = cpt_bytes_of(said != NULL ? said : "");
    struct cpt_bytes found = {NULL, 0};
    struct cpt_bytes part;
    bool is_of = false;

    while (next_part(&list, &part)) {
        const char *equals = memchr(part.data, '=', part.bytes);

        if (equals != NULL) {
            const size_t bytes = (size_t)(equals - part.data);

            is_of = found.data == NULL &&
                    cpt_bytes_equal((struct cpt_bytes){part.data, bytes}, service);
            part.data += is_of ? bytes + 1 : 0;
            part.bytes -= is_of ? bytes + 1 : 0;
        }
        if (is_of) {
            found.data = found.data != NULL ? found.data : part.data;
            found.bytes = (size_t)(part.data + part.bytes - found.data);
        }
    }
    return found;
}

static bool is_leaf(const char *leaves, struct cpt_bytes service)
{
    struct cpt_bytes list = cpt_bytes_of(leaves != NULL ? leaves : "");
    struct cpt_bytes part;

    while (next_part(&list, &part)) {
        if (cpt_bytes_equal(part, service)) {
            return true;
        }
    }
    return false;
}

/* --- Services --- */

uint32_t cpti_waits_service(struct cpti_waits *waits, const struct cpti_peer *place)
{
    struct cpti_wait_service *made = NULL;

    for (uint32_t i = 0; i < waits->service_count; i++) {
        if (strcmp(waits->services[i].place.text, place->text) == 0) {
            return i;
        }
    }
    if (waits->service_count == CPTI_WAITS_SERVICES_MAX) {
        waits->left_out++;
        return CPTI_WAITS_NONE;
    }
    made = &waits->services[waits->service_count];
    memset(made, 0, sizeof *made);
    made->place = *place;
    made->name = cpt_bytes_of("?");
    return waits->service_count++;
}

/* Reads the address @text, whose service may be asked. */
static struct cpti_wait_text read_text(struct cpti_waits *waits, struct cpt_bytes text)
{
    struct cpti_wait_text read = {text, CPTI_WAITS_NONE, CPTI_GAP_ADDRESS};
    struct cpti_peer place;
    const cpt_status status = cpti_place_read(text, waits->is_remote, &place, NULL);

    waits->is_starved |= status == CPT_NO_MEMORY;
    if (!waits->is_remote &&
        (status == CPT_UNAVAILABLE /* a name, which is not looked up */ ||
         (status == CPT_OK && !place.is_loopback))) {
        read.gap = CPTI_GAP_REMOTE;
    } else if (status == CPT_OK) {
        read.service = cpti_waits_service(waits, &place);
        read.gap = read.service == CPTI_WAITS_NONE ? CPTI_GAP_FULL : CPTI_GAP_NONE;
    }
    return read;
}

/* The same, once for each text: names are asked for, which takes time. */
static struct cpti_wait_text known_text(struct cpti_waits *waits, struct cpt_bytes text)
{
    struct cpti_wait_text read = {text, CPTI_WAITS_NONE, CPTI_GAP_FULL};
    char *copy = NULL;

    for (uint32_t i = 0; i < waits->text_count; i++) {
        if (cpt_bytes_equal(waits->texts[i].text, text)) {
            return waits->texts[i];
        }
    }
    if (waits->text_count == CPTI_WAITS_TEXTS_MAX) {
        waits->left_out++;
        return read;
    }
    copy = cpt_arena_copy(&waits->arena, text.data, text.bytes);
    if (copy == NULL) {
        waits->is_starved = true;
        return read;
    }
    read = read_text(waits, (struct cpt_bytes){copy, text.bytes});
    waits->texts[waits->text_count++] = read;
    return read;
}

static void add_place(struct cpti_waits *waits, struct cpti_wait_edge *edge,
                      struct cpt_bytes text)
{
    const struct cpti_wait_text read = known_text(waits, text);

    if (read.service == CPTI_WAITS_NONE) {
        edge->gap = read.gap;
        return;
    }
    for (uint32_t i = 0; i < edge->target_count; i++) {
        if (edge->targets[i] == read.service) {
            return;
        }
    }
    if (edge->target_count == CPTI_WAITS_PLACES_MAX) {
        edge->gap = CPTI_GAP_FULL;
        return;
    }
    edge->targets[edge->target_count++] = (unsigned char)read.service;
}

/* --- Of a call --- */

/* "127.0.0.1" of "http://127.0.0.1:80/x", "dns:///127.0.0.1:80", "[::1]" with its
 * brackets. */
static struct cpt_bytes host_of(struct cpt_bytes target)
{
    static const char *const schemes[] = {"http://", "https://", "dns:///",
                                          "dns://",  "ipv4:///", "ipv6:///",
                                          "dns:",    "ipv4:",    "ipv6:"};
    const char *bracket = NULL;

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t bytes = strlen(schemes[i]);

        if (target.bytes > bytes && memcmp(target.data, schemes[i], bytes) == 0) {
            target.data += bytes;
            target.bytes -= bytes;
            break;
        }
    }
    bracket = target.bytes != 0 && target.data[0] == '['
                  ? memchr(target.data, ']', target.bytes)
                  : NULL;
    if (bracket != NULL) {
        target.bytes = (size_t)(bracket - target.data) + 1;
        return target;
    }
    for (size_t i = 0; i < target.bytes; i++) {
        if (target.data[i] == ':' || target.data[i] == '/') {
            target.bytes = i;
        }
    }
    return target;
}

/* ":PORT" of each host that the call may have gone to. */
static void add_port(struct cpti_waits *waits, struct cpti_wait_edge *edge,
                     struct cpt_bytes port)
{
    struct cpt_bytes targets = cpti_answer_string(edge->value, "target");
    struct cpt_bytes target;
    char text[CPTI_PLACE_HOST_BYTES + 16];

    while (next_part(&targets, &target)) {
        const struct cpt_bytes host = host_of(target);

        if (host.bytes + port.bytes < sizeof text) {
            memcpy(text, host.data, host.bytes);
            memcpy(text + host.bytes, port.data, port.bytes);
            add_place(waits, edge, (struct cpt_bytes){text, host.bytes + port.bytes});
        } else {
            edge->gap = CPTI_GAP_ADDRESS;
        }
    }
}

static void add_operators(struct cpti_waits *waits, struct cpti_wait_edge *edge,
                          struct cpt_bytes list)
{
    struct cpt_bytes part;

    while (next_part(&list, &part)) {
        if (part.bytes != 0 && part.data[0] == ':') {
            add_port(waits, edge, part);
        } else {
            add_place(waits, edge, part);
        }
    }
}

static void add_targets(struct cpti_waits *waits, struct cpti_wait_edge *edge)
{
    struct cpt_bytes targets = cpti_answer_string(edge->value, "target");
    const struct cpt_bytes transport = cpti_answer_string(edge->value, "transport");
    struct cpt_bytes target;

    if (transport.bytes != 0 && !cpt_bytes_equal(transport, cpt_bytes_of("http"))) {
        edge->gap = CPTI_GAP_TRANSPORT;
        return;
    }
    edge->gap = targets.bytes == 0 ? CPTI_GAP_ADDRESS : CPTI_GAP_NONE;
    while (next_part(&targets, &target)) {
        add_place(waits, edge, target);
    }
}

void cpti_waits_places(struct cpti_waits *waits, struct cpti_wait_edge *edge)
{
    const struct cpt_bytes service = service_of(edge->value);
    struct cpt_bytes operators = said_of(waits->operators_of, service);

    if (!cpti_answer_is(edge->value, "kind", "call") &&
        cpti_answer_has(edge->value, "tasks")) {
        return; /* a component, whose waits are there */
    }
    if (is_leaf(waits->leaves, service)) {
        edge->gap = CPTI_GAP_LEAF;
        return;
    }
    if (!cpti_answer_is(edge->value, "kind", "call")) {
        return;
    }
    if (operators.bytes == 0) {
        operators = cpti_answer_string(edge->value, "operators");
    }
    if (operators.bytes != 0) {
        add_operators(waits, edge, operators);
    } else {
        add_targets(waits, edge);
    }
}
