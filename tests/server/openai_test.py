#!/usr/bin/env python3
"""usage: openai_test.py SERVER MODEL PYTHON [unittest's arguments]: uses the server through OpenAI's Python client,
unchanged, from the environment PYTHON that scripts/server-tests has made."""
import asyncio
import json
import math
import sys
import tempfile
import unittest
import urllib.request

from cogen_server import CogenServer
from fetched_python import run_again

try:
    import openai
except ImportError:
    run_again(sys.argv[3])

KEY = "sk-test"
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
PARIS = "The capital of France is Paris."
STORY = [{"role": "user", "content": "Tell me a very long story."}]
TEMPERATURE = {"type": "function", "function": {
    "name": "temperature", "description": "The temperature in a town now.",
    "parameters": {"type": "object", "properties": {"town": {"enum": ["Bergen", "Oslo"]}}, "required": ["town"], "additionalProperties": False}}}


def slots():
    request = urllib.request.Request(f"{server.address}/slots", headers={"Authorization": f"Bearer {KEY}"})
    return json.load(urllib.request.urlopen(request))


def until_idle():
    """Waits until no slot is used."""
    while any(slot["is_processing"] for slot in slots()):
        pass


class OpenAITest(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(api_key=KEY, base_url=f"{server.address}/v1", max_retries=0)
        self.model = self.client.models.list().data[0].id

    def tearDown(self):
        self.client.close()

    def chat(self, messages=CAPITAL, **options):
        return self.client.chat.completions.create(model=self.model, messages=messages, **{"temperature": 0, "max_tokens": 24, **options})

    def complete(self, prompt="The capital of France is", **options):
        return self.client.completions.create(model=self.model, prompt=prompt, **{"temperature": 0, "max_tokens": 8, **options})

    # Chats

    def test_chat(self):
        answer = self.chat()
        (choice,) = answer.choices
        self.assertEqual((choice.message.role, choice.message.content, choice.finish_reason), ("assistant", PARIS, "stop"))
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        self.assertTrue(answer._request_id)

    def test_streamed_chat_is_the_same(self):
        chunks = list(self.chat(stream=True))
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks), PARIS)
        self.assertGreater(len(chunks), 4)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual([chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason], ["stop"])
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        self.assertFalse(any(chunk.usage for chunk in chunks))

    def test_usage_of_a_stream_comes_last_and_only_where_asked_for(self):
        *chunks, last = self.chat(stream=True, stream_options={"include_usage": True})
        self.assertEqual(last.choices, [])
        self.assertEqual(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens)
        self.assertFalse(any(chunk.usage for chunk in chunks))
        self.assertEqual(last.usage.model_dump(exclude={"prompt_tokens_details"}), self.chat().usage.model_dump(exclude={"prompt_tokens_details"}))

    def test_a_prompt_is_cached(self):
        long = [{"role": "system", "content": "A rule. " * 40}, *CAPITAL]
        self.chat(long)
        usage = self.chat(long).usage
        self.assertGreaterEqual(usage.prompt_tokens_details.cached_tokens, 0.9 * usage.prompt_tokens)

    def test_max_tokens(self):
        for name in "max_tokens", "max_completion_tokens":
            with self.subTest(name):
                answer = self.chat(STORY, **{"max_tokens": openai.NOT_GIVEN, name: 5})
                self.assertEqual((answer.usage.completion_tokens, answer.choices[0].finish_reason), (5, "length"))

    def test_stop(self):
        for stop in "France", ["France", "never"]:
            with self.subTest(stop):
                answer = self.chat(stop=stop)
                self.assertEqual((answer.choices[0].message.content, answer.choices[0].finish_reason), ("The capital of ", "stop"))
                streamed = "".join(chunk.choices[0].delta.content or "" for chunk in self.chat(stop=stop, stream=True))
                self.assertEqual(streamed, "The capital of ")

    def test_several_choices(self):
        answer = self.chat(STORY, n=3, temperature=1, seed=3)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        self.assertEqual(len({choice.message.content for choice in answer.choices}), 3)
        texts = ["", "", ""]
        for chunk in self.chat(STORY, n=3, temperature=1, seed=3, stream=True):
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
        self.assertEqual(texts, [choice.message.content for choice in answer.choices])

    def test_seed(self):
        def text(seed):
            return self.chat(STORY, temperature=1.2, seed=seed).choices[0].message.content

        self.assertEqual(text(5), text(5))
        self.assertNotEqual(text(5), text(6))

    def test_logprobs(self):
        content = self.chat(logprobs=True, top_logprobs=3).choices[0].logprobs.content
        self.assertEqual("".join(token.token for token in content), PARIS)
        self.assertEqual(b"".join(bytes(token.bytes) for token in content), PARIS.encode())
        for token in content:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertAlmostEqual(token.top_logprobs[0].logprob, token.logprob, places=5)
            self.assertLessEqual(sum(math.exp(other.logprob) for other in token.top_logprobs), 1.0001)
        streamed = [token for chunk in self.chat(logprobs=True, top_logprobs=3, stream=True) for choice in chunk.choices
                    if choice.logprobs for token in choice.logprobs.content or []]
        self.assertEqual([token.token for token in streamed], [token.token for token in content])

    def test_logit_bias(self):
        content = self.chat(logprobs=True).choices[0].message.content
        tokens = self.post("/tokenize", {"content": " Paris"})["tokens"]
        self.assertIn(" Paris", content)
        self.assertNotIn(" Paris", self.chat(logit_bias={str(tokens[0]): -100}).choices[0].message.content)

    def post(self, route, body):
        request = urllib.request.Request(server.address + route, json.dumps(body).encode(),
                                         {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))

    def test_json_schema(self):
        schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}
        answer = self.chat(response_format={"type": "json_schema", "json_schema": {"name": "city", "schema": schema}}, max_tokens=40)
        self.assertEqual(json.loads(answer.choices[0].message.content), {"city": "Paris"})

    def test_json_object(self):
        answer = self.chat([{"role": "user", "content": "Describe Paris as a JSON object with its name only."}],
                           response_format={"type": "json_object"}, max_tokens=200)
        if answer.choices[0].finish_reason == "stop":
            self.assertIsInstance(json.loads(answer.choices[0].message.content), dict)
        self.assertTrue(answer.choices[0].message.content.lstrip().startswith("{"))

    def test_a_tool_is_called(self):
        ask = [{"role": "user", "content": "How many degrees is it in Oslo?"}]
        options = {"tools": [TEMPERATURE], "tool_choice": {"type": "function", "function": {"name": "temperature"}}, "max_tokens": 100}
        choice = self.chat(ask, **options).choices[0]
        (call,) = choice.message.tool_calls
        self.assertEqual((call.type, call.function.name, choice.finish_reason in ("tool_calls", "stop")), ("function", "temperature", True))
        self.assertIn(json.loads(call.function.arguments)["town"], ("Bergen", "Oslo"))
        name = arguments = id = ""
        for chunk in self.chat(ask, **options, stream=True):
            for part in chunk.choices[0].delta.tool_calls or []:
                self.assertEqual(part.index, 0)
                name += part.function.name or ""
                arguments += part.function.arguments or ""
                id = id or part.id
        self.assertEqual((name, arguments), ("temperature", call.function.arguments))
        result = self.chat([*ask, choice.message, {"role": "tool", "tool_call_id": call.id, "content": "21 degrees"}], tools=[TEMPERATURE], tool_choice="none")
        self.assertIn("21", result.choices[0].message.content)
        self.assertTrue(id)

    # Completions

    def test_completion(self):
        answer = self.complete()
        self.assertIn("Paris", answer.choices[0].text)
        self.assertEqual("".join(chunk.choices[0].text for chunk in self.complete(stream=True) if chunk.choices), answer.choices[0].text)

    def test_several_prompts(self):
        prompts = ["The capital of France is", "The capital of Italy is", "Two and two are"]
        answer = self.complete(prompts)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        self.assertEqual([choice.text for choice in answer.choices], [self.complete(prompt).choices[0].text for prompt in prompts])

    def test_a_prompt_of_tokens(self):
        tokens = self.post("/tokenize", {"content": "The capital of France is"})["tokens"]
        self.assertEqual(self.complete(tokens).choices[0].text, self.complete().choices[0].text)

    def test_echo_with_logprobs(self):
        answer = self.complete(echo=True, logprobs=1, max_tokens=1).choices[0]
        self.assertTrue(answer.text.startswith("The capital of France is"))
        self.assertEqual("".join(answer.logprobs.tokens), answer.text)
        self.assertIsNone(answer.logprobs.token_logprobs[0])
        self.assertTrue(all(value <= 0 for value in answer.logprobs.token_logprobs[1:]))
        self.assertEqual(answer.logprobs.text_offset, [len("".join(answer.logprobs.tokens[:i])) for i in range(len(answer.logprobs.tokens))])

    # Errors

    def test_errors_have_their_types(self):
        client = openai.OpenAI(api_key="wrong", base_url=f"{server.address}/v1", max_retries=0)
        with self.assertRaises(openai.AuthenticationError):
            client.chat.completions.create(model=self.model, messages=CAPITAL)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("no-such-model")
        for wrong in ({"temperature": -1}, {"top_p": 2}, {"max_tokens": -3}, {"n": 0}, {"messages": []}, {"logit_bias": {"none": 1}},
                      {"response_format": {"type": "sound"}}, {"stop": [""] * 1}, {"messages": [{"role": "user", "content": "word " * 9000}]}):
            with self.subTest(str(wrong)[:60]), self.assertRaises(openai.BadRequestError) as caught:
                self.chat(**wrong)
            self.assertTrue(caught.exception.body["message"])
            self.assertTrue(caught.exception.request_id)
        self.assertEqual(self.chat().choices[0].message.content, PARIS)

    def test_a_prompt_that_is_too_long_is_told_with_its_length(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat([{"role": "user", "content": "word " * 2500}])
        body = caught.exception.body
        self.assertEqual((body["code"], body["n_ctx"]), ("context_length_exceeded", 2048))
        self.assertGreater(body["n_prompt_tokens"], 2500)

    def test_a_wrong_request_for_a_stream_is_no_stream(self):
        with self.assertRaises(openai.BadRequestError):
            self.chat(temperature=-1, stream=True)

    # Clients that go away

    def test_a_timeout_frees_the_slot(self):
        with self.assertRaises(openai.APITimeoutError):
            self.chat(STORY, max_tokens=1900, timeout=0.3)
        until_idle()

    def test_a_closed_stream_frees_the_slot(self):
        stream = self.chat(STORY, max_tokens=1900, stream=True)
        for _ in range(5):
            next(stream)
        stream.close()
        until_idle()

    def test_64_at_once(self):
        async def ask(client, number):
            options = {"model": self.model, "messages": CAPITAL if number % 2 else STORY, "temperature": 0 if number % 2 else 1, "seed": number % 8, "max_tokens": 16}
            if number % 3:
                answer = await client.chat.completions.create(**options)
                return answer.choices[0].message.content
            return "".join([chunk.choices[0].delta.content or "" async for chunk in await client.chat.completions.create(**options, stream=True)])

        async def ask_all():
            async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.address}/v1", max_retries=0) as client:
                return await asyncio.gather(*(ask(client, number) for number in range(64)))

        answers = asyncio.run(ask_all())
        self.assertEqual(set(answers[1::2]), {PARIS})
        for seed in 0, 2, 4, 6:
            self.assertEqual(len(set(answers[seed::8])), 1, answers[seed::8])

    def test_half_of_64_are_cancelled(self):
        async def ask(client, number):
            task = asyncio.create_task(client.chat.completions.create(model=self.model, messages=CAPITAL if number % 2 else STORY, temperature=0,
                                                                      max_tokens=16 if number % 2 else 1900))
            if number % 2:
                return (await task).choices[0].message.content
            await asyncio.sleep(0)
            kept = [other for other in asyncio.all_tasks() if other is not task]
            self.assertTrue(kept)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        async def ask_all():
            async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{server.address}/v1", max_retries=0) as client:
                return await asyncio.gather(*(ask(client, number) for number in range(64)))

        self.assertEqual(set(asyncio.run(ask_all())), {PARIS, None})
        until_idle()

    # The newer interface

    def test_responses(self):
        options = {"model": self.model, "input": CAPITAL, "temperature": 0, "max_output_tokens": 24}
        answer = self.client.responses.create(**options)
        self.assertEqual((answer.output_text, answer.status), (PARIS, "completed"))
        events = list(self.client.responses.create(**options, stream=True))
        self.assertEqual("".join(event.delta for event in events if event.type == "response.output_text.delta"), PARIS)
        self.assertEqual((events[0].type, events[-1].type), ("response.created", "response.completed"))
        self.assertEqual(events[-1].response.output_text, PARIS)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile("w", prefix="keys-") as keys:
        keys.write(f"{KEY}\n")
        keys.flush()
        with CogenServer(sys.argv[1], sys.argv[2], "--max-length", "2048", "--api-key-file", keys.name) as server:
            result = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False).result
    sys.exit(not result.wasSuccessful())
