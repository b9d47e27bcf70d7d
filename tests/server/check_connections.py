#!/usr/bin/env python3
"""usage: check_connections.py PROGRAM MODEL: sends the HTTP server requests that are wrong, cut, half or garbage, and breaks off."""
import contextlib
import http.client
import json
import pathlib
import re
import select
import socket
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
    client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2 + post("/v1/chat/completions", {
        "messages": CAPITAL, "max_tokens": 4, "temperature": 0}) + b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answers = read_to_end(client)
    assert answers.count("HTTP/1.1 200 OK") == 4 and answers.index("chat.completion") < answers.index("version"), answers
    client = server.connect()  # byte by byte, the body in chunks
    for byte in (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                 b"a\r\n{\"prompt\":\r\n16\r\n\"Hi\", \"max_tokens\": 1}\r\n0\r\n\r\n"):
        client.sendall(bytes([byte]))
    assert "text_completion" in read_to_end(client)
    client = server.connect()
    client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 27\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    assert read_until(client, "\r\n\r\n").startswith("HTTP/1.1 100 Continue")
    client.sendall(b"{\"prompt\":\"x\",\"max_tokens\":1")
    assert "HTTP/1.1 400" in read_to_end(client)
    for large, status in {b"GET /" + b"x" * 100000: 431, b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n": 413,
                          b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"y" * 70000 + b"\r\n\r\n": 400}.items():
        client = server.connect()
        client.sendall(large)
        assert read_to_end(client).startswith(f"HTTP/1.1 {status} "), large[:60]
    client = server.connect()
    client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    assert read_to_end(client).endswith('{"status":"ok"}')


def check_half_closed(server, encrypted=lambda client: client):
    """Clients that have closed their side when the request is read: the other side is closed, too, once they are answered."""
    for size in (10, 3000, 4500, 8000, 12000, 15000):
        for _ in range(8):
            with contextlib.closing(encrypted(server.connect())) as client:
                client.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * size + b"\r\n\r\n")
                socket.socket.shutdown(client, socket.SHUT_WR)
                assert read_to_end(client).startswith("HTTP/1.1 200 "), size


