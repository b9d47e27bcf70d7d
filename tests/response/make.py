"""Writes responses.json: texts of models, and what Transformers' parse_response reads in them.

usage: make.py (needs transformers 5.23)
"""

import json
import pathlib

from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS
from transformers.utils.chat_parsing import parse_response

FALLBACKS = {types[0]: template for types, template in _RESPONSE_TEMPLATE_FALLBACKS.items()}
OWN = {
    "list of calls": {
        "start_anchor": "<|assistant|>",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": ["<|tool_call|>", "<tool_calls>"],
                "close_pattern": r"</tool_calls>",
                "content": "json",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{tool_name}", "arguments": "{parameters}"}},
            },
            "content": {"open": "<|START|>", "close": ["<|END|>", "<|eos|>"]},
        },
    },
    "name first": {
        "start_anchor": "[/INST]",
        "fields": {
            "tool_calls": {
                "open_pattern": r"\[TOOL_CALLS\](?P<name>[^\[]+)\[ARGS\]",
                "close_pattern": r"\[END\]",
                "content": "json",
                "repeats": True,
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {},
        },
    },
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "x": {"type": "number"},
                    "b": {"type": "boolean"},
                    "s": {"type": "string"},
                    "o": {"type": "object"},
                    "l": {"type": ["array", "null"]},
                    "u": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "z": {},
                },
            },
        },
    }
]
QWEN = "<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "f", "arguments": {"n": 1, "s": "a}\\"é"}}\n</tool_call>'


def parameter(key, value):
    return f"<parameter={key}>\n{value}\n</parameter>\n"


def function(*parameters, name="f"):
    return f"<tool_call>\n<function={name}>\n{''.join(parameters)}</function>\n</tool_call>"


TEXTS = {
    "qwen2": [
        (QWEN, "Hello, world.<|im_end|>"),
        (QWEN, "<think>\nWhy?\n</think>\n\nBecause."),
        (QWEN + "<think>\n", "So it is.\n\nYes.\n</think>\n\nIndeed.<|im_end|>"),
        (QWEN + "<think>\n\n</think>\n\n", "Short."),
        (QWEN + "<think>\n", "never ends"),
        (QWEN, CALL),
        (QWEN, "I will call it.\n" + CALL + "\n" + CALL + "<|im_end|>"),
        (QWEN + "<think>\n", "hm\n</think>\n\n" + CALL + "<|im_end|>\n<|endoftext|>"),
        (QWEN, "a < b, <tool, <tool_cal> and <thin> are text. é"),
        (QWEN, '<tool_call>\n{"arguments": {}, "name": "f"}\n</tool_call>'),
        (QWEN, '<tool_call>{ "name" : "f" , "arguments" : {"o": {"l": [1, 2.5e3, null, true]}} }</tool_call>'),
    ],
    "qwen3_5": [
        (QWEN + "<think>\n", "Let me see.\n</think>\n\n" + function(parameter("n", "3"), parameter("s", "Paris"))),
        (QWEN, function()),
        (QWEN, "Text first.\n\n" + function(parameter("s", "3")) + "\n" + function(parameter("n", "4"))),
        (QWEN, function(parameter("x", "2.50"), parameter("b", "True"), parameter("o", '{"a": [1]}'))),
        (QWEN, function(parameter("n", "3.0"), parameter("b", "maybe"), parameter("l", "None"), parameter("u", "7"))),
        (QWEN, function(parameter("n", "many"), parameter("z", "{}"), parameter("other", "1"), parameter("u", "é"))),
        (QWEN, function(parameter("s", 'for x in y:\n    print("<b>\\n</b>")'))),
        (QWEN, function(parameter("s", "x"), name="g")),
        (QWEN, "<tool_call> is text here.<|im_end|>"),
    ],
    "list of calls": [
        ("<|assistant|>", '<|START|>Hi.<|END|><|eos|>'),
        ("<|assistant|><think>", 'hm</think><tool_calls>[{"tool_name": "f", "parameters": {"n": 1}}]</tool_calls>'),
        ("<|assistant|>", '<|tool_call|>[{"tool_name": "f", "parameters": {}}, {"tool_name": "g", "parameters": {"s": "]"}}]</tool_calls><|eos|>'),
    ],
    "name first": [
        ("[/INST]", "Hello."),
        ("[/INST]", 'Well. [TOOL_CALLS]f[ARGS]{"n": 1}[END][TOOL_CALLS]g[ARGS]{}[END]'),
    ],
}


def main():
    cases = []
    for name, texts in TEXTS.items():
        template = FALLBACKS.get(name) or OWN[name]
        for prefix, text in texts:
            message = parse_response(text, template, prefix=prefix, tools=TOOLS)
            cases.append({"template": name, "prefix": prefix, "text": text, "message": message})
    templates = {name: FALLBACKS.get(name) or OWN[name] for name in TEXTS}
    written = {"tools": TOOLS, "templates": templates, "responses": cases}
    path = pathlib.Path(__file__).with_name("responses.json")
    path.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


main()
