#!/usr/bin/env python3
"""usage: check_server.py PROGRAM MODEL: asks the HTTP server as clients do, some of which break off or send garbage."""
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
STORY = [{"role": "user", "content": "Tell me a very long story."}]


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def events(self):
        """The data of the events; the last one says that it is done."""
        lines = [line[6:] for line in self.text.split("\n") if line.startswith("data: ")]
        assert lines[-1] == "[DONE]", lines
        return [json.loads(line) for line in lines[:-1]]


class Server:
    """The program with the default model, ready; killed at the end where it has not gone by itself."""

    def __init__(self, *flags):
        self.flags = flags

    def __enter__(self):
        command = [sys.argv[1], "--model", sys.argv[2], "--port", "0", *self.flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        assert first.startswith("loading; listening on http"), first
        self.port = int(first.rsplit(":", 1)[1])
        assert self.process.stdout.readline().startswith("ready on http")
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        data = None if body is None else body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, data, headers or {})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def ask(self, path, **body):
        answer = self.post(path, body)
        assert answer.status == 200, answer.text
        return answer.json

    def chat(self, messages=None, **body):
        body = {"messages": messages or CAPITAL, "max_tokens": 16, "temperature": 0} | body
        return self.post("/v1/chat/completions", body)

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.settimeout(300)
        return client

    def send(self, path, body, headers=""):
        """A request of which nothing is read yet."""
        client = self.connect()
        client.sendall(post(path, body, headers))
        return client

    def terminate(self):
        self.process.terminate()
        assert self.process.stdout.readline() == "draining\n"

    def exit_code(self):
        return self.process.wait(timeout=300)


def post(path, body, headers=""):
    data = json.dumps(body)
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(data)}\r\n\r\n{data}".encode()


def read_to_end(client):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while more := client.recv(65536):
            received += more
    return received.decode()


def read_until(client, text):
    received = ""
    while text not in received:
        more = client.recv(65536).decode()
        assert more, received
        received += more
    return received


def check_chat(server):
    answer = server.chat().json
    assert answer["object"] == "chat.completion" and len(answer["choices"]) == 1, answer
    message = answer["choices"][0]["message"]
    assert message["role"] == "assistant" and "Paris" in message["content"], answer
    assert answer["choices"][0]["finish_reason"] == "stop", answer
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], usage
    again = server.chat().json
    assert again["choices"][0]["message"] == message and again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    cut = server.chat(STORY, max_completion_tokens=4, max_tokens=None).json
    assert cut["choices"][0]["finish_reason"] == "length" and cut["usage"]["completion_tokens"] == 4, cut
    parts = [{"role": "user", "content": [{"type": "text", "text": CAPITAL[0]["content"]}]}]
    assert server.chat(parts).json["choices"][0]["message"] == message


def check_stream(server):
    whole = server.chat().json
    answer = server.chat(stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.headers
    chunks = answer.events
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert all(len(chunk["choices"]) == 1 for chunk in chunks), "nobody asked for usage"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}, chunks[0]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"], text
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:]] == [None, "stop"]
    counted = server.chat(stream=True, stream_options={"include_usage": True}).events
    assert counted[-1]["choices"] == [] and counted[-1]["usage"]["completion_tokens"] > 0, counted[-1]
    assert all(chunk["usage"] is None for chunk in counted[:-1])


def check_choices(server):
    several = server.chat(STORY, n=3, temperature=1, seed=7, max_tokens=12).json
    assert [choice["index"] for choice in several["choices"]] == [0, 1, 2]
    texts = [choice["message"]["content"] for choice in several["choices"]]
    assert len(set(texts)) > 1, texts
    streamed = ["", "", ""]
    for chunk in server.chat(STORY, n=3, temperature=1, seed=7, max_tokens=12, stream=True).events:
        choice = chunk["choices"][0]
        streamed[choice["index"]] += choice["delta"].get("content") or ""
    assert streamed == texts, (streamed, texts)


