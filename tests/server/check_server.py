#!/usr/bin/env python3
"""usage: check_server.py PROGRAM MODEL: asks the HTTP server as clients do, some of which break off or send garbage."""
import contextlib
import http.client
import json
import socket
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
    refused("/v1/nothing", {}, 404, "/v1/nothing")
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
                  check_errors, check_connections, check_leaving):
        check(shared)
        print(check.__name__, "passed", flush=True)
for check in (check_signals, check_keys, check_command_line):
    check()
    print(check.__name__, "passed", flush=True)