def check_raw_requests(server):
    """Requests that servers and proxies have read differently, each between others on the same connection. One whose end is in doubt
    is the connection's last, so that nothing in it is taken for a request. Where the answer comes before the body, it may be."""
    cases = json.loads((pathlib.Path(__file__).parent / "raw_requests.json").read_text(encoding="utf-8"))
    first, last = (b"GET /version HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % more for more in (b"", b"Connection: close\r\n"))
    for case in cases:
        for before in (b"", first):
            with contextlib.closing(server.connect()) as client:
                client.sendall(before + case["request"].encode("latin-1") + last)
                answers = [status for status in re.findall(r"HTTP/1\.1 (\d+) [A-Z]", read_to_end(client)) if status != "100"]
            if before:
                assert answers.pop(0) == "200", (case, answers)
            assert int(answers[0]) in case["statuses"], (case, answers)
            assert len(answers) in {True: [1], False: [2], None: [1, 2]}[case["closes"]], (case, answers)
            assert answers[1:] in ([], ["200"]), (case, answers)


def check_origins(server):
    """What a page of another site has a browser send is not answered, though the browser asks nobody first."""
    body, own = json.dumps({"prompt": "x", "max_tokens": 1}), f"http://127.0.0.1:{server.port}"
    as_json, as_text = {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}
    for path in ("/slots", "/health", "/"):
        foreign = server.get(path, headers={"Host": "evil.example"})
        assert foreign.status == 403 and "evil.example" in foreign.text and "--allowed-hosts" in foreign.text, foreign.text
        assert server.get(path, headers={"Origin": "http://evil.example"}).status == 403
    for headers, status in [(as_json, 200), (as_text, 200), ({"Origin": own} | as_json, 200), ({"Origin": own} | as_text, 415), ({"Origin": own}, 415),
                            ({"Origin": "http://evil.example"} | as_json, 403), ({"Origin": "http://evil.example"} | as_text, 403),
                            ({"Origin": "null"} | as_json, 403), ({"Origin": "http://localhost:1"} | as_json, 403)]:
        answer = server.post("/v1/completions", body, headers=headers)
        assert answer.status == status, (headers, answer.text)
    page = server.get("/")
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'" and page.headers["x-frame-options"] == "DENY", page.headers
    for answer in (page, server.get("/nothing"), server.get("/version")):
        assert answer.headers["x-content-type-options"] == "nosniff", answer.headers


def check_long_texts(server):
    """Tokens of a long text are sent while they are read, and take no multiple of the answer."""
    before = server.peak_memory()
    body = {"content": "z q" * 333333, "with_pieces": True, "return_token_strs": True}
    with contextlib.closing(server.send("/tokenize", body, "Connection: close\r\n")) as client:
        assert "Transfer-Encoding: chunked" in read_until(client, '"tokens":[{"id":')
        assert server.get("/health").status == 200
        answer = read_to_end(client)
    assert len(answer) > 15 << 20 and answer.endswith('"]}\r\n0\r\n\r\n'), answer[-100:]
    assert server.peak_memory() - before < 100, (before, server.peak_memory())
    short = server.ask("/tokenize", content="The sea is", with_pieces=True, return_token_strs=True)
    assert "".join(short["token_strs"]) == "The sea is" and len(short["tokens"]) == short["count"] == 3, short
    long = server.ask("/tokenize", content="é\n" * 100000)["tokens"]
    assert server.ask("/detokenize", tokens=long)["content"] == "é\n" * 100000
    said = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "reasoning_content": "x" * (5 << 20)}]}
    for path, body in [("/tokenize", {"content": "x" * (5 << 20)}), ("/detokenize", {"tokens": [0] * (1 << 20)}), ("/tokenize", said), ("/apply-template", said),
                       ("/v1/chat/completions/input_tokens", said), ("/v1/responses/input_tokens", {"input": "x" * (5 << 20)})]:
        refused = server.post(path, body)
        assert refused.status == 400 and re.search("at most 4194304|more than 1048576", refused.text), refused.text


def check_memory(server):
    """What a large body took is given back."""
    def ask():
        kwargs = json.dumps({"a": [[0]] * 300000})
        answer = server.post("/v1/chat/completions", '{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "chat_template_kwargs": %s}' % kwargs)
        assert answer.status in (200, 400), answer.text

    ask()
    before = server.memory()
    for _ in range(4):
        ask()
    asked = (server.post("/tokenize", {"content": "x" * 40000}) for _ in range(200))
    assert any(answer.status == 200 and server.memory() - before < 64 for answer in asked), (before, server.memory())


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


def check_bodies():
    """A body that does not come to its end lets others wait that are large, and none that is small."""
    with served("--max-pending-body-bytes", "1000000", "--max-body-bytes", "1000000") as server:
        half = server.connect()
        half.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n" + b" " * 500000)
        large = server.connect()
        large.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 900000\r\n\r\n")
        chunked = server.connect()
        chunked.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n80000\r\n" + b" " * 0x80000)
        answer = read_to_end(chunked)
        assert answer.startswith("HTTP/1.1 503 ") and "Retry-After" in answer and "1000000" in answer, answer
        assert server.post("/tokenize", {"content": "x" * 60000}).status == 200
        assert not select.select([large], [], [], 0)[0]
        half.close()
        assert read_until(large, "\r\n\r\n").startswith("HTTP/1.1 100 ")
        large.sendall(b'{"content": "%s"}' % (b"x" * (900000 - 15)))
        assert "HTTP/1.1 200 " in read_until(large, "\r\n\r\n")
        large.close()


def check_unread_answers():
    """What clients do not read is bounded, large answers are refused beyond, and small ones are sent."""
    with served("--max-unread-answer-bytes", "1000000") as server:
        refused = server.post("/tokenize", {"content": "z q" * 333333})
        assert refused.status == 503 and "1000000" in refused.text and refused.headers["retry-after"] == "1", refused.text
        assert server.post("/tokenize", {"content": "z q" * 10000}).status == 200


