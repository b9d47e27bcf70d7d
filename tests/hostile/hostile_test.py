#!/usr/bin/env python3
"""Attacks servers as a stranger can, one case after the other, and prints what a bystander noticed of each. Fails beyond the
bounds that SECURITY.md states."""
import argparse
import json
import pathlib
import sys
import tempfile

import bodies
import crowds
import models
import tenants
import wire
from formats import GRAMMARS, REGEXES, SCHEMAS
from watched_server import CLOSING, KEPT_MEMORY, WatchedServer

LONGEST_GAP = 2  # s, or twice the usual one where that is longer
LONGEST_HEALTH = 1  # s
MOST_MEMORY = 1024  # MiB, while a case runs


def chat_with(server, **body):
    """A chat that may be refused: what came, in a word."""
    answer = server.chat([{"role": "user", "content": "x"}], **({"max_tokens": 8} | body))
    assert answer.status in (200, 400), answer.text[:500]
    if answer.status == 400:
        message = answer.json["error"]["message"]
        assert len(message) < 1000, message
        return f"400: {message}"
    choice = answer.json["choices"][0]
    return f"200: {choice['finish_reason']}"


def format_case(**body):
    return lambda server: chat_with(server, **body)


def tool(schema):
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}], "tool_choice": "required"}


def schema_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


FORMATS = {
    **{name: format_case(response_format={"type": "grammar", "grammar": text}) for name, text in GRAMMARS.items()},
    **{name: format_case(guided_regex=text) for name, text in REGEXES.items()},
    **{name: format_case(response_format=schema_format(schema)) for name, schema in SCHEMAS.items()},
    **{f"a tool: {name}": format_case(**tool(SCHEMAS[name])) for name in ("15,000 required names", "20,000 properties, open")},
    "no token left": format_case(logit_bias=[[i, False] for i in range(49152)]),
}


class Table:
    """A line for each case, printed as it ends."""

    COLUMNS = (("case", 46), ("time", 7), ("gap", 6), ("health", 7), ("peak", 6), ("kept", 6), ("files", 6), ("bits", 6))

    def __init__(self):
        self.rows, self.failures = [], []
        print(self.line(tuple(name for name, _ in self.COLUMNS)), flush=True)

    def line(self, cells):
        return "  ".join(f"{cell:{'<' if i == 0 else '>'}{width}}" for i, (cell, (_, width)) in enumerate(zip(cells, self.COLUMNS)))

    def add(self, name, seen, wrong, answer):
        self.rows.append({"case": name, **vars(seen), "answer": answer, "wrong": wrong})
        print(self.line((name, f"{seen.seconds:.2f} s", f"{seen.gap:.2f}", f"{seen.health:.3f}", f"{seen.peak:.0f}", f"{seen.kept:.0f}",
                         f"{seen.descriptors:+}", "same" if seen.same_bits else "OTHER")), answer[:110], flush=True)
        self.fail(name, wrong)

    def fail(self, name, wrong):
        failures = [f"  WRONG {name}: {each}" for each in wrong]
        print("".join(line + "\n" for line in failures), end="", flush=True)
        self.failures += failures

    def summary(self):
        """Every failure once more, where a long log ends."""
        return "\n".join([*self.failures, f"{len(self.failures)} bounds are exceeded" if self.failures else "all cases passed"])


def watch_beside(server, attack):
    """Of a crowd: beside the same clients without formats, three times at most, since other programs hold up a step, too."""
    attack.case.prepare(server)
    for _ in range(3):
        usual = server.watch(lambda: attack.case.usual(server)).gap
        seen = server.watch(attack)
        if seen.gap <= 2 * usual + crowds.NOISE:
            break
    else:
        attack.wrong.append(f"a bystander's stream stood for {seen.gap:.3f} s, and for {usual:.3f} s beside the same load without formats")
    attack.answer += f"; {1000 * seen.gap:.0f} ms instead of {1000 * usual:.0f}"
    return seen


def breaches(server, seen, most):
    """What of it is beyond the bounds."""
    gap = max(LONGEST_GAP, 2 * server.usual_gap)
    return [text for is_wrong, text in (
        (seen.gap > gap, f"a bystander's stream stood for {seen.gap:.2f} s, and may for {gap:.2f} s"),
        (seen.health > LONGEST_HEALTH, f"/health took {seen.health:.2f} s, and may take {LONGEST_HEALTH} s"),
        (seen.peak > most, f"{seen.peak:.0f} MiB more were in memory; {most} MiB are allowed"),
        (seen.kept > KEPT_MEMORY, f"{seen.kept:.0f} MiB were kept; {KEPT_MEMORY} MiB are allowed"),
        (seen.descriptors > CLOSING, f"{seen.descriptors} descriptors were kept; {CLOSING} are allowed"),
        (not seen.same_bits, "an answer differs from what it was before")) if is_wrong]


class Attack:
    """One case, whose failure is kept until it has been watched."""

    def __init__(self, case, server):
        self.case, self.server, self.answer, self.wrong = case, server, "", []

    def __call__(self):
        try:
            self.answer = self.case(self.server) or ""
        except (AssertionError, OSError, ValueError, KeyError) as failure:
            self.wrong.append(f"{type(failure).__name__}: {str(failure)[:300]}")


def run(table, server_of, cases, pattern):
    """Each case against one server; a new one after a case that has ended it."""
    left = {name: case for name, case in cases.items() if pattern in name}
    while left:
        with server_of() as server:
            while left:
                name = next(iter(left))
                attack = Attack(left.pop(name), server)
                try:
                    seen = watch_beside(server, attack) if isinstance(attack.case, crowds.Crowd) else server.watch(attack)
                except (AssertionError, OSError) as failure:
                    table.fail(name, [*attack.wrong, f"the server did not stand it: {failure}"])
                    break
                table.add(name, seen, attack.wrong + breaches(server, seen, bodies.MOST_MEMORY.get(name, MOST_MEMORY)), attack.answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="cogen-server")
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--case", default="", help="only cases whose names hold this text")
    parser.add_argument("--json", type=pathlib.Path, help="also writes the table to this file")
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        keys = folder / "keys"
        keys.write_text("".join(key + "\n" for key in tenants.KEYS), encoding="utf-8")
        saved = folder / "saved"
        saved.mkdir()

        def of_strangers():
            return WatchedServer(options.program, options.model, "--slots", "8")

        def of_tenants():
            return WatchedServer(options.program, options.model, "--slots", "8", "--api-key-file", str(keys), "--slot-save-path", str(saved),
                                 key=tenants.BYSTANDER)

        run(table, of_strangers, FORMATS | crowds.CASES | bodies.OPEN | wire.OPEN, options.case)
        run(table, of_tenants, bodies.KEYED | tenants.CASES, options.case)
        for name, case in models.CASES.items():
            if options.case in name:
                attack = Attack(lambda _, case=case: case(options.program, folder / "model"), None)
                attack()
                print(f"{name}: {attack.answer}", flush=True)
                table.fail(name, attack.wrong)
    if options.json:
        options.json.write_text(json.dumps(table.rows, indent=1) + "\n", encoding="utf-8")
    print(table.summary())
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
