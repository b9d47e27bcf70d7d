#!/usr/bin/env python3
"""Writes tools.jsonl: JSON schemas such as tools and structured answers have, with valid and invalid instances.

Each schema is an object of some fields of the catalog below, flat or nested. An invalid instance has one field that is
not valid, lacks a required one, or has one that is not listed.
"""
import json
import pathlib
import random

# name: (schema, valid values, invalid values)
FIELDS = {
    "city": ({"type": "string", "minLength": 1, "maxLength": 40}, ["Paris", "São Paulo", "N"], ["", 3, None]),
    "unit": ({"enum": ["celsius", "fahrenheit"]}, ["celsius", "fahrenheit"], ["kelvin", "", 1]),
    "days": ({"type": "integer", "minimum": 1, "maximum": 14}, [1, 7, 14], [0, 15, -1, 1.5, "7"]),
    "price": ({"type": "number", "exclusiveMinimum": 0, "maximum": 9999.99}, [0.01, 12, 9999.99], [0, -1, 10000]),
    "query": ({"type": "string", "description": "What to search for"}, ["weather \"now\"", "a\\b\n"], [1, [], None]),
    "tags": ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, [[], ["a"], ["a", "b", "c"]],
             [["a", "b", "c", "d"], [1], "a"]),
    "email": ({"type": "string", "format": "email"}, ["joe@example.com"], ["joe", "@example.com"]),
    "date": ({"type": "string", "format": "date"}, ["2024-05-17"], ["17.5.2024", "2024-13-01"]),
    "starts_at": ({"type": "string", "format": "date-time"}, ["2024-05-17T08:30:00Z"], ["2024-05-17"]),
    "id": ({"type": "string", "format": "uuid"}, ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08"]),
    "code": ({"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}, ["AB-1234"], ["ab-1234", "AB-123", "xAB-1234"]),
    "slug": ({"type": "string", "pattern": "^[a-z0-9-]+$", "maxLength": 20}, ["a-b-3"], ["A", "", "a" * 21]),
    "verbose": ({"type": "boolean", "default": False}, [True, False], [0, "true", None]),
    "note": ({"type": ["string", "null"]}, ["hi", None], [1, {}]),
    "rating": ({"enum": [1, 2, 3, 4, 5]}, [1, 5], [0, 6, "1"]),
    "point": ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False, "minItems": 2},
              [[1, 2.5], [-3, 4e2]], [[1], [1, 2, 3], ["1", 2]]),
    "amount": ({"type": "object", "properties": {"value": {"type": "number", "minimum": 0}, "currency": {"enum": ["EUR", "USD"]}},
                "required": ["value", "currency"], "additionalProperties": False},
               [{"value": 3, "currency": "EUR"}], [{"value": -3, "currency": "EUR"}, {"value": 3}, {"value": 3, "currency": "GBP"}]),
    "filter": ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]},
               ["all", [1, 2]], [[], 1, [None]]),
    "action": ({"oneOf": [{"type": "object", "properties": {"kind": {"const": "open"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
                          {"type": "object", "properties": {"kind": {"const": "wait"}, "seconds": {"type": "integer", "minimum": 0}},
                           "required": ["kind", "seconds"]}]},
               [{"kind": "open", "path": "/a"}, {"kind": "wait", "seconds": 3}], [{"kind": "wait", "path": "/a"}, {"kind": "stop"}]),
    "labels": ({"type": "object", "additionalProperties": {"type": "string"}}, [{}, {"a": "b", "c": "d"}], [{"a": 1}, []]),
}
SCHEMAS = 260


def some_fields(random_numbers, most):
    names = random_numbers.sample(sorted(FIELDS), random_numbers.randint(1, most))
    return {name: FIELDS[name] for name in names}


def object_schema(fields, required):
    return {"type": "object", "properties": {name: field[0] for name, field in fields.items()}, "required": required,
            "additionalProperties": False}


def instance(fields, required, random_numbers, wrong=None):
    kept = {name for name in fields if name in required or name == wrong or random_numbers.random() < 0.7}
    return {name: random_numbers.choice(field[2 if name == wrong else 1]) for name, field in fields.items() if name in kept}


def line(random_numbers):
    fields = some_fields(random_numbers, 8)
    required = [name for name in fields if random_numbers.random() < 0.6]
    schema = object_schema(fields, required)
    valid = [instance(fields, required, random_numbers) for _ in range(3)]
    invalid = [instance(fields, required, random_numbers, wrong) for wrong in random_numbers.sample(sorted(fields), min(3, len(fields)))]
    if required:
        invalid.append({name: value for name, value in valid[0].items() if name != required[0]})
    invalid.append({**valid[0], "other": 1})
    wrap = lambda value: value
    if random_numbers.random() < 0.3:
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"call": schema},
                  "type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1, "maxItems": 5}
        wrap = lambda value: [value]
    elif random_numbers.random() < 0.3:
        schema = {"type": "object", "properties": {"name": {"const": "call"}, "arguments": schema},
                  "required": ["name", "arguments"], "additionalProperties": False}
        wrap = lambda value: {"name": "call", "arguments": value}
    tests = [{"data": wrap(value), "valid": True} for value in valid] + [{"data": wrap(value), "valid": False} for value in invalid]
    return {"schema": schema, "tests": tests}


def main():
    random_numbers = random.Random(1)
    lines = [json.dumps(line(random_numbers), ensure_ascii=False, separators=(",", ":")) for _ in range(SCHEMAS)]
    (pathlib.Path(__file__).parent / "tools.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