def check_logprobs(server):
    choice = server.chat(logprobs=True, top_logprobs=2).json["choices"][0]
    content = choice["logprobs"]["content"]
    assert "".join(each["token"] for each in content if each["token"] != "<|im_end|>") == choice["message"]["content"]
    assert all(each["logprob"] <= 0 and len(each["top_logprobs"]) >= 2 for each in content)
    assert all(bytes(each["bytes"]).decode() == each["token"] for each in content)
    lone = server.ask("/v1/completions", prompt="The sea is", max_tokens=1, echo=True, logprobs=1)["choices"][0]
    parts = lone["logprobs"]
    assert parts["token_logprobs"][0] is None and parts["top_logprobs"][0] is None, parts
    assert all(value < 0 for value in parts["token_logprobs"][1:])
    assert "".join(parts["tokens"]) == lone["text"] and lone["text"].startswith("The sea is"), lone
    assert parts["text_offset"] == [len("".join(parts["tokens"][:i])) for i in range(len(parts["tokens"]))]


def check_completions(server):
    one = server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=0)
    assert one["object"] == "text_completion" and one["choices"][0]["finish_reason"] == "length", one
    both = server.ask("/v1/completions", prompt=["The sea is", "Cats are"], max_tokens=8, temperature=0, n=2)
    texts = [choice["text"] for choice in both["choices"]]
    assert [choice["index"] for choice in both["choices"]] == [0, 1, 2, 3]
    assert texts[0] == texts[1] == one["choices"][0]["text"] and texts[2] == texts[3] != texts[0], texts
    best = server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=1, best_of=4, seed=3)
    assert len(best["choices"]) == 1 and best["usage"]["completion_tokens"] == 32, best
    streamed = server.post("/v1/completions", {"prompt": "The sea is", "max_tokens": 8, "temperature": 0, "stream": True})
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed.events) == texts[0]


def check_stops(server):
    whole = server.ask("/v1/completions", prompt="1 2 3 4 5", max_tokens=16, temperature=0)["choices"][0]["text"]
    stop = whole[6:9]
    cut = server.ask("/v1/completions", prompt="1 2 3 4 5", max_tokens=16, temperature=0, stop=[stop])["choices"][0]
    assert cut["text"] == whole[: whole.index(stop)] and cut["finish_reason"] == "stop", (whole, cut)
    assert server.ask("/v1/completions", prompt="x", max_tokens=40, ignore_eos=True)["usage"]["completion_tokens"] == 40
    free = {"prompt": "The sea is", "max_tokens": 12, "temperature": 1}
    seeded = [server.ask("/v1/completions", seed=5, **free)["choices"][0]["text"] for _ in range(2)]
    assert seeded[0] == seeded[1]


