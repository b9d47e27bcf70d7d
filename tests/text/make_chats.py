"""Writes what Transformers makes of our chat templates, and of many small pieces of Jinja."""

import copy
import datetime
import json

from chats import CHATS, SETTINGS, TEMPLATES
from expressions import EXPRESSION_VARIABLES, generated_pieces
from snippets import SNIPPETS, VARIABLES
from transformers.utils import chat_template_utils

NOW = datetime.datetime(2024, 2, 9, 13, 5, 7)


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


def rendered(template, variables):
    chat_template_utils.datetime = FixedClock
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        return {"text": compiled.render(**copy.deepcopy(variables))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def write(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def variables_of(messages, setting):
    return {"messages": messages, "tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>", **setting}


def chat_cases(folder):
    for template in TEMPLATES:
        source = (folder / "templates" / (template + ".jinja")).read_text()
        for chat, messages in CHATS.items():
            for setting, variables in SETTINGS.items():
                given = variables_of(messages, variables)
                yield {"template": template, "chat": chat, "setting": setting, **rendered(source, given)}


def write_chats(folder):
    write(folder / "chats.json", {"chats": CHATS, "settings": SETTINGS, "cases": list(chat_cases(folder))})
    snippets = [{"template": snippet, **rendered(snippet, {"tools": None, "documents": None, **VARIABLES})} for snippet in SNIPPETS]
    write(folder / "snippets.json", {"variables": VARIABLES, "snippets": snippets})
    write_expressions(folder / "expressions.json")


def write_expressions(path):
    """A line for each piece."""
    variables = {**VARIABLES, **EXPRESSION_VARIABLES}
    given = {"tools": None, "documents": None, **variables}
    lines = []
    for piece in generated_pieces():
        result = rendered(piece, given)
        if is_reproducible(result):
            lines.append(json.dumps({"template": piece, **result}, ensure_ascii=False, separators=(",", ":")))
    head = json.dumps(variables, ensure_ascii=False, separators=(",", ":"))
    path.write_text('{"variables":' + head + ',\n"snippets":[\n' + ",\n".join(lines) + "\n]}\n")


def is_reproducible(result):
    """Not where an object was written with its address."""
    return not any(mark in result.get("text", "").lower() for mark in (" at 0x", "<built-in", "<bound", "__main__"))
