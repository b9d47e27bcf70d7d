#!/usr/bin/env python3
"""usage: session_test.py SERVER MODEL: a prompt that one server has read goes on at another one, which gets the session
over HTTP. Its tokens and log-probabilities are, bit by bit, those of one server that does both."""
import http.client
import sys
import tempfile
import time

from cogen_server import CogenServer

WORDS = " ".join(f"word{number % 37} {number}" for number in range(150))
PROMPT = {"prompt": f"Here is a list. {WORDS}", "n_predict": 1, "temperature": 0, "id_slot": 3}


def continued(server, read):
    """Goes on after the prompt and the token that was sampled then."""
    answer = server.ask("/completion", prompt=PROMPT["prompt"] + read["content"], n_predict=24, n_probs=5, temperature=0.8,
                        seed=11, return_tokens=True)
    return answer["tokens"], answer["completion_probabilities"], answer["timings"]


def parts_of(response, size=1 << 16):
    while part := response.read(size):
        yield part


def pass_on(source, target, path="/slots/3/session", to="/slots/0/session"):
    """From one server to the other, part by part; returns the second one's answer and how many bytes there were."""
    reading = http.client.HTTPConnection("127.0.0.1", source.port, timeout=300)
    reading.request("GET", path)
    response = reading.getresponse()
    assert response.status == 200, response.read()
    assert response.getheader("Content-Type") == "application/octet-stream"
    answer = target.request("PUT", to, parts_of(response))
    reading.close()
    assert answer.status == 200, answer.text
    return answer.json


def check_handing_over(*flags):
    options = ["--max-length", "2048", "--session-uploads", *flags]
    with CogenServer(*sys.argv[1:3], *options) as alone:
        read = alone.ask("/completion", **PROMPT)
        expected, probabilities, _ = continued(alone, read)
    with CogenServer(*sys.argv[1:3], *options) as first, CogenServer(*sys.argv[1:3], *options) as second:
        assert first.ask("/completion", **PROMPT)["content"] == read["content"]
        begun = time.monotonic()
        restored = pass_on(first, second)
        took = time.monotonic() - begun
        found, found_probabilities, timings = continued(second, read)
        assert restored["n_restored"] == read["tokens_evaluated"] + 1, restored
        assert timings["prompt_n"] == 1 and timings["cache_n"] == read["tokens_evaluated"], timings
        assert found == expected, (found, expected)
        assert found_probabilities == probabilities
        print(f"{restored['n_read'] / 1e6:.1f} MB in {took:.3f} s, {' '.join(flags) or 'no flags'}", flush=True)
        return first_session(first)


def first_session(server):
    """All bytes of the session."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request("GET", "/slots/3/session")
    whole = connection.getresponse().read()
    connection.close()
    return whole


def refused(server, body, status, part, path="/slots/0/session", method="PUT", headers=None):
    answer = server.request(method, path, body, headers)
    assert answer.status == status and part in answer.text, (answer.status, answer.text)


def check_refusals(whole):
    with CogenServer(*sys.argv[1:3], "--max-length", "2048") as server:
        refused(server, whole, 501, "no keys and was started without --session-uploads")
    with CogenServer(*sys.argv[1:3], "--max-length", "2048", "--session-uploads") as server:
        refused(server, None, 404, "it must be the id_slot of an earlier request", "/slots/9/session", "GET")
        refused(server, whole, 400, "it must be a number", "/slots/x/session")
        refused(server, b"{}", 405, "takes GET, PUT, not POST", method="POST")
        refused(server, b"", 400, "it is not a session of cogen")
        refused(server, whole[:-1], 400, "it is cut short")
        refused(server, whole[:200] + b"?" + whole[201:], 400, "its head is damaged")
        refused(server, whole[:-99] + b"?" + whole[-98:], 400, "its body is damaged")
        refused(server, whole + b"x", 400, "the body goes on after the session")
        assert server.request("HEAD", "/slots/0/session").status == 404
        assert server.request("PUT", "/slots/0/session", whole).json["n_read"] == len(whole)
        again = server.ask("/completion", **PROMPT)
        assert again["timings"]["prompt_n"] == 1, again["timings"]
    with CogenServer(*sys.argv[1:3], "--max-length", "128", "--slots", "1", "--max-body-bytes", "1000", "--session-uploads") as server:
        refused(server, whole, 400, "the sequence may hold 128")
        refused(server, iter([whole[:48], bytes(64 << 20)]), 400, "its head is damaged")
    with CogenServer(*sys.argv[1:3], "--max-length", "1024", "--kv-gib", "0.02", "--max-body-bytes", "1000",
                     "--session-uploads") as server:
        refused(server, whole, 413, "the session is longer than")
    with CogenServer(*sys.argv[1:3], "--max-length", "2048", "--kv-dtype", "float32", "--session-uploads") as server:
        refused(server, whole, 400, "it is of another kind of cache")


def check_keys(whole):
    with tempfile.NamedTemporaryFile("w") as keys:
        keys.write("secret\n")
        keys.flush()
        with CogenServer(*sys.argv[1:3], "--max-length", "2048", "--api-key-file", keys.name) as server:
            refused(server, whole, 401, "Invalid API Key")
            key = {"Authorization": "Bearer secret"}
            assert server.request("PUT", "/slots/1/session", whole, key).status == 200
            assert server.get("/slots/1/session").status == 401


def check_leaving(whole):
    """Clients that leave in the middle leave nothing behind."""
    with CogenServer(*sys.argv[1:3], "--max-length", "2048", "--session-uploads") as server:
        for size in 10, 100, 5000, len(whole) // 2, len(whole) - 1:
            client = server.connect()
            client.sendall(f"PUT /slots/0/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(whole)}\r\n\r\n".encode() + whole[:size])
            client.close()
        server.request("PUT", "/slots/3/session", whole)
        for _ in range(5):
            client = server.connect()
            client.sendall(b"GET /slots/3/session HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.recv(1000)
            client.close()
        assert first_session(server)[:8] == whole[:8]
        server.terminate()
        assert server.exit_code() == 0


session = check_handing_over()
check_handing_over("--kv-dtype", "float32")
check_refusals(session)
check_keys(session)
check_leaving(session)
