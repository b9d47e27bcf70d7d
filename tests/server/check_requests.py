#!/usr/bin/env python3
"""usage: check_requests.py PROGRAM [SEED]: sends each field of each route values of wrong types, extreme ones, none, unknown
members, and fields at random beside each other, as a whole and as a stream, to models that generate, embed and score and to
such without a tokenizer or a chat template. Whatever it is, the answer is JSON with 200, 400, 404 or 501, and a refusal names
the field in words of the server's own."""
import collections
import http.client
import json
import pathlib
import queue
import random
import re
import sys
import tempfile
import threading

import tiny_model
from cogen_server import CogenServer

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "golden"
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
CLIENTS = 8
INNER = re.compile(r"boost|std::|xgrammar|torch|c10|\.[ch]pp|basic_string|vector::|map::|_M_|bad_alloc|stoi|exception|nullptr|pcre|cogen:\d", re.I)


class Raw(str):
    """What is not a value of Python's, as it stands in JSON."""


def text_of(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(key) + ":" + text_of(member) for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


VALUES = [None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e308, Raw("1e400"), Raw("5e-324"), 2**31, 2**53, 2**63, 2**64, -2**63, 10**30, 129, "", "x",
          "auto", "none", "0", "\0", Raw('"\\ud800"'), "\U0001F600é", "x" * 3000, "{{ 7*7 }}", "<|im_end|>", "[", [], [None], [[]], [{}], [1], [-1],
          ["x"], [""], ["x", 1], [[1], "x"], [2**40], [0.5], ["s"] * 200, {}, {"x": 1}, {"type": "x"}, {"type": None}, {"type": "function"},
          {"type": "json_schema"}, {"type": "object"}, {"": 1}, Raw("[" * 40 + "]" * 40), Raw('{"a":' * 40 + "1" + "}" * 40)]
BODIES = ["", " ", "{", "[]", "null", '"x"', "{}", '{"model": 5}', '{"model": "nope"}', "\ufeff{}", '{"a":NaN}', "[" * 100 + "]" * 100,
          b"\xff\xfe", b'{"prompt":"\xff"}', '{"prompt":"a","prompt":5}']
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"enum": ["x", "y"]}}, "required": ["a"]}
FUNCTION = {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}
TOOLS = [{"type": "function", "function": FUNCTION}]
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
SAID = {"role": "user", "content": "Hi"}
CHAT = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "u"}], "name": "n"},
                     {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "r"},
                     {"role": "tool", "tool_call_id": "call_1", "content": "5"}, SAID],
        "tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True, "logprobs": True, "top_logprobs": 2, "add_generation_prompt": True,
        "continue_final_message": False, "chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "low", "functions": [],
        "function_call": "auto", "modalities": ["text"], "documents": [], "echo": False}
GENERATION = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1, "presence_penalty": 0.1, "frequency_penalty": 0.1,
              "min_tokens": 1, "logit_bias": {"5": 1}, "seed": 3, "stop": ["zz"], "stop_token_ids": [7], "ignore_eos": True, "t_max_predict_ms": 60000,
              "priority": 1, "cache_prompt": True, "cache_salt": "s", "speculative.n_max": 0, "n": 2, "stream": False, "repeat_last_n": -1,
              "stream_options": {"include_usage": True, "continuous_usage_stats": True}, "timings_per_token": False, "return_progress": False,
              "samplers": None, "lora": [], "bad_words": ["zz"], "allowed_token_ids": [], "truncate_prompt_tokens": 400, "use_beam_search": False, "verbose": False, "reasoning_budget": None}
FORMATS = {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}, "json_schema": None, "grammar": None,
           "regex": None, "ebnf": None, "structured_outputs": None, "guided_json": None, "guided_regex": None, "guided_choice": None, "output_format": None}
ITEMS = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]}, {"type": "reasoning", "summary": []},
         {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 2}'},
         {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "o"}]}, {"role": "developer", "content": "d"}]
