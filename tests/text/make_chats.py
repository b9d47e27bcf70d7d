"""Writes what Transformers makes of our chat templates, and of many small pieces of Jinja."""

import datetime
import json

from chats import CHATS, SETTINGS, TEMPLATES
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
        return {"text": compiled.render(**variables)}
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