def check_errors(server):
    def refused(path, body, status, *words):
        answer = server.post(path, body)
        assert answer.status == status, (body, answer.status, answer.text)
        message = answer.json["error"]["message"]
        assert all(word in message for word in words), (words, message)
        return answer.json["error"]

    chat = "/v1/chat/completions"
    refused(chat, "{", 400, "JSON")
    refused(chat, "[]", 400, "object")
    refused(chat, "[" * 100000, 400, "64")
    refused(chat, {}, 400, "messages")
    refused(chat, {"messages": "not-an-array"}, 400, "messages", "array")
    refused(chat, {"messages": []}, 400, "messages")
    refused(chat, {"messages": [{"role": "user", "content": 123}]}, 400, "messages[0].content", "123")
    refused(chat, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages[0].content[0].type")
    for name, value in {"temperature": -1, "top_p": 2, "min_p": -1, "presence_penalty": 1e30, "seed": "x", "n": 10**9,
                        "max_tokens": 0, "logit_bias": {"999999": 1}, "stop": [1], "stream": 1, "top_k": 0.5,
                        "response_format": {"type": "poem"}, "tools": "none", "tool_choice": 7,
                        "stop_token_ids": [10**6]}.items():
        refused(chat, {"messages": CAPITAL, name: value}, 400, name.replace("stop_token_ids", "stop"))
    assert refused(chat, '{"messages": [{"role": "user", "content": "x"}], "top_p": 1e400}', 400)
    long = refused("/v1/completions", {"prompt": [1] * 100000}, 400, "100000")
    assert long["code"] == "context_length_exceeded", long
    refused("/v1/completions", {"prompt": [10**6]}, 400, "vocabulary")
    refused("/v1/completions", {"prompt": []}, 400, "prompt")
    refused("/v1/completions", {"prompt": ["x"] * 1025}, 400, "1025", "1024")
    refused("/v1/nothing", {}, 404, "/v1/nothing")
    refused("/v1/%ff%00%c3%a4", {}, 404, "/v1/")
    refused("/health", {}, 405, "GET")
    assert server.get("/v1/models/none").status == 404
    late = server.post(chat, {"messages": STORY}, headers={"x-finish-within-ms": "soon"})
    assert late.status == 400 and "x-finish-within-ms" in late.text


def check_models(server):
    assert server.get("/health").json == {"status": "ok"}
    models = server.get("/v1/models").json["data"]
    assert len(models) == 1 and models[0]["object"] == "model" and models[0]["max_model_len"] > 0, models
    assert server.get("/v1/models/" + models[0]["id"]).json == models[0]
    assert "version" in server.get("/version").json
    page = server.get("/")
    assert page.headers["content-type"].startswith("text/html") and "<!doctype html>" in page.text.lower()[:100]
    answer = server.get("/health", headers={"x-request-id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    assert "access-control-allow-origin" not in answer.headers


def check_connections(server):
    client = server.connect()
    client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 2 + post("/v1/chat/completions", {
        "messages": CAPITAL, "max_tokens": 4, "temperature": 0}) + b"GET /version HTTP/1.1\r\nConnection: close\r\n\r\n")
    answers = read_to_end(client)
    assert answers.count("HTTP/1.1 200 OK") == 4 and answers.index("chat.completion") < answers.index("version"), answers
    client = server.connect()  # byte by byte, the body in chunks
    for byte in (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                 b"a\r\n{\"prompt\":\r\n16\r\n\"Hi\", \"max_tokens\": 1}\r\n0\r\n\r\n"):
        client.sendall(bytes([byte]))
    assert "text_completion" in read_to_end(client)
    client = server.connect()
    client.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 27\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    assert read_until(client, "\r\n\r\n").startswith("HTTP/1.1 100 Continue")
    client.sendall(b"{\"prompt\":\"x\",\"max_tokens\":1")
    assert "HTTP/1.1 400" in read_to_end(client)
    for garbage, status in {b"\x16\x03\x01garbage\r\n\r\n": 400, b"GET /" + b"x" * 100000: 431, b"GET / HTTP/3.0\r\n\r\n": 505,
                            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
                            b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n": 413,
                            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n": 400,
                            b"GET nowhere HTTP/1.1\r\n\r\n": 400}.items():
        client = server.connect()
        client.sendall(garbage)
        answer = read_to_end(client)
        assert answer.startswith(f"HTTP/1.1 {status} "), (garbage[:60], answer[:200])
    client = server.connect()
    client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    assert read_to_end(client).endswith('{"status":"ok"}')


def check_leaving(server):
    """Clients that go away leave; those that stay get what they would have got alone."""
    alone = server.chat().text.split('"choices"')[1].split('"usage"')[0]
    body = {"messages": STORY, "max_tokens": 4000, "ignore_eos": True, "stream": True}
    leaving = [server.send("/v1/chat/completions", body | {"stream": i % 2 == 0}) for i in range(40)]
    reading = {"messages": [{"role": "user", "content": "word " * 6000}], "max_tokens": 100}
    leaving += [server.send("/v1/chat/completions", reading) for _ in range(4)]
    for client in leaving[::3]:
        client.close()
    staying = []
    threads = [threading.Thread(target=lambda: staying.append(server.chat())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for client in leaving:
        client.close()
    for thread in threads:
        thread.join()
    assert all(answer.text.split('"choices"')[1].split('"usage"')[0] == alone for answer in staying)


def check_formats(server):
    schema = {"type": "object", "properties": {"capital": {"enum": ["Paris", "Rome"]}}, "required": ["capital"],
              "additionalProperties": False}
    named = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    for body in ({"response_format": named}, {"guided_json": schema}, {"structured_outputs": {"json": schema}},
                 {"response_format": {"type": "json_object", "schema": schema}}, {"json_schema": schema}):
        text = server.chat(**body, max_tokens=40).json["choices"][0]["message"]["content"]
        assert json.loads(text)["capital"] in ("Paris", "Rome"), text
    assert server.chat(guided_regex="[0-9]{3}").json["choices"][0]["message"]["content"].isdigit()
    assert server.chat(guided_choice=["yes", "no"]).json["choices"][0]["message"]["content"] in ("yes", "no")
    assert server.chat(grammar='root ::= "a" "b"').json["choices"][0]["message"]["content"] == "ab"
    both = server.chat(guided_regex="a", grammar='root ::= "a"')
    assert both.status == 400 and "one format" in both.text
    assert server.chat(response_format={"type": "json_schema", "json_schema": {"schema": {"type": "poem"}}}).status == 400


TOOL = {"type": "function", "function": {"name": "temperature", "description": "The temperature in a town now.", "parameters": {
    "type": "object", "properties": {"town": {"enum": ["Oslo", "Bergen"]}}, "required": ["town"]}}}


def check_tools(server):
    question = [{"role": "user", "content": "How warm is it in Oslo?"}]
    wanted = {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "temperature"}}, "max_tokens": 100}
    choice = server.chat(question, **wanted).json["choices"][0]
    call = choice["message"]["tool_calls"][0]
    assert choice["finish_reason"] == "tool_calls" and call["type"] == "function" and call["id"], choice
    assert call["function"]["name"] == "temperature" and json.loads(call["function"]["arguments"])["town"]
    name, arguments, ids = "", "", set()
    for chunk in server.chat(question, **wanted, stream=True).events:
        for part in chunk["choices"][0]["delta"].get("tool_calls", []):
            assert part["index"] == 0
            ids |= {part["id"]} if "id" in part else set()
            name += part["function"].get("name", "")
            arguments += part["function"]["arguments"]
    assert (name, arguments, len(ids)) == ("temperature", call["function"]["arguments"], 1)
    told = question + [{"role": "assistant", "content": None, "tool_calls": [call]},
                       {"role": "tool", "tool_call_id": call["id"], "content": "21 degrees"}]
    assert server.chat(told, tools=[TOOL]).status == 200
    assert server.chat(question, tools=[{"type": "function"}]).status == 400


def check_tokens(server):
    text = "Hello <|im_end|> w\u00f6rld \U0001f600"
    tokens = server.ask("/tokenize", content=text)["tokens"]
    assert server.ask("/detokenize", tokens=tokens)["content"] == text
    assert len(server.ask("/tokenize", content=text, parse_special=False)["tokens"]) > len(tokens)
    pieces = server.ask("/tokenize", content=text, with_pieces=True)["tokens"]
    assert [piece["id"] for piece in pieces] == tokens
    spelled = b"".join(piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"]) for piece in pieces)
    assert spelled.decode() == text
    assert server.ask("/tokenize", prompt=text)["count"] == len(tokens)
    prompt = server.ask("/apply-template", messages=CAPITAL)["prompt"]
    assert CAPITAL[0]["content"] in prompt and prompt.endswith("assistant\n"), prompt
    templated = server.ask("/tokenize", messages=CAPITAL)["tokens"]
    assert templated == server.ask("/tokenize", content=prompt)["tokens"]
    assert server.chat().json["usage"]["prompt_tokens"] == len(templated)
    assert server.post("/detokenize", {"tokens": [10**6]}).status == 400
    info = server.get("/tokenizer_info").json
    assert info["eos_token"] == "<|im_end|>" and info["chat_template"]


def check_llama(server):
    asked = {"prompt": "The sea is", "n_predict": 8, "temperature": 0}
    answer = server.ask("/completion", **asked, return_tokens=True, n_probs=2)
    assert answer["stop"] and answer["stop_type"] == "limit" and answer["tokens_predicted"] == 8, answer
    assert answer["content"] == server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=0)["choices"][0]["text"]
    assert server.ask("/detokenize", tokens=answer["tokens"])["content"] == answer["content"]
    assert len(answer["completion_probabilities"]) == 8 and answer["timings"]["predicted_n"] == 8
    assert answer["generation_settings"]["n_predict"] == 8 and answer["prompt"] == "The sea is"
    several = server.ask("/completion", **asked | {"prompt": ["The sea is", [1, 2, 3], ["Cats", 5]]})
    assert [one["index"] for one in several] == [0, 1, 2] and several[0]["content"] == answer["content"]
    streamed = server.post("/completion", asked | {"stream": True}).text
    parts = [json.loads(line[6:]) for line in streamed.split("\n") if line.startswith("data: ")]
    assert "".join(part["content"] for part in parts) == answer["content"]
    assert [part["stop"] for part in parts] == [False] * (len(parts) - 1) + [True]
    refused = server.post("/completion", asked | {"n_predict": "many"})
    assert refused.status == 400 and refused.json["error"]["code"] == 400, refused.text
    words = server.ask("/completion", prompt="1 2 3 4 5", n_predict=16, temperature=0, stop=[" 8"])
    assert words["stop_type"] == "word" and words["stopping_word"] == " 8", words


def check_messages(server):
    asked = {"messages": CAPITAL, "max_tokens": 16, "temperature": 0, "system": "Be brief."}
    answer = server.ask("/v1/messages", **asked)
    assert answer["type"] == "message" and answer["role"] == "assistant" and answer["stop_reason"] == "end_turn", answer
    text = answer["content"][0]["text"]
    assert "Paris" in text and answer["usage"]["output_tokens"] > 0
    counted = server.ask("/v1/messages/count_tokens", messages=CAPITAL, system="Be brief.")["input_tokens"]
    used = answer["usage"]
    assert used["input_tokens"] + used["cache_read_input_tokens"] == counted, (used, counted)
    events = [json.loads(line[6:]) for line in server.post("/v1/messages", asked | {"stream": True}).text.split("\n")
              if line.startswith("data: ")]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"], kinds
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds
    assert "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta") == text
    tool = {"name": "temperature", "input_schema": TOOL["function"]["parameters"]}
    called = server.ask("/v1/messages", messages=[{"role": "user", "content": "How warm is it in Oslo?"}], max_tokens=100,
                        tools=[tool], tool_choice={"type": "tool", "name": "temperature"}, temperature=0)
    use = called["content"][0]
    assert called["stop_reason"] == "tool_use" and use["type"] == "tool_use" and use["input"]["town"], called
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "21 degrees"}]}
    told = [{"role": "user", "content": "How warm is it in Oslo?"}, {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]}]
    assert server.ask("/v1/messages", messages=told, tools=[tool], max_tokens=8)["stop_reason"]
    refused = server.post("/v1/messages", {"messages": CAPITAL})
    assert refused.status == 400 and refused.json["type"] == "error" and "max_tokens" in refused.json["error"]["message"]


