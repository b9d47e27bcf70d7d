#!/usr/bin/env python3
"""usage: anthropic_test.py SERVER MODEL PYTHON [unittest's arguments]: uses the server through Anthropic's Python client,
unchanged, from the environment PYTHON that scripts/server-tests has made."""
import sys
import unittest

from cogen_server import CAPITAL, CogenServer
from fetched_python import run_again

try:
    import anthropic
except ImportError:
    run_again(sys.argv[3])

GREEDY = {"extra_body": {"temperature": 0}}  # which the client has no argument for
WARM = [{"role": "user", "content": "How warm is it in Oslo?"}]
TEMPERATURE = {"name": "temperature", "description": "The temperature in a town now.", "input_schema": {
    "type": "object", "properties": {"town": {"enum": ["Bergen", "Oslo"]}}, "required": ["town"], "additionalProperties": False}}


class AnthropicTest(unittest.TestCase):
    def setUp(self):
        self.client = anthropic.Anthropic(api_key="sk-test", base_url=server.address, max_retries=0)
        self.model = self.client.models.list().data[0].id

    def tearDown(self):
        self.client.close()

    def create(self, messages=CAPITAL, **options):
        return self.client.messages.create(model=self.model, messages=messages, **{"max_tokens": 24, **GREEDY, **options})

    def test_message(self):
        answer = self.create(system="Be brief.")
        self.assertEqual((answer.role, answer.stop_reason, answer.content[0].type), ("assistant", "end_turn", "text"))
        self.assertIn("Paris", answer.content[0].text)
        counted = self.client.messages.count_tokens(model=self.model, messages=CAPITAL, system="Be brief.")
        self.assertEqual(counted.input_tokens, answer.usage.input_tokens + answer.usage.cache_read_input_tokens)

    def test_stream_is_the_same(self):
        whole = self.create()
        with self.client.messages.stream(model=self.model, messages=CAPITAL, max_tokens=24, **GREEDY) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, text)
        self.assertEqual((final.stop_reason, final.usage.output_tokens), (whole.stop_reason, whole.usage.output_tokens))

    def test_a_tool_is_called_and_its_result_read(self):
        options = {"tools": [TEMPERATURE], "tool_choice": {"type": "tool", "name": "temperature"}, "max_tokens": 100}
        call = self.create(WARM, **options).content[0]
        self.assertEqual((call.type, call.name), ("tool_use", "temperature"))
        self.assertIn(call.input["town"], ("Bergen", "Oslo"))
        with self.client.messages.stream(model=self.model, messages=WARM, **GREEDY, **options) as stream:
            self.assertEqual(stream.get_final_message().content[0].input, call.input)
        told = [*WARM, {"role": "assistant", "content": [call.model_dump()]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"}]}]
        self.assertIn(self.create(told, tools=[TEMPERATURE]).stop_reason, ("end_turn", "max_tokens", "tool_use"))

    def test_a_prompt_is_only_read(self):
        story = [{"role": "user", "content": "A story of a sea that was read before. " * 8}]
        filled = self.create(story, max_tokens=0)
        self.assertEqual((filled.content, filled.usage.output_tokens), ([], 0))
        self.assertGreater(self.create(story, max_tokens=1).usage.cache_read_input_tokens, 32)

    def test_an_answer_that_has_begun_is_continued(self):
        begun = [*CAPITAL, {"role": "assistant", "content": "The capital of France is"}]
        self.assertTrue(self.create(begun).content[0].text.startswith(" Paris"))

    def test_stops(self):
        stopped = self.create(stop_sequences=["Paris"])
        self.assertEqual((stopped.stop_reason, stopped.stop_sequence), ("stop_sequence", "Paris"))

    def test_errors_have_their_types(self):
        with self.assertRaises(anthropic.BadRequestError) as refused:
            self.create([{"role": "bogus", "content": "x"}])
        self.assertIn("messages[0].role", str(refused.exception))
        with self.assertRaises(anthropic.BadRequestError):
            self.create([{"role": "user", "content": "word " * 20000}])
        with self.assertRaises(anthropic.NotFoundError):
            self.client.models.retrieve("nobody")


with CogenServer(sys.argv[1], sys.argv[2]) as server:
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
