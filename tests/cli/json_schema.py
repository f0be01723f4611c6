# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""json_schema.py [--complete] SCHEMA: whether each JSON value on standard input is as the schema says.

It knows what docs/schemas/ uses: type, enum, minimum, required, properties, items, allOf and
$ref; any other word is an error. With --complete it also names fields that no schema has.
"""
import json
import os
import sys

KNOWN = {"$schema", "$id", "$comment", "$defs", "title", "description", "type", "enum", "minimum",
         "required", "properties", "items", "allOf", "$ref"}
files = {}


def load(path):
    if path not in files:
        with open(path, encoding="utf-8") as file:
            files[path] = json.load(file)
    return files[path]


def resolve(path, reference):
    name, pointer = reference.split("#")
    path = os.path.join(os.path.dirname(path), name) if name else path
    schema = load(path)
    for step in pointer.strip("/").split("/"):
        schema = schema[step]
    return path, schema


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return {"object": isinstance(value, dict), "array": isinstance(value, list),
            "string": isinstance(value, str), "integer": isinstance(value, int),
            "number": isinstance(value, (int, float)), "null": value is None}.get(name, False)


def check(value, path, schema, place, errors, fields):
    """Adds errors, and to @fields the names that this schema has for an object."""
    for word in schema.keys() - KNOWN:
        errors.append(f"{path}: {place}: the schema has an unknown word {word}")
    if "$ref" in schema:
        check(value, *resolve(path, schema["$ref"]), place, errors, fields)
    for part in schema.get("allOf", []):
        check(value, path, part, place, errors, fields)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        errors.append(f"{place}: {json.dumps(value)[:60]} is no {' or '.join(types)}")
        return
    if "enum" in schema and value not in schema["enum"]:
        errors.append(f"{place}: {json.dumps(value)[:60]} is none of {schema['enum']}")
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        errors.append(f"{place}: {value} is below {schema['minimum']}")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                errors.append(f"{place}: {name} is missing")
        for name, own in schema.get("properties", {}).items():
            fields.add(name)
            if name in value:
                check_whole(value[name], path, own, f"{place}.{name}", errors)
        if "properties" not in schema and schema.get("type") == "object":
            fields.update(value)  # any field
    if isinstance(value, list) and "items" in schema:
        for i, element in enumerate(value):
            check_whole(element, path, schema["items"], f"{place}[{i}]", errors)


def check_whole(value, path, schema, place, errors):
    fields = set()
    check(value, path, schema, place, errors, fields)
    if is_complete and isinstance(value, dict):
        for name in value.keys() - fields:
            errors.append(f"{place}: the schema has no {name}")


def main():
    path = sys.argv[-1]
    decoder = json.JSONDecoder()
    text = sys.stdin.read()
    errors = []
    count = 0
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        check_whole(value, path, load(path), f"value {count}", errors)
        count += 1
    for error in errors[:20]:
        print(error)
    if not errors:
        print(f"{os.path.basename(path)}: {count} as it says")
    return 1 if errors else 0


is_complete = "--complete" in sys.argv
sys.exit(main())