def check_responses(server):
    asked = {"input": CAPITAL[0]["content"], "max_output_tokens": 16, "temperature": 0}
    answer = server.ask("/v1/responses", **asked)
    assert answer["object"] == "response" and answer["status"] == "completed", answer
    text = answer["output"][0]["content"][0]["text"]
    assert answer["output"][0]["type"] == "message" and "Paris" in text, answer
    assert server.ask("/v1/responses", **asked | {"input": [{"role": "user", "content": [
        {"type": "input_text", "text": CAPITAL[0]["content"]}]}]})["output"][0]["content"][0]["text"] == text
    events = [json.loads(line[6:]) for line in server.post("/v1/responses", asked | {"stream": True}).text.split("\n")
              if line.startswith("data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created" and events[-1]["type"] == "response.completed"
    assert "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta") == text
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text
    cut = server.ask("/v1/responses", input="Tell me a long story.", max_output_tokens=4)
    assert cut["status"] == "incomplete" and cut["incomplete_details"] == {"reason": "max_output_tokens"}, cut
    tool = {"type": "function"} | TOOL["function"]
    called = server.ask("/v1/responses", input="How warm is it in Oslo?", tools=[tool], tool_choice={"type": "function", "name": "temperature"},
                        max_output_tokens=100, temperature=0)["output"]
    call = called[0]
    assert call["type"] == "function_call" and json.loads(call["arguments"])["town"], called
    told = [{"role": "user", "content": "How warm is it in Oslo?"}, call,
            {"type": "function_call_output", "call_id": call["call_id"], "output": "21 degrees"}]
    assert server.ask("/v1/responses", input=told, tools=[tool], max_output_tokens=8)["output"]
    shaped = server.ask("/v1/responses", **asked | {"text": {"format": {
        "type": "json_schema", "name": "x", "schema": {"enum": ["Paris", "Rome"]}}}})
    assert json.loads(shaped["output"][0]["content"][0]["text"]) in ("Paris", "Rome")
    assert server.post("/v1/responses", asked | {"previous_response_id": "resp_1"}).status == 400


def check_state(server):
    def metric(name):
        lines = server.get("/metrics").text.split("\n")
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((name + "{", name + " ")))

    before = metric("cogen:generation_tokens_total")
    story = server.send("/v1/chat/completions", {"messages": STORY, "max_tokens": 4000, "ignore_eos": True, "stream": True})
    read_until(story, '"content":"')
    assert metric("cogen:requests_running") == 1 and metric("cogen:generation_tokens_total") > before
    busy = [slot for slot in server.get("/slots").json if slot["is_processing"]]
    assert len(busy) == 1 and busy[0]["state"] == "decode" and busy[0]["n_tokens"] > 0, busy
    assert busy[0]["request_id"].startswith("chatcmpl-")
    story.close()
    while metric("cogen:requests_running") > 0:
        pass
    assert not any(slot["is_processing"] for slot in server.get("/slots").json)
    assert metric("cogen:finished_total") > 0 and metric("cogen:time_to_first_token_seconds_count") > 0
    props = server.get("/props").json
    assert props["total_slots"] == 8 and props["default_generation_settings"]["params"]["temperature"] == 1, props
    assert server.post("/v1/embeddings", {"input": "x"}).status == 501


