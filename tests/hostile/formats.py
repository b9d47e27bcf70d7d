"""Formats that would cost far more than their bytes."""


def doubled_rules(count):
    rules = "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(count))
    return f'root ::= r0\n{rules}r{count} ::= "a"\n'


def chained_rules(count, backwards):
    rules = [f"r{i} ::= r{i + 1}" for i in range(count)] + [f'r{count} ::= "a"']
    return "\n".join(["root ::= r0", *(reversed(rules) if backwards else rules)])


def doubled_definitions(count):
    """A schema whose text grows with `count`, and what it describes with its power of two."""
    definitions = {f"d{i}": {"type": "object", "required": ["a", "b"], "additionalProperties": False,
                             "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}, "b": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": definitions | {f"d{count}": {"type": "integer"}}}


def chained_definitions(count, wrap):
    """Each with a reference to the next one, within a mebibyte."""
    definitions = {f"{i}": wrap({"$ref": f"#/$defs/{i + 1}"}) for i in range(count)}
    return {"$ref": "#/$defs/0", "$defs": definitions | {f"{count}": {"type": "null"}}}


def nested(count, wrap):
    schema = {"type": "integer"}
    for _ in range(count):
        schema = wrap(schema)
    return schema


def properties(count, **more):
    return {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(count)}} | more


def large_class(number):
    """Ten thousand characters that are no range, others for other numbers, 500 times."""
    return "root ::= [" + "".join(chr(0x4E00 + number + 2 * i) for i in range(10000)) + "]{1,500}"


GRAMMARS = {
    "forty rules, each the next one twice": doubled_rules(40),
    "ten thousand characters, 500 times": large_class(0),
    "rules, each the next one twice, to the limit": doubled_rules(12),
    "8,000 rules in a row": chained_rules(8000, False),
    "8,000 rules in a row, the last first": chained_rules(8000, True),
    "50,000 alternatives": "root ::= " + " | ".join(f'"{i}"' for i in range(50000)),
    "20,000 groups around a letter": "root ::= " + "(" * 20000 + '"a"' + ")" * 20000,
    "repetitions of repetitions": 'root ::= ((("a"{0,1000}){0,1000}){0,1000}){0,1000}',
    "a rule that begins with itself": 'root ::= root "a" | "b"',
    "rules that begin with each other": 'root ::= a\na ::= b "x"\nb ::= a "y" | "z"',
    "optional letters, forty times": "root ::= ([^x]? [^y]?){40}",
    "optional letters, a thousand times": "root ::= ([^x]? [^y]?){1000}",
    "nothing at all": "root ::= []",
    "many ways to the same text": 'root ::= ("a" | "a" "a" | "aa" | [a-c]* )*',
    "nullable loops in loops": 'root ::= ((("a"?)* ("b"?)*)* ("c"?)*)*',
}
REGEXES = {
    "a regex of nested repetitions": "((((a{1,100}){1,100}){1,100}){1,100}){1,100}",
    "a regex of optional letters": "([^x]?[^y]?){40}",
    "a regex of 20,000 groups": "(" * 20000 + "a" + ")" * 20000,
    "a regex of exponential choices": "(a|a?)+(a|a?)+(a|a?)+b{1000}",
    "a regex of overlapping classes": "([a-z]|[b-y]|[c-x]|\\w){500}",
    "a repetition of a hundred million": "a{100000000}",
    "a regex of lookaheads": "(?=a*b)" * 200 + "a*b",
}
SCHEMAS = {
    "15,000 required names": {"type": "object", "required": [f"p{i}" for i in range(15000)]},
    "an enum of 20,000 texts": {"enum": [f"text number {i}" for i in range(20000)]},
    "2,000 properties, closed": properties(2000, additionalProperties=False),
    "2,000 properties, closed and required": properties(2000, additionalProperties=False, required=[f"p{i}" for i in range(2000)]),
    "20,000 properties, open": properties(20000),
    "forty definitions, each the next one twice": doubled_definitions(40),
    "10,000 definitions in a row": {"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(10000)} | {"d10000": {"type": "null"}}},
    "25,000 definitions in a row": chained_definitions(25000, lambda inner: inner),
    "20,000 definitions in a row, in lists": chained_definitions(20000, lambda inner: {"items": inner}),
    "20,000 definitions in a row, that may be null": chained_definitions(20000, lambda inner: {"anyOf": [inner]}),
    "a name of 500,000 letters around 30,000 properties": {"properties": {"x" * 500000: {"properties": {f"{i}": {} for i in range(30000)}}}},
    "9,000 items, each of its own": {"prefixItems": [{"const": i} for i in range(9000)], "items": False, "minItems": 9000},
    "a definition that is itself": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "arrays in arrays, 30 deep": nested(30, lambda inner: {"type": "array", "items": inner, "maxItems": 1000}),
    "items in items, 300 deep": nested(300, lambda inner: {"items": inner}),
    "anyOf in anyOf, 300 deep": nested(300, lambda inner: {"anyOf": [inner, {"type": "null"}]}),
    "allOf of anyOfs": {"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": j}}} for j in range(10)]} for i in range(30)]},
    "oneOf of 2,000 objects": {"oneOf": [properties(3, required=[f"p{i % 3}"], title=str(i)) for i in range(2000)]},
    "patternProperties, 200": {"patternProperties": {f"^a{i}.*[0-9]{{1,50}}$": {"type": "integer"} for i in range(200)}},
    "a pattern of states": {"type": "string", "pattern": "^(a|b)*a(a|b){200}$"},
    "a text of at most a million letters": {"type": "string", "maxLength": 1000000},
    "a number of a thousand digits": {"type": "integer", "minimum": int("9" * 18), "multipleOf": 7919},
    "uniqueItems of a thousand": {"type": "array", "items": {"enum": list(range(1000))}, "uniqueItems": True, "minItems": 1000},
    "a name of a megabyte": {"type": "object", "properties": {"x" * 1000000: {"type": "null"}}, "required": ["x" * 1000000]},
}
