"""Generated pieces of Jinja: every filter, test, method and operator over values of every kind, and statements."""

import random
import re

VALUES = [
    "1", "0", "-3", "7", "2.5", "-0.5", "1e20", "1234567", "true", "false", "none", "nope", "''", "'a'", "'Hello World'", "' pad '",
    "'12'", "' -3.5 '", "'0x1F'", "'a,b,,c'", "'x<b>&\"y\"'", "'tab\\tnew\\nline'", "'Größe ß'", "'%s-%s'", "'%(a)s'", "'{} {}'",
    "'a-b c_d'", "[]", "[1, 2, 3]", "[3, 1, 2]", "['b', 'a', 'C']", "[1, 'x', none]", "[[1, 2], [3]]", "(1, 2)", "('a',)", "()",
    "{}", "{'a': 1}", "{'b': 2, 'a': 1, 'C': 3}", "{'a': {'b': [1]}}", "{1: 'x'}", "range(4)", "range(5, 0, -2)", "words", "numbers",
    "text", "name", "quote", "people", "people[0]", "nested", "mixed", "big", "('<i>' | safe)", "('a' | e)", "words | map('upper')",
    "{'a': 1, 'b': [2]}.items()", "{'k': 1}.keys()", "{'k': 1}.values()", "dict(a=1)", "dict",
]
SMALL = ["1", "2", "0", "-1", "'a'", "' '", "','", "none", "true", "3.5", "'b'", "[1]", "'name'", "'age'", "''", "10", "'x'", "nope", "'0'"]
FILTERS = {
    "abs": [], "attr": ["name"], "batch": ["linecount", "fill_with"], "capitalize": [], "center": ["width"], "count": [],
    "d": ["default_value", "boolean"], "default": ["default_value", "boolean"], "dictsort": ["case_sensitive", "by", "reverse"], "e": [],
    "escape": [], "filesizeformat": ["binary"], "first": [], "float": ["default"], "forceescape": [], "format": [], "groupby": ["attribute"],
    "indent": ["width", "first", "blank"], "int": ["default", "base"], "join": ["d", "attribute"], "last": [], "length": [], "list": [],
    "lower": [], "items": [], "map": ["attribute"], "max": ["case_sensitive"], "min": ["attribute"], "reject": [], "rejectattr": [],
    "replace": ["old", "new", "count"], "reverse": [], "round": ["precision", "method"], "safe": [], "select": [], "selectattr": [],
    "slice": ["slices", "fill_with"], "sort": ["reverse", "case_sensitive", "attribute"], "string": [], "sum": ["attribute", "start"],
    "title": [], "tojson": ["indent"], "trim": ["chars"], "truncate": ["length", "killwords", "end", "leeway"],
    "unique": ["case_sensitive", "attribute"], "upper": [], "urlencode": [], "wordcount": [], "wordwrap": ["width", "break_long_words"],
    "xmlattr": ["autospace"],
}
TESTS = [
    "boolean", "callable", "defined", "divisibleby", "eq", "equalto", "==", "escaped", "even", "false", "filter", "float", "ge", "gt",
    "greaterthan", "in", "integer", "iterable", "le", "lessthan", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sameas",
    "sequence", "string", "test", "true", "undefined", "upper",
]
TEXT_METHODS = [
    "capitalize", "casefold", "center", "count", "endswith", "expandtabs", "find", "format", "index", "isalnum", "isalpha", "isascii",
    "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill",
]
OTHER_METHODS = ["copy", "count", "index", "get", "items", "keys", "values", "append", "pop", "update", "is_integer", "bit_length", "x"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "is", "is not"]
SPECS = ["", "5", "<5", ">7", "^6", "*^9", "05", "+", " ", ",", "_", ".2f", "+.1e", "08.3f", "x", "#x", "b", "o", "c", "%", ".3", "s", "=+8", "10,.2f", "g", "E", "n", "d", "q", ".0f", "#o", "_b", "0=6", "é>4"]
CONVERSIONS = ["%s", "%r", "%d", "%i", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3f", "%8.2f", "%e", "%g", "%x", "%#x", "%X", "%o", "%c", "%%", "%5s|", "%-5s|", "%.2s", "%a", "%.3d", "%#o", "%G", "%q", "%", "%(a)s", "%*d", "%05s", "%+.1e", "%F"]
STATEMENTS = [
    "{% for i in V recursive %}{{ i }}{% if i is iterable and i is not string %}<{{ loop(i) }}>{% endif %}{{ loop.depth }}{% endfor %}",
    "{% for i in V %}{{ loop.index }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{% else %}none{% endfor %}",
    "{% for i in V %}{{ loop.changed(i) }}{{ loop.cycle('x', 'y') }}{{ loop.length }}{% endfor %}",
    "{% for a, b in V %}{{ a }}={{ b }};{% endfor %}",
    "{% for a, (b, c) in [[1, V], [2, V]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% with a = V, b = W %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
    "{% set a = 1 %}{% with a = V, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% set a, b = V %}{{ a }}|{{ b }}",
    "{% set x | upper %}{{ V }}{% endset %}{{ x }}",
    "{% filter upper | replace('A', W) %}{{ V }}{% endfilter %}",
    "{% macro m(a, b=W) %}{{ a }}-{{ b }}-{{ varargs }}-{{ kwargs }}{% endmacro %}{{ m(V) }}{{ m(V, 2, 3) }}{{ m(V, c=4) }}{{ m(*[1, 2], **{'d': 5}) }}",
    "{% macro m(a, b=W) %}{{ a }}-{{ b }}{% endmacro %}{{ m(V) }}{{ m(b=V) }}{{ m(V, W, V) }}",
    "{% macro m(x) %}[{{ caller(x) }}{{ caller(x) }}]{% endmacro %}{% call(y) m(V) %}{{ y }}{{ W }}{% endcall %}",
    "{% macro m() %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}{{ V }}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}{{ V }}{% endcall %}",
    "{% set j = joiner(W) %}{% for i in V %}{{ j() }}{{ i }}{% endfor %}",
    "{% set c = cycler(1, V) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}",
    "{% set ns = namespace(a=V) %}{% for i in [1, 2] %}{% set ns.b = i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}{{ ns.c }}",
    "{% block body %}{{ V }}{% endblock %}", "{% print V, W %}", "{{ V if W }}", "{{ V if W else 'else' }}", "{{ V[W] }}", "{% set v = V %}{{ v[W:] }}",
    "{% set v = V %}{{ v[:W] }}", "{% set v = V %}{{ v[::W] }}", "{{ V[W, 1] }}", "{{ V | groupby('age') | list | length }}", "{% for k, g in people | groupby('age', default=W) %}{{ k }}:{{ g | map(attribute='name') | join(',') }};{% endfor %}",
    "{% set x = V %}{{ x == V }}{{ x is sameas x }}", "{% set g = V | list %}{{ g }}{{ g | length }}", "{% set g = V | map('string') %}{{ g | first }}{{ g | list }}{{ g | list }}",
    "{% autoescape false %}{{ V }}{% endautoescape %}", "{% if V is defined and V %}y{% else %}n{% endif %}", "{{ 1 < V < W }}", "{{ V is W }}",
    "{{ not V }}", "{{ -V }}", "{{ +V }}", "{% for i in V if i %}{{ i }}{% if loop.index > 1 %}{% break %}{% endif %}{% endfor %}", "{{ V() }}", "{{ V.a }}{{ V.a.b }}",
    "{{ V['upper'] is callable }}", "{{ {V: W} }}", "{{ [V, W] | tojson }}", "{{ namespace(V) is mapping }}", "{{ dict(V) }}", "{{ V | map(W) | list }}", "{{ V | select(W) | list }}",
    "{% for i in V %}{% for j in V %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{{ V | sum(start=W) }}", "{{ V | sort(attribute='age,name') | map(attribute='name') | join }}",
]


class Generator:
    def __init__(self, seed):
        self.draw = random.Random(seed)

    def value(self):
        return self.draw.choice(VALUES)

    def small(self):
        return self.draw.choice(SMALL if self.draw.random() < 0.85 else VALUES)

    def arguments(self, names, most=3):
        count = self.draw.choice([0, 1, 1, 2, 3][: most + 2])
        given = [self.small() for _ in range(min(count, most))]
        if names and self.draw.random() < 0.35:
            given.append(f"{self.draw.choice(names)}={self.small()}")
        return ", ".join(given)

    def filtered(self, value):
        name = self.draw.choice(list(FILTERS))
        if name in ("map", "select", "reject", "selectattr", "rejectattr"):
            inner = self.draw.choice(list(FILTERS) if name == "map" else TESTS)
            attribute = self.draw.choice(["'name', ", "'age', ", "0, "]) if name.endswith("attr") else ""
            given = f"{attribute}'{inner}'" + (", " + self.small() if self.draw.random() < 0.4 else "")
            return f"{value} | {name}({given}) | list"
        given = self.arguments(FILTERS[name]) if self.draw.random() < 0.6 else ""
        rest = " | list" if name in ("batch", "slice", "items", "unique", "reverse") and self.draw.random() < 0.9 else ""
        return f"{value} | {name}({given}){rest}" if given else f"{value} | {name}{rest}"

    def tested(self, value):
        given = f"({self.arguments([], 2)})" if self.draw.random() < 0.6 else ""
        return f"{value} is {self.draw.choice(['', 'not '])}{self.draw.choice(TESTS)}{given}"

    def called(self):
        if self.draw.random() < 0.75:
            value = self.draw.choice([v for v in VALUES if v.startswith("'") or v in ("text", "name", "quote")])
            name = self.draw.choice(TEXT_METHODS)
        else:
            value, name = self.value(), self.draw.choice(OTHER_METHODS)
        return f"({value}).{name}({self.arguments(['sep', 'maxsplit', 'keepends'] if name.startswith('s') else [])})"

    def formatted(self):
        if self.draw.random() < 0.5:
            spec = self.draw.choice(SPECS)
            field = self.draw.choice(["", "", "0", "a", "0.b", "0[0]", "!r", "!s", "1"])
            return f"'{{{field}:{spec}}}'.format({self.value()}, a={self.small()})"
        given = self.draw.choice([self.value(), f"({self.value()},)", f"({self.value()}, {self.small()})", f"{{'a': {self.value()}}}"])
        return f"'{self.draw.choice(CONVERSIONS)}{self.draw.choice(['', '', ' %s'])}' % {given}"

    def expression(self):
        kind = self.draw.randrange(8)
        if kind <= 1:
            return self.filtered(self.value())
        if kind == 2:
            return self.filtered(f"({self.filtered(self.value())})")
        if kind == 3:
            return self.tested(self.value())
        if kind == 4:
            return self.called()
        if kind == 5:
            return self.formatted()
        return f"({self.value()}) {self.draw.choice(OPERATORS)} ({self.draw.choice([self.value(), self.small()])})"

    def piece(self):
        if self.draw.random() < 0.25:
            statement = self.draw.choice(STATEMENTS)
            return statement.replace("V", f"({self.value()})").replace("W", f"({self.small()})")
        return "{{ " + self.expression() + " }}"


def pieces(count, seed):
    generator = Generator(seed)
    found = {}
    while len(found) < count:
        found.setdefault(generator.piece())
    return list(found)


EXPRESSION_VARIABLES = {"people": [{"name": "Ada", "age": 36}, {"name": "bob", "age": 7}, {"name": "Cyd", "age": 36}]}

# Refused here: integers beyond 64 bits, sets, ranges and views as keys, functions as texts, and arguments of a wrong
# kind where Python would not have looked at them.
REFUSED = re.compile(
    r"1e20|big\) \*\*|keys\(\)\) -|- \(.*keys\(\)|keys\(\) - |\(dict(,|\))| dict |\{\((range|\{)|\(range.* in |base=(?!\d)|truncate\(3\.5|in \(\{.*keys"
)


def generated_pieces():
    return [piece for piece in pieces(2000, seed=5) if not REFUSED.search(piece)]