def check_limits():
    with Server("--slots", "1", "--queue", "1", "--metrics-names", "vllm", "--max-length", "512") as server:
        body = {"prompt": "Once", "max_tokens": 400, "ignore_eos": True, "stream": True}
        running = server.send("/v1/completions", body)
        read_until(running, "data: ")
        waiting = server.send("/v1/completions", body)
        while 'vllm:num_requests_waiting{model_name="SmolLM2-135M-Instruct.Q4_1"} 1' not in server.get("/metrics").text:
            pass
        full = server.post("/v1/completions", {"prompt": "x"})
        assert full.status == 429 and int(full.headers["retry-after"]) > 0 and "queue" in full.text, full.text
        late = server.post("/v1/completions", {"prompt": "x"}, headers={"x-start-within-ms": "1"})
        assert late.status in (429, 503, 504), late.text
        running.close()
        assert "[DONE]" in read_until(waiting, "[DONE]")
        assert "vllm:e2e_request_latency_seconds_bucket" in server.get("/metrics").text


def check_pings():
    with Server("--slots", "1", "--ping-interval", "0.02") as server:
        first = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True})
        read_until(first, "data: ")
        second = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4, "stream": True})
        assert ": ping" in read_until(second, ": ping")
        first.close()
        read_until(second, "[DONE]")