RESPONSE = {"input": ITEMS, "instructions": "i", "tools": [{"type": "function"} | FUNCTION], "tool_choice": "auto", "parallel_tool_calls": True,
            "text": {"format": {"type": "text"}, "verbosity": "medium"}, "reasoning": {"effort": "low"}, "truncation": "disabled", "include": [],
            "background": False, "top_logprobs": 0, "previous_response_id": None, "conversation": None, "context_management": []}
BLOCKS = [{"role": "user", "content": [{"type": "text", "text": "u", "cache_control": {"type": "ephemeral"}}]},
          {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "o"}]}, {"type": "text", "text": "go"}]}]
MESSAGE = {"messages": BLOCKS, "system": [{"type": "text", "text": "s"}], "stop_sequences": ["zz"], "tools": [{"name": "f", "input_schema": SCHEMA, "type": "custom"}],
           "tool_choice": {"type": "auto", "disable_parallel_tool_use": False}, "thinking": {"type": "enabled", "budget_tokens": 100},
           "output_config": {"effort": "low", "format": None}, "container": None, "mcp_servers": [], "context_management": {}}
FEW = {"max_tokens": 3}
# What each route needs, and all that it may have. The model is the first of its kind below.
ROUTES = {
    "/v1/chat/completions": ({"messages": [SAID]} | FEW, GENERATION | FORMATS | CHAT | FEW | {"prompt_logprobs": 1}),
    "/v1/completions": ({"prompt": "Hi"} | FEW, GENERATION | FORMATS | FEW | {"prompt": "Hi", "echo": False, "logprobs": 2, "best_of": 2, "suffix": None, "prompt_logprobs": 1}),
    "/v1/responses": ({"input": "Hi", "max_output_tokens": 3}, GENERATION | FORMATS | RESPONSE | {"max_output_tokens": 3}),
    "/v1/messages": ({"messages": [SAID]} | FEW, GENERATION | FORMATS | MESSAGE | FEW),
    "/completion": ({"prompt": "Hi", "n_predict": 3}, GENERATION | FORMATS | {"prompt": ["Hi"], "n_predict": 3, "n_probs": 2, "post_sampling_probs": False, "id_slot": 1, "return_tokens": True}),
    "/infill": ({"input_prefix": "a", "input_suffix": "b", "n_predict": 3}, GENERATION | {"input_prefix": "a", "input_suffix": "b", "input_extra": [{"filename": "f", "text": "t"}], "prompt": "p"}),
    "/v1/messages/count_tokens": ({"messages": [SAID]}, MESSAGE), "/v1/chat/completions/input_tokens": ({"messages": [SAID]}, CHAT),
    "/v1/responses/input_tokens": ({"input": "Hi"}, RESPONSE), "/apply-template": ({"messages": [SAID]}, CHAT),
    "/tokenize": ({"content": "Hi"}, {"content": "Hi", "prompt": None, "add_special": True, "parse_special": True, "with_pieces": True, "return_token_strs": True}),
    "/detokenize": ({"tokens": [1]}, {"tokens": [1, 2]}),
    "/v1/embeddings": ({"input": "a"}, {"input": ["a", [5]], "encoding_format": "base64", "dimensions": None, "normalize": True, "truncate_prompt_tokens": None}),
    "/v1/rerank": ({"query": "a", "documents": ["b"]}, {"query": "a", "documents": ["b", {"text": "c"}], "top_n": 1, "return_documents": True}),
    "/slots/1?action=save": ({}, {"filename": "f"}), "/slots/1?action=restore": ({}, {"filename": "f"}),
}
KINDS = {"/v1/embeddings": "embeds", "/v1/rerank": "scores", "/infill": "fills"}
# Whose refusals may be about what the value says, not about the field.
TEXTS = {"messages", "system", "instructions", "stop_sequences", "prompt", "input", "content", "tools", "tool_choice", "chat_template_kwargs", "documents", "query", *FORMATS}
TOGETHER = {"n": [1, 3], "stream": [True], "logprobs": [True, 0, 5], "top_logprobs": [3], "echo": [True], "best_of": [4], "max_tokens": [0, 1], "temperature": [0],
            "tools": [TOOLS, []], "tool_choice": ["none", "required", {"type": "function", "function": {"name": "g"}}, {"type": "any"}],
            "response_format": [{"type": "json_object"}, {"type": "regex", "pattern": "[a-c]{2}"}, {"type": "grammar", "grammar": 'root ::= "a"'}],
            "guided_regex": ["a+", "(", "[a-z]{1,100000}", "(?=a)b"], "guided_choice": [["a"], ["", "a"]], "json_schema": [False, {"$ref": "#"}],
            "stop": ["a", [""]], "stop_token_ids": [[0], [427]], "ignore_eos": [True], "min_tokens": [100], "prompt_logprobs": [3], "return_progress": [True],
            "logit_bias": [{"0": 100}, {"427": 1}, [[5, False]], {"x": 1}], "timings_per_token": [True], "n_probs": [3], "post_sampling_probs": [True],
            "continue_final_message": [True], "add_generation_prompt": [False], "reasoning_budget": [0], "chat_template_kwargs": [{"messages": 5}],
            "prompt": ["", [], [1, 2], [[1], [2]], ["a", [1]], [[]], "x" * 9000, [426], [427], [-1], ["a"] * 600], "suffix": ["x"], "input": [["a"], [1], [[1], "a"]],
            "messages": [[{"role": "assistant", "content": "x"}], [{"role": "user", "content": "x" * 9000}], [{"role": "tool", "content": "x"}], CHAT["messages"]],
            "model": ["bare", "plain", "embeds", "scores", "other"], "id_slot": [0, 1], "cache_prompt": [False], "t_max_predict_ms": [1]}


