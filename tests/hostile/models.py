"""Model files whose templates and tokenizers do not end."""
import json
import shutil
import time

from watched_server import ADDRESS_SPACE, CogenServer  # first: it says where the others lie
import tiny_model

LONGEST = 20  # s until an answer or an error
SHARED = "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
LONG = "{% set a = 'a' * 4000000 %}"
TEMPLATES = {
    "compared": SHARED + "{{ ns.x == ns.y }}", "ordered": SHARED + "{{ ns.x < ns.y }}", "printed": SHARED + "{{ ns.x }}",
    "written as JSON": SHARED + "{{ ns.x|tojson }}", "searched": SHARED + "{{ ns.y in [ns.x] }}", "sorted": SHARED + "{{ [ns.x, ns.y]|sort }}",
    "made unique": SHARED + "{{ [ns.x, ns.y]|unique|list|length }}", "joined": SHARED + "{{ ns.x|join('') }}",
    "counted": SHARED + "{{ ns.x.count(ns.y) }}", "looked up": SHARED + "{{ {ns.x: 1}[ns.y] }}",
    "found": LONG + "{{ a.find('a' * 2000000 + 'b') }}", "stripped": LONG + "{{ a.strip('b' * 4000000 + 'a')|length }}",
    "measured": LONG + "{% for i in range(100000) %}{% if a|length > 5 %}{% endif %}{% endfor %}x",
    "begun with": LONG + "{% set b = 'a' * 4000000 %}{% for i in range(100000) %}{% if a.startswith(b) %}{% endif %}{% endfor %}x",
    "sliced": LONG + "{% for i in range(100000) %}{% set b = a[1:] %}{% endfor %}x",
    "replaced": LONG + "{{ a.replace('a', 'aaaaaaaaaaaaaaaa')|length }}", "split": LONG + "{% for i in range(1000) %}{% set b = a.split('a') %}{% endfor %}x",
    "doubled": "{% set ns = namespace(x='x') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x|length }}",
    "called": "{% macro f(n) %}{{ f(n + 1) }}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "nested": "{% if true %}" * 20000 + "x" + "{% endif %}" * 20000,
    "in brackets": "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}", "in loops": "{% for i in range(99999) %}" * 9 + "x" + "{% endfor %}" * 9,
    "in lists": "{{ " + "[" * 20000 + "]" * 20000 + " }}", "of operators": "{{ " + "not " * 20000 + "1 }}", "of filters": "{{ 1" + "|abs" * 20000 + " }}",
    "of a power": "{{ 9 ** 9 ** 9 ** 9 }}", "indented": LONG + "{{ ('\n' * 4000000)|indent(4000)|length }}", "centered": "{{ 'x'|center(4000000000)|length }}",
    "formatted": "{{ '%4000000000d' % 5 }}",
}
NORMALIZERS = {
    "doubled letters": {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 64},
    "long replacements": {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}] * 8},
    "long prefixes": {"type": "Prepend", "prepend": "a" * 100000000},
    "a pattern that backtracks": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "b"},
}


def nested_sequences(depth):
    normalizer = {"type": "NFC"}
    for _ in range(depth):
        normalizer = {"type": "Sequence", "normalizers": [normalizer]}
    return normalizer


def ask(program, folder, content):
    """What a chat with the model gives: an answer, or one clear error; or the file is refused."""
    begun = time.monotonic()
    served = CogenServer(program, str(folder), "--slots", "2", launcher=("prlimit", f"--as={ADDRESS_SPACE}"))
    try:
        with served as server:
            answer = server.chat([{"role": "user", "content": content}], max_tokens=2)
            assert answer.status in (200, 400), answer.text[:300]
            assert server.get("/health").status == 200
            said = answer.json["error"]["message"] if answer.status == 400 else "answered"
    except RuntimeError:
        status = served.process.wait()
        assert status in (1, 2), f"the server ended with {status}"
        said = "refused on loading"
    seconds = time.monotonic() - begun
    assert seconds < LONGEST, f"it took {seconds:.1f} s; {LONGEST} s are allowed"
    return f"{said[:100]} ({seconds:.1f} s)"


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def template_case(template):
    def case(program, folder):
        tiny_model.write_tiny_model(fresh(folder))
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
        return ask(program, folder, "x")
    return case


def normalizer_case(normalizer):
    def case(program, folder):
        tiny_model.write_tiny_model(fresh(folder))
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"normalizer": normalizer}), encoding="utf-8")
        return ask(program, folder, "a" * 30000 + "c")
    return case


CASES = {**{f"a template, {name}": template_case(template) for name, template in TEMPLATES.items()},
         **{f"a normalizer of {name}": normalizer_case(normalizer) for name, normalizer in NORMALIZERS.items()},
         "a normalizer of sequences in sequences": normalizer_case(nested_sequences(300))}