def check_several_models():
    with Server("--model", "other=" + sys.argv[2], "--log-requests") as server:
        names = [model["id"] for model in server.get("/v1/models").json["data"]]
        assert len(names) == 2 and names[1] == "other", names
        texts = [server.chat(model=name).json["choices"][0]["message"]["content"] for name in names]
        assert texts[0] == texts[1]
        assert server.chat(model="none").status == 404


def check_slot_files():
    with tempfile.TemporaryDirectory() as folder:
        words = " ".join(f"word{i}" for i in range(60))
        asked = {"prompt": words, "n_predict": 4, "temperature": 0, "id_slot": 1}
        with Server("--slot-save-path", folder) as server:
            answer = server.ask("/completion", **asked)
            assert server.post("/slots/9?action=save", {"filename": "a"}).status == 400
            assert server.post("/slots/1?action=save", {"filename": "../a"}).status == 400
            saved = server.ask("/slots/1?action=save", filename="one")
            assert saved["n_saved"] == answer["tokens_evaluated"] + 4 and saved["n_written"] > 0, saved
        with Server("--slot-save-path", folder) as server:
            restored = server.ask("/slots/0?action=restore", filename="one")
            assert restored["n_restored"] == saved["n_saved"], restored
            again = server.ask("/completion", **asked)
            assert again["content"] == answer["content"] and again["timings"]["cache_n"] > 100, again["timings"]
            assert server.ask("/slots/0?action=erase")["n_erased"] == saved["n_saved"]
            assert server.post("/slots/1?action=restore", {"filename": "none"}).status == 400


