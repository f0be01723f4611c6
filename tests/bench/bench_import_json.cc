// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The cpt authors
//
// bench_import_json.cc - simdjson alone: parses documents and looks at each value

#include "tests/bench/bench_import_json.h"

#include <simdjson.h>

#include <new>

namespace dom = simdjson::dom;

struct bench_json {
    dom::parser parser;
};

namespace
{

uint64_t walk(dom::element element)
{
    dom::object object;
    dom::array array;
    uint64_t sum = 1;

    switch (element.type()) {
    case dom::element_type::ARRAY:
        if (element.get(array) != simdjson::SUCCESS) {
            return 0;
        }
        for (dom::element child : array) {
            sum += walk(child);
        }
        return sum;
    case dom::element_type::OBJECT:
        if (element.get(object) != simdjson::SUCCESS) {
            return 0;
        }
        for (dom::key_value_pair member : object) {
            sum += member.key.size() + walk(member.value);
        }
        return sum;
    case dom::element_type::STRING:
        return element.get_string().value_unsafe().size();
    case dom::element_type::INT64:
        return static_cast<uint64_t>(element.get_int64().value_unsafe());
    case dom::element_type::UINT64:
        return element.get_uint64().value_unsafe();
    case dom::element_type::DOUBLE:
        return static_cast<uint64_t>(element.get_double().value_unsafe());
    case dom::element_type::BOOL:
        return element.get_bool().value_unsafe() ? 1 : 0;
    default:
        return sum;
    }
}

} // namespace

bench_json *bench_json_new(void)
{
    return new (std::nothrow) bench_json;
}

void bench_json_free(bench_json *json)
{
    delete json;
}

uint64_t bench_json_read(bench_json *json, const char *bytes, size_t count)
{
    dom::document_stream documents;
    uint64_t sum = 0;

    if (json->parser.parse_many(bytes, count, count + 1).get(documents) !=
        simdjson::SUCCESS) {
        return 0;
    }
    for (auto document : documents) {
        dom::element root;

        if (document.get(root) != simdjson::SUCCESS) {
            return 0;
        }
        sum += walk(root);
    }
    return sum;
}
