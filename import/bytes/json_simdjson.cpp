/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_simdjson.cpp - json.h by simdjson
 *
 * An element of simdjson is a pointer to its document and a place in it, which fits a
 * struct cpti_doc_value. No exception leaves this file.
 */
#include "import/bytes/json.h"
#include "import/bytes/json_fault.h"

#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace dom = simdjson::dom;

struct cpti_doc {
    dom::parser parser;
    std::uint64_t replaced = 0;
    std::size_t *left = nullptr; /* of the bound; nullptr: there is none */
};

namespace
{

static_assert(CPTI_DOC_PADDING >= simdjson::SIMDJSON_PADDING,
              "simdjson reads further behind a document");

template <typename T> cpti_doc_value pack(const T &from)
{
    cpti_doc_value value{};

    static_assert(sizeof from <= sizeof value && std::is_trivially_copyable_v<T>,
                  "a place in a document must fit a value");
    std::memcpy(&value, &from, sizeof from);
    return value;
}

template <typename T> T unpack(const cpti_doc_value &value)
{
    T to;

    static_assert(sizeof to <= sizeof value && std::is_trivially_copyable_v<T>,
                  "a place in a document must fit a value");
    std::memcpy(static_cast<void *>(&to), &value, sizeof to);
    return to;
}

bool is_value(const cpti_doc_value &value)
{
    return value.owner != nullptr;
}

cpt_bytes bytes_of(std::string_view text)
{
    return {text.data(), text.size()};
}

/* The member or element at @member->place, if there is one. */
bool take(cpti_doc_member *member, dom::object::iterator at)
{
    if (!(at != unpack<dom::object::iterator>(member->end))) {
        return false;
    }
    member->key = bytes_of(at.key());
    member->value = pack(at.value());
    member->place = pack(at);
    return true;
}

bool take(cpti_doc_member *member, dom::array::iterator at)
{
    if (!(at != unpack<dom::array::iterator>(member->end))) {
        return false;
    }
    member->key = {nullptr, 0};
    member->value = pack(*at);
    member->place = pack(at);
    return true;
}

/*
 * What simdjson does once, at its first use: it finds out what the processor can do,
 * and names all its ways to parse, by strings that need memory. Without, it would end
 * the process, as the exception does not get through its functions. So a reserve is
 * given away then, which is far more than those few strings.
 */
void *reserve;

void release_reserve()
{
    if (reserve == nullptr) {
        throw std::bad_alloc();
    }
    std::free(reserve);
    reserve = nullptr;
}

bool know_processor()
{
    constexpr std::size_t reserve_bytes = 64 << 10;
    static std::mutex mutex;
    static bool is_known;
    const std::lock_guard<std::mutex> lock(mutex);
    std::new_handler before = nullptr;

    if (is_known) {
        return true;
    }
    reserve = std::malloc(reserve_bytes);
    if (reserve == nullptr) {
        return false;
    }
    before = std::set_new_handler(release_reserve);
    is_known = !simdjson::get_active_implementation()->name().empty();
    (void)std::set_new_handler(before);
    std::free(reserve);
    reserve = nullptr;
    return is_known;
}

/* What simdjson takes for @count bytes at most, whatever they are: 8 bytes of each for
 * places and numbers, 4 for where they begin, 5/3 for texts, rounded up. */
std::size_t memory_for(std::size_t count)
{
    constexpr std::size_t per_byte = 14;
    constexpr std::size_t fixed = 64 << 10;

    return count < (SIZE_MAX - fixed) / per_byte ? per_byte * count + fixed : SIZE_MAX;
}

/* CPT_OK, CPT_LIMIT, CPT_NO_MEMORY or CPT_CORRUPT, without words. */
cpt_status load(cpti_doc *json, const char *bytes, size_t count, cpti_doc_value *root)
{
    const std::size_t bytes_max = memory_for(count);
    dom::element element;

    *root = {nullptr, 0};
    if (json->left != nullptr && bytes_max > *json->left) {
        return CPT_LIMIT;
    }
    simdjson::error_code code = json->parser.max_depth() == CPTI_DOC_DEPTH_MAX
                                    ? simdjson::SUCCESS
                                    : json->parser.allocate(count, CPTI_DOC_DEPTH_MAX);

    if (code == simdjson::SUCCESS) {
        code = json->parser.parse(bytes, count, false).get(element);
    }
    if (code != simdjson::SUCCESS) {
        return code == simdjson::MEMALLOC ? CPT_NO_MEMORY : CPT_CORRUPT;
    }
    if (json->left != nullptr) {
        *json->left -= bytes_max;
    }
    *root = pack(element);
    return CPT_OK;
}

} // namespace