def check_tls():
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = folder + "/cert.pem", folder + "/key.pem"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], capture_output=True)
        assert made.returncode == 0, made
        with Server("--tls-cert", certificate, "--tls-key", key) as server:
            trust = ssl.create_default_context(cafile=certificate)
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=300, context=trust)
            for _ in range(2):
                connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 4, "stream": True}))
                assert Answer(connection.getresponse()).events
            story = trust.wrap_socket(server.connect(), server_hostname="127.0.0.1")
            story.sendall(post("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True}))
            read_until(story, "data: ")
            story.close()
            connection.close()
            with contextlib.closing(server.connect()) as plain:
                plain.sendall(b"GET /health HTTP/1.1\r\n\r\n")
                assert "200" not in read_to_end(plain)
            server.terminate()
            assert server.exit_code() == 0


def check_signals():
    with Server() as server:
        idle = server.connect()
        story = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 100, "ignore_eos": True, "stream": True})
        begun = read_until(story, "data: ")
        server.terminate()
        assert read_to_end(idle) == ""
        assert (begun + read_to_end(story)).rstrip().endswith("[DONE]\n\n\r\n0")
        assert server.exit_code() == 0
    with Server() as server:
        story = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 5000, "ignore_eos": True, "stream": True})
        read_until(story, "data: ")
        server.terminate()
        server.process.terminate()
        assert server.exit_code() == 0


def check_keys():
    with tempfile.NamedTemporaryFile("w") as keys:
        keys.write("first\nsecond\n")
        keys.flush()
        with Server("--api-key-file", keys.name, "--cors", "https://page.example", "--max-body-bytes", "1000") as server:
            assert server.get("/health").status == 200 and server.get("/v1/models").status == 200
            body = {"prompt": "x", "max_tokens": 1}
            assert server.post("/v1/completions", body).status == 401
            assert server.post("/v1/completions", body, headers={"Authorization": "Bearer third"}).status == 401
            assert server.post("/v1/completions", body, headers={"Authorization": "Bearer second"}).status == 200
            assert server.post("/v1/completions", body, headers={"x-api-key": "first"}).status == 200
            asked = server.request("OPTIONS", "/v1/completions")
            assert asked.status == 204 and asked.headers["access-control-allow-origin"] == "https://page.example"
            assert server.post("/v1/completions", "x" * 1001, headers={"x-api-key": "first"}).status == 413


def check_command_line():
    def run(*flags):
        return subprocess.run([sys.argv[1], *flags], capture_output=True, text=True, timeout=300)

    assert run("--help").returncode == 0 and "--model" in run("--help").stdout
    for flags, word in [([], "--model"), (["--port", "x"], "port"), (["--model", sys.argv[2], "--port", "70000"], "70000"),
                        (["--model", sys.argv[2], "--compute-type", "int3"], "int3"), (["--nothing"], "nothing")]:
        ended = run(*flags)
        assert ended.returncode == 2 and word in ended.stderr and ended.stderr.count("\n") == 1, (flags, ended)
    missing = run("--model", "/nowhere.gguf", "--port", "0")
    assert missing.returncode == 1 and "/nowhere.gguf" in missing.stderr, missing


with Server("--slots", "8") as shared:
    for check in (check_models, check_chat, check_stream, check_choices, check_logprobs, check_completions, check_stops,
                  check_errors, check_connections, check_formats, check_tools, check_tokens, check_llama,
                  check_messages, check_responses, check_state, check_leaving):
        check(shared)
        print(check.__name__, "passed", flush=True)
for check in (check_limits, check_pings, check_several_models, check_slot_files, check_tls, check_signals, check_keys, check_command_line):
    check()
    print(check.__name__, "passed", flush=True)