def places(value, path=()):
    """The paths of all that is within a value."""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(member, (*path, key))


def altered(value, path, alter):
    if not path:
        return alter(value)
    copy = value.copy()
    copy[path[0]] = altered(value[path[0]], path[1:], alter)
    return copy


def without(key):
    def leave_out(value):
        return {name: member for name, member in value.items() if name != key} if isinstance(value, dict) else [*value[:key], *value[key + 1:]]
    return leave_out


def requests(chance):
    """Paths, bodies, and the field that is altered alone."""
    for path, (needed, all_fields) in ROUTES.items():
        model = {"model": KINDS.get(path, "chats")}
        yield from ((path, body, None) for body in BODIES)
        yield from ((path, all_fields | model | {"stream": stream}, None) for stream in (False, True))
        for field in all_fields:
            yield from ((path, needed | {field: value} | model, field) for value in chance.sample(VALUES, 12))
        for place in places(all_fields):
            if len(place) > 1:
                changes = [without(place[-1])] if chance.random() < 0.5 else []
                whole = needed | {place[0]: all_fields[place[0]]} | model
                yield from ((path, altered(whole, place[:-1], change), None) for change in changes)
                for value in chance.sample(VALUES, 3):
                    yield path, altered(whole, place, lambda _, value=value: value), None
    for _ in range(3000):
        path = chance.choice([each for each in ROUTES if "slots" not in each])
        fields = {name: chance.choice(TOGETHER[name]) for name in chance.sample(sorted(TOGETHER), chance.randint(2, 6))}
        yield path, {"model": KINDS.get(path, "chats")} | ROUTES[path][0] | fields, None


def message_of(answer):
    """An error's message; checks that it is one."""
    error = answer["error"]
    assert isinstance(error["message"], str) and error["message"] and not INNER.search(error["message"]), error
    return error["message"]


def check_stream(text):
    events = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    assert events, text
    for event in (json.loads(each) for each in events if each != "[DONE]"):
        assert not event.get("error") and event.get("type") != "error", event


def check(path, field, status, kind, body):
    text = body.decode()
    assert status in (200, 400, 404, 501), f"{status}: {text}"
    if "event-stream" in kind:
        return check_stream(text)
    answer = json.loads(text, parse_constant=lambda name: sys.exit(name))
    if status == 200:
        return None
    message = message_of(answer)
    named = field is None or field in TEXTS or field in message or "deeper" in message or "valid JSON" in message
    assert named, f"{field} is not named: {message}"
    return None