cpti_doc *cpti_doc_new(void)
{
    return know_processor() ? new (std::nothrow) cpti_doc : nullptr;
}

void cpti_doc_free(cpti_doc *json)
{
    delete json;
}

void cpti_doc_bound(cpti_doc *json, size_t *left)
{
    json->left = left;
}

const char *cpti_doc_library(void)
{
    return "simdjson";
}

cpt_status cpti_doc_parse(cpti_doc *json, const char *bytes, size_t count,
                          cpti_doc_value *root, cpt_error *error)
{
    cpti_json_mended mended = {nullptr, 0, 0};
    cpt_status status = load(json, bytes, count, root);

    if (status == CPT_CORRUPT) {
        status = cpti_json_mend(bytes, count, &mended, error);
        if (status != CPT_OK) {
            return status;
        }
        status = load(json, mended.text, mended.bytes, root);
        cpti_json_mended_free(&mended); /* values have copies of all texts */
    }
    json->replaced = mended.replaced;
    return cpti_json_refused(status, error);
}

uint64_t cpti_doc_replaced(const cpti_doc *json)
{
    return json->replaced;
}

enum cpti_doc_type cpti_doc_type(cpti_doc_value value)
{
    if (!is_value(value)) {
        return CPTI_DOC_NONE;
    }
    switch (unpack<dom::element>(value).type()) {
    case dom::element_type::ARRAY:
        return CPTI_DOC_ARRAY;
    case dom::element_type::OBJECT:
        return CPTI_DOC_OBJECT;
    case dom::element_type::STRING:
        return CPTI_DOC_STRING;
    case dom::element_type::BOOL:
        return CPTI_DOC_BOOLEAN;
    case dom::element_type::NULL_VALUE:
        return CPTI_DOC_NULL;
    default:
        return CPTI_DOC_NUMBER;
    }
}

bool cpti_doc_first(cpti_doc_value container, cpti_doc_member *member)
{
    const enum cpti_doc_type type = cpti_doc_type(container);

    *member = {};
    member->container = container;
    if (type == CPTI_DOC_OBJECT) {
        const dom::object object =
            unpack<dom::element>(container).get_object().value_unsafe();

        member->end = pack(object.end());
        return take(member, object.begin());
    }
    if (type == CPTI_DOC_ARRAY) {
        const dom::array array =
            unpack<dom::element>(container).get_array().value_unsafe();

        member->end = pack(array.end());
        return take(member, array.begin());
    }
    return false;
}

bool cpti_doc_next(cpti_doc_member *member)
{
    if (member->key.data != nullptr) {
        return take(member, ++unpack<dom::object::iterator>(member->place));
    }
    return take(member, ++unpack<dom::array::iterator>(member->place));
}

cpti_doc_value cpti_doc_find(cpti_doc_value object, const char *key, size_t bytes)
{
    dom::object found;
    dom::element element;

    if (!is_value(object) ||
        unpack<dom::element>(object).get_object().get(found) != simdjson::SUCCESS ||
        found.at_key(std::string_view(key, bytes)).get(element) != simdjson::SUCCESS) {
        return {nullptr, 0};
    }
    return pack(element);
}

cpt_bytes cpti_doc_string(cpti_doc_value value)
{
    std::string_view text;

    if (!is_value(value) ||
        unpack<dom::element>(value).get_string().get(text) != simdjson::SUCCESS) {
        return {"", 0};
    }
    return bytes_of(text);
}

bool cpti_doc_is_true(cpti_doc_value value)
{
    bool is = false;

    return is_value(value) &&
           unpack<dom::element>(value).get_bool().get(is) == simdjson::SUCCESS && is;
}

bool cpti_doc_integer(cpti_doc_value value, int64_t *number)
{
    return is_value(value) &&
           unpack<dom::element>(value).get_int64().get(*number) == simdjson::SUCCESS;
}

bool cpti_doc_real(cpti_doc_value value, double *number)
{
    return is_value(value) &&
           unpack<dom::element>(value).get_double().get(*number) == simdjson::SUCCESS;
}
