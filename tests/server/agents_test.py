#!/usr/bin/env python3
"""usage: agents_test.py SERVER MODEL PYTHON [unittest's arguments]: calls agents' tools through OpenAI's and Anthropic's Python
clients, unchanged, from the environment PYTHON that scripts/server-tests has made."""
import json
import sys
import unittest

from agent_tools import TOOLS
from cogen_server import CogenServer
from fetched_python import run_again

try:
    import anthropic
    import openai
except ImportError:
    run_again(sys.argv[3])

TASK = [{"role": "user", "content": "Do what there is to do in Oslo."}]
LIMITS = {"max_tokens": 300, "extra_body": {"temperature": 0}}


class AgentsTest(unittest.TestCase):
    def check(self, name, arguments):
        """A small part of what JSON Schema says: what has to be there, what may be, and its type."""
        properties = TOOLS[name]["properties"]
        self.assertEqual(set(TOOLS[name].get("required", ())) - set(arguments), set(), name)
        kinds = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list}
        for key, value in arguments.items():
            kind = properties.get(key, {}).get("type")
            if kind in kinds:
                self.assertIsInstance(value, kinds[kind], (name, key))

    def test_openai(self):
        tools = [{"type": "function", "function": {"name": name, "description": name, "parameters": schema}} for name, schema in TOOLS.items()]
        with openai.OpenAI(api_key="none", base_url=f"{server.address}/v1", max_retries=0) as client:
            for name in TOOLS:
                choice = {"type": "function", "function": {"name": name}}
                answer = client.chat.completions.create(model="any", messages=TASK, tools=tools, tool_choice=choice, **LIMITS).choices[0]
                call = answer.message.tool_calls[0].function
                self.assertEqual(call.name, name)
                if answer.finish_reason == "tool_calls":
                    self.check(name, json.loads(call.arguments))
            self.assertTrue(client.chat.completions.create(model="any", messages=TASK, tools=tools, **LIMITS).choices[0].finish_reason)

    def test_anthropic(self):
        tools = [{"name": name, "description": name, "input_schema": schema} for name, schema in TOOLS.items()]
        with anthropic.Anthropic(api_key="none", base_url=server.address, max_retries=0) as client:
            for name in TOOLS:
                choice = {"type": "tool", "name": name}
                answer = client.messages.create(model="any", messages=TASK, tools=tools, tool_choice=choice, **LIMITS)
                self.assertEqual(answer.content[0].name, name)
                if answer.stop_reason == "tool_use":
                    self.check(name, answer.content[0].input)


with CogenServer(sys.argv[1], sys.argv[2]) as server:
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
