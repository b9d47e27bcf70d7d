#!/usr/bin/env python3
"""usage: check_connections.py PROGRAM MODEL: sends the HTTP server requests that are wrong, cut, half or garbage, and breaks off."""
import contextlib
import http.client
import json
import ssl
import subprocess
import tempfile
import threading

from cogen_server import CAPITAL, Answer, post, read_to_end, read_until
from server_checks import STORY, check_all, served


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


def check_pings():
    with served("--slots", "1", "--ping-interval", "0.02") as server:
        first = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True})
        read_until(first, "data: ")
        second = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4, "stream": True})
        assert ": ping" in read_until(second, ": ping")
        first.close()
        read_until(second, "[DONE]")


def check_tls():
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = folder + "/cert.pem", folder + "/key.pem"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], capture_output=True)
        assert made.returncode == 0, made
        with served("--tls-cert", certificate, "--tls-key", key) as server:
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


def check_draining():
    """While a story that has begun comes to its end, everyone else is told to go elsewhere."""
    with served() as server:
        kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        kept.request("GET", "/health")
        assert Answer(kept.getresponse()).status == 200
        story = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 300, "ignore_eos": True, "stream": True})
        begun = read_until(story, "data: ")
        server.terminate()
        kept.request("GET", "/health")
        refused = [Answer(kept.getresponse()), server.get("/health"), server.get("/v1/health"), server.chat(),
                   server.post("/tokenize", {"content": "x"})]
        for answer in refused:
            assert answer.status == 503 and answer.headers["retry-after"] == "1", answer.text
            assert answer.headers["connection"] == "close" and "draining" in answer.text, answer.text
        assert server.get("/metrics").status == 200 and server.get("/v1/models").status == 200
        assert (begun + read_to_end(story)).rstrip().endswith("[DONE]\n\n\r\n0")
        assert server.exit_code() == 0


def check_signals():
    with served() as server:
        idle = server.connect()
        story = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 100, "ignore_eos": True, "stream": True})
        begun = read_until(story, "data: ")
        server.terminate()
        assert read_to_end(idle) == ""
        assert (begun + read_to_end(story)).rstrip().endswith("[DONE]\n\n\r\n0")
        assert server.exit_code() == 0
    with served() as server:
        story = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 5000, "ignore_eos": True, "stream": True})
        read_until(story, "data: ")
        server.terminate()
        server.process.terminate()
        assert server.exit_code() == 0


check_all(shared=[check_errors, check_connections, check_leaving], own=[check_pings, check_tls, check_draining, check_signals])
