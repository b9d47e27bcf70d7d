"""Model files whose templates and tokenizers do not end."""
import json
import shutil
import pathlib
import time

from watched_server import ADDRESS_SPACE, CogenServer, Monitor  # first: it says where the others lie
import tiny_model
from bodies import in_parallel

LONGEST = 20  # s until an answer or an error
LONGEST_HEALTH = 1  # s, while one is made
GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "golden"
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


def beside_health(server, attack):
    """What the attack returns, while /health answers in time."""
    monitor = Monitor(server)
    monitor.start()
    result = attack()
    monitor.ended.set()
    monitor.join()
    assert not monitor.failure, monitor.failure
    assert monitor.health <= LONGEST_HEALTH, f"/health took {monitor.health:.2f} s, and may take {LONGEST_HEALTH} s"
    return result


def in_crowd(program, model, count, path, body):
    """The same small body from several clients, of which each asks for much work."""
    answers = []
    with CogenServer(program, str(model), "--slots", "2", launcher=("prlimit", f"--as={ADDRESS_SPACE}")) as server:
        beside_health(server, lambda: in_parallel(count, lambda _: answers.append(server.post(path, body).status)))
    assert answers == [200] * count, answers
    return f"{count} x 200"


def rerank(program, _):
    """A short query beside many documents is long."""
    return in_crowd(program, GOLDENS / "bert_scores", 4, "/v1/rerank", {"query": "hello world " * 680, "documents": [""] * 2000})


def chats(program, folder):
    """A template that keeps its bounds takes long enough."""
    tiny_model.write_tiny_model(fresh(folder))
    template = "{% set ns = namespace(a='') %}{% for i in range(100000) %}{% set ns.a = 'y' * 2000 %}{% endfor %}x"
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return in_crowd(program, folder, 12, "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2})


def ask(program, folder, content):
    """What a chat with the model gives: an answer, or one clear error; or the file is refused."""
    begun = time.monotonic()
    served = CogenServer(program, str(folder), "--slots", "2", launcher=("prlimit", f"--as={ADDRESS_SPACE}"))
    try:
        with served as server:
            answer = beside_health(server, lambda: server.chat([{"role": "user", "content": content}], max_tokens=2))
            assert answer.status in (200, 400), answer.text[:300]
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
         "queries beside 2,000 documents": rerank, "chats with a template within its bounds": chats,
         "a normalizer of sequences in sequences": normalizer_case(nested_sequences(300))}