class Client(threading.Thread):
    """Sends what is in the queue, until there is None."""

    def __init__(self, port, work, failures):
        super().__init__()
        self.port, self.work, self.failures, self.count = port, work, failures, collections.Counter()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        while (job := self.work.get()) is not None:
            path, body, field = job
            try:
                connection.request("POST", path, body if isinstance(body, bytes) else (body if isinstance(body, str) else text_of(body)).encode())
                answer = connection.getresponse()
                received = answer.read()
                self.count[answer.status] += 1
                check(path, field, answer.status, answer.getheader("content-type"), received)
            except Exception as error:  # all of them are told at the end
                self.failures.append(f"{path} {body if isinstance(body, (str, bytes)) else text_of(body)}"[:800] + f"\n    {type(error).__name__}: {error}"[:500])
                connection.close()


def write_models(folder):
    models = {name: folder / name for name in ("chats", "bare", "plain", "fills", "grows")}
    for each in models.values():
        each.mkdir()
    with_gaps = tiny_model.read_tokenizer("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
    tiny_model.write_chain(models["fills"], {}, 420, with_gaps)
    doubles = {"type": "Replace", "pattern": {"String": "ж"}, "content": "жж"}
    tiny_model.write_chain(models["grows"], {}, 420, tiny_model.read_tokenizer() | {"normalizer": {"type": "Sequence", "normalizers": [doubles] * 40}})
    for name in ("chats", "bare", "plain"):
        tiny_model.write_tiny_model(models[name])
    (models["bare"] / "tokenizer.json").unlink()
    (models["plain"] / "chat_template.jinja").unlink()
    return models | {"embeds": GOLDENS / "bert_tiny", "scores": GOLDENS / "bert_scores"}


def check_requests(server):
    work, failures = queue.Queue(100), []
    clients = [Client(server.port, work, failures) for _ in range(CLIENTS)]
    for each in clients:
        each.start()
    for job in requests(random.Random(SEED)):
        work.put(job)
    for _ in clients:
        work.put(None)
    for each in clients:
        each.join()
    print(sum((each.count for each in clients), collections.Counter()))
    assert not failures, "\n".join([f"{len(failures)} failed, the first of them:", *failures[:20]])


HEADERS = {"x-priority": "priority", "x-start-within-ms": "start", "x-finish-within-ms": "finish"}
HEADER_VALUES = ["", "x", "1.5", "-1", "0", "99999999999999999999", "1 2", "1e3", "0x1", "+1", "1,2", "\xe9", "9" * 5000]
PLACES = ["0", "1", "-1", "x", "1.5", "99999999999999999999", "%00", "%ff", "1/2", "..", "a" * 3000, "%31"]
QUERIES = ["model=", "model=other", "model=" + "x" * 3000, "model=%00", "model=%ff", "model=scores", "model=bare", "action=", "action=save&action=erase",
           "action=" + "x" * 3000, "fail_on_no_slot", "fail_on_no_slot=%ff", "&&&", "=", "a[]=1", "model[]=x"]
SESSIONS = [b"", b"x", b"\0" * 100, b"cogen", b"{}", b"\xff" * 70000]


def odd_requests():
    """Methods, paths, bodies and headers, and a word of what is altered."""
    body = json.dumps({"model": "chats", "prompt": "Hi", "max_tokens": 1})
    for name, word in HEADERS.items():
        yield from (("POST", "/v1/completions", body, {name: value}, word) for value in HEADER_VALUES)
    for name in ("x-request-id", "content-type", "accept", "accept-encoding", "authorization", "x-api-key", "range", "if-match", "cookie"):
        yield from (("POST", "/v1/completions", body, {name: value}, None) for value in HEADER_VALUES)
    for query in QUERIES:
        yield from (("GET", f"{path}?{query}", None, {}, None) for path in ("/", "/health", "/models", "/version", "/metrics", "/slots", "/props", "/tokenizer_info"))
        yield "POST", f"/slots/1?{query}", "{}", {}, None
        yield "PUT", f"/slots/1/session?{query}", b"x", {}, None
    for place in PLACES:
        yield from (("GET", f"/{path}{place}{behind}", None, {}, None) for path, behind in (("slots/", "/session"), ("v1/models/", ""), ("", "")))
        yield from (("POST", f"/slots/{place}?action={action}", '{"filename": "f"}', {}, None) for action in ("save", "restore", "erase"))
    yield from (("PUT", "/slots/1/session", session, {}, None) for session in SESSIONS)
    for method in ("HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "x" * 100):
        yield from ((method, path, None, {}, None) for path in ("/v1/completions", "/slots/1", "/slots/1/session", "/health", "/nothing"))


def check_odd_requests(server):
    for method, path, body, headers, word in odd_requests():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        received = answer.read()
        connection.close()
        seen = f"{method} {path[:100]} {headers}: {answer.status} {received[:300]}"
        assert answer.status in (200, 400, 404, 405, 501) and len(answer.getheader("x-request-id")) <= 128, seen
        if answer.status != 200 and method != "HEAD":
            message = message_of(json.loads(received))
            assert len(message) < 500 and (word is None or word in message), seen


def check_bounds(server):
    """What a route would make a multiple of is bounded, whatever fits into a body."""
    for path, body, word in [("/v1/rerank", {"model": "scores", "query": "x" * 20000, "documents": ["y"] * 1000}, "query"),
                             ("/v1/rerank", {"model": "scores", "query": "x", "documents": ["y"] * 2049}, "documents"),
                             ("/v1/embeddings", {"model": "embeds", "input": ["y"] * 2049}, "input"),
                             ("/v1/completions", {"model": "x" * 257, "prompt": "x"}, "model"),
                             ("/v1/completions", {"model": "chats", "prompt": [[1] * 200] * 12, "echo": True, "logprobs": 128, "max_tokens": 0}, "logprobs"),
                             ("/v1/completions", {"model": "chats", "prompt": ["x"] * 200, "logit_bias": [[1, 0.5]] * 2000}, "n")]:
        answer = server.post(path, body)
        assert answer.status == 400 and word in message_of(answer.json), (path, answer.text)
    many = {"model": "chats", "prompt": "x", "max_tokens": 240, "ignore_eos": True, "logprobs": 128, "n": 9}
    whole = server.post("/v1/completions", many)
    assert whole.status == 400 and "more than 262144 log-probabilities" in message_of(whole.json), whole.text[:500]
    assert server.post("/v1/completions", many | {"n": 1}).status == 200 and server.post("/v1/completions", many | {"stream": True}).events
    for path, field in [("/tokenize", "content"), ("/v1/completions", "prompt"), ("/completion", "prompt")]:
        answer = server.post(path, {"model": "grows", field: "ж" * 500, "max_tokens": 1})
        assert answer.status == 400 and "the tokenizer makes more of a text of 1000 bytes" in message_of(answer.json), (path, answer.text)
    vectors = server.ask("/v1/embeddings", model="embeds", input=["y"] * 2048)["data"]
    assert [each["index"] for each in vectors] == list(range(2048)) and all(each["embedding"] == vectors[0]["embedding"] for each in vectors)


tiny_model.CONFIG["max_position_embeddings"] = 256
with tempfile.TemporaryDirectory() as temporary:
    models = write_models(pathlib.Path(temporary))
    flags = [flag for name, folder in models.items() for flag in ("--model", f"{name}={folder}")]
    with CogenServer(sys.argv[1], flags[1], *flags[2:], "--slot-save-path", temporary, "--session-uploads", "--queue", "100000") as program:
        check_requests(program)
        check_odd_requests(program)
        check_bounds(program)
        for name in models:
            assert not any(slot["is_processing"] for slot in program.get(f"/slots?model={name}").json), name
        program.terminate()
        assert program.exit_code() == 0
print("passed")