def check_many_connections():
    with served("--max-connections", "1", "--idle-timeout", "100000") as server, contextlib.ExitStack() as open_ones:
        def connect():
            return open_ones.enter_context(contextlib.closing(server.connect()))

        kept = connect()
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        read_until(kept, "ok")
        waiting = [connect() for _ in range(64)]  # to be told
        further = connect()
        with contextlib.suppress(OSError):
            further.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_to_end(further) == ""
        waiting[0].sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        refused = read_to_end(waiting[0])
        assert refused.startswith("HTTP/1.1 503 ") and "at most 1 are served" in refused, refused
        assert read_to_end(waiting[1]) == ""  # soon, though it has asked nothing
    with served("--max-connections-per-address", "2") as server:
        kept = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=300) for _ in range(2)]
        for client in kept:
            client.request("GET", "/health")
            assert Answer(client.getresponse()).status == 200
        refused = server.get("/health")
        assert refused.status == 503 and refused.headers["retry-after"] == "1" and refused.headers["connection"] == "close", refused.text
        assert "2 of one address" in refused.text, refused.text
        kept[0].close()
        while server.get("/health").status == 503:
            pass


def check_pings():
    with served("--slots", "1", "--ping-interval", "0.02") as server:
        first = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True})
        read_until(first, "data: ")
        second = server.send("/v1/completions", {"prompt": "Once", "max_tokens": 4, "stream": True})
        assert ": ping" in read_until(second, ": ping")
        first.close()
        read_until(second, "[DONE]")


def check_waiting_bodies():
    """Who waits for room for a large body is there, whatever was heard of connections before it."""
    body, answers = b'{"prompt":[1],"max_tokens":"x","pad":"' + b"y" * 15_900_000 + b'"}', []
    with served() as server:
        def ask():
            answers.extend(server.post("/v1/completions", body).status for _ in range(6))

        clients = [threading.Thread(target=ask) for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert answers == [400] * 48, answers


@contextlib.contextmanager
def served_with_tls():
    """A server with a certificate for the loopback, and what trusts it."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = folder + "/cert.pem", folder + "/key.pem"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], capture_output=True)
        assert made.returncode == 0, made
        with served("--tls-cert", certificate, "--tls-key", key) as server:
            yield server, ssl.create_default_context(cafile=certificate)


def check_tls():
    with served_with_tls() as (server, trust):
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=300, context=trust)
        for _ in range(2):
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 4, "stream": True}))
            assert Answer(connection.getresponse()).events
        story = trust.wrap_socket(server.connect(), server_hostname="127.0.0.1")
        story.sendall(post("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True}))
        read_until(story, "data: ")
        story.close()
        connection.close()
        check_half_closed(server, lambda client: trust.wrap_socket(client, server_hostname="127.0.0.1"))
        with contextlib.closing(server.connect()) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert "200" not in read_to_end(plain)
        server.terminate()
        assert server.exit_code() == 0


def client_hello(trust):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trust.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


def check_handshakes():
    """The hello of a client that has closed its side is not answered, wherever it is cut: a signature would be for nobody."""
    with served_with_tls() as (server, trust), contextlib.ExitStack() as open_ones:
        hello, clients = client_hello(trust), []
        for i in range(300):
            clients.append(open_ones.enter_context(contextlib.closing(server.connect())))
            clients[-1].sendall(hello[:i])
            clients[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)  # what follows comes with the end
            clients[-1].sendall(hello[i:])
            clients[-1].shutdown(socket.SHUT_WR)
        answered = open_ones.enter_context(contextlib.closing(server.connect()))
        answered.sendall(hello)
        assert answered.recv(1)
        assert not any(read_to_end(client) for client in clients)


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


check_all(shared=[check_errors, check_connections, check_half_closed, check_raw_requests, check_origins, check_long_texts, check_memory, check_leaving],
          own=[check_bodies, check_waiting_bodies, check_unread_answers, check_many_connections, check_pings, check_tls, check_handshakes,
               check_draining, check_signals])
