"""Bodies: large, slow, without a key, and answers that are many times as large."""
import contextlib
import json
import threading
import time

LARGE = 15 << 20  # bytes, below the limit of a body


def in_parallel(count, call):
    failures = []

    def guarded(i):
        try:
            call(i)
        except Exception as failure:  # of any kind: it fails the case
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise AssertionError(f"{len(failures)} of {count} failed: {failures[0]!r}")


def refused_or_served(answer, *more):
    assert answer.status in (200, 400, 413, 429, 503, *more), answer.text[:300]
    return str(answer.status)


def tokenize(server):
    answer = server.post("/tokenize", json.dumps({"content": "z q" * (5 << 20), "with_pieces": True, "return_token_strs": True}))
    return f"{refused_or_served(answer)}, {len(answer.text):,} bytes"


def tokenize_unread(server):
    """Clients that do not read the answers."""
    clients = [server.send("/tokenize", {"content": "z q" * (5 << 18), "with_pieces": True}) for _ in range(8)]
    time.sleep(2)
    for client in clients:
        client.close()
    return f"{len(clients)} clients left"


def long_text(server):
    return refused_or_served(server.post("/v1/completions", json.dumps({"prompt": "z q" * (5 << 20), "max_tokens": 1})))


def many_messages(server):
    messages = [{"role": "user", "content": "x"}] * 400000
    return refused_or_served(server.post("/v1/chat/completions", json.dumps({"messages": messages, "max_tokens": 1})))


def many_variables(streams):
    def case(server):
        body = {"messages": said("x"), "max_tokens": 4, "n": streams, "chat_template_kwargs": {f"v{i}": [] for i in range(450000)}}
        return refused_or_served(server.post("/v1/chat/completions", json.dumps(body)))
    return case


def many_ends(server):
    """40,000 tokens that end an answer, each 25 times."""
    return refused_or_served(server.post("/v1/completions", json.dumps({"prompt": "x", "max_tokens": 200, "stop_token_ids": list(range(300, 40300)) * 25})))


def many_biases(count, path, **body):
    """So many clients with a bias for each token, for 20 answers each."""
    text = json.dumps({"prompt": "x", "max_tokens": 2, "ignore_eos": True, "logit_bias": {str(i): 0.1 for i in range(49000)}} | body)

    def case(server):
        statuses = []
        in_parallel(count, lambda _: statuses.append(refused_or_served(server.post(path, text))))
        return statuses_of(statuses)
    return case


def many_stops(server):
    """Clients that leave while stop strings of 60,000 bytes wait with their requests."""
    text = json.dumps({"prompt": "x", "max_tokens": 100, "ignore_eos": True, "n": 4, "stop": [chr(97 + i) * 4000 for i in range(15)]})
    clients = []
    for _ in range(100):
        clients.append(server.connect())
        clients[-1].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text.encode()))
    time.sleep(5)
    for client in clients:
        client.close()
    return f"{len(clients)} clients left"


def stops_of_prompts(server):
    """What finds the stop strings of 500 prompts would take 5 GB."""
    answer = server.post("/v1/completions", json.dumps({"prompt": ["x"] * 500, "max_tokens": 1, "stop": [chr(97 + i) * 4000 for i in range(15)]}))
    assert answer.status == 400 and "hold" in answer.text, answer.text[:300]
    return answer.json["error"]["message"]


def many_numbers(server):
    return refused_or_served(server.post("/detokenize", json.dumps({"tokens": [5] * 3000000})))


def many_large_bodies(path, clients=16, **body):
    def case(server):
        text = json.dumps(body | {"max_tokens": 1})
        statuses = []
        in_parallel(clients, lambda _: statuses.append(refused_or_served(server.post(path, text))))
        return statuses_of(statuses)
    return case


def statuses_of(statuses):
    return ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))


def said(text):
    return [{"role": "user", "content": text}]


def arguments(server):
    """JSON within texts, which no count of a body's values sees."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": [' + "[]," * 70000 + "0]}"}}
    messages = [{"role": "assistant", "content": "", "tool_calls": [call] * 60}, *said("x")]
    return refused_or_served(server.post("/v1/chat/completions", json.dumps({"messages": messages, "max_tokens": 1})))


def deep_body(server):
    answer = server.post("/v1/completions", "[" * 10000000)
    assert answer.status == 400, answer.text[:300]
    return str(answer.status)


def deep_parts(server):
    """What a field holds, within itself."""
    said = set()
    for depth in (60, 100, 200000):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            nested = opening * depth + "1" + closing * depth
            for route, body in {
                    "/v1/completions": '{"prompt":%s}', "/v1/chat/completions": '{"messages":%s}',
                    "/v1/chat/completions#content": '{"messages":[{"role":"user","content":%s}]}',
                    "/v1/chat/completions#calls": '{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":%s}}]}]}',
                    "/v1/chat/completions#tools": '{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"tools":[{"type":"function","function":{"name":"a","parameters":%s}}]}',
                    "/v1/chat/completions#format": '{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"response_format":%s}',
                    "/v1/messages": '{"max_tokens":1,"messages":[{"role":"user","content":%s}]}',
                    "/v1/messages#input": '{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":%s}]}]}',
                    "/v1/responses": '{"input":%s}', "/tokenize": '{"content":%s}', "/completion": '{"prompt":%s}'}.items():
                said.add(refused_or_served(server.post(route.split("#")[0], body % nested)))
            text = json.dumps(nested)
            said.add(refused_or_served(server.post("/v1/chat/completions", '{"max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"a","arguments":%s}}]}]}' % text)))
    return ", ".join(sorted(said))


def slow_bodies(server):
    """Bodies of which a part comes, and then nothing."""
    clients = [server.connect() for _ in range(24)]
    for client in clients:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 16000000\r\n\r\n")
    sent = 0
    for client in clients:
        client.settimeout(0.2)
        try:
            client.sendall(b"x" * LARGE)
            sent += 1
        except OSError:
            pass  # refused in time, or not read
    time.sleep(1)
    for client in clients:
        client.close()
    return f"{sent} bodies of 15 MB were taken"


def tiny_chunks(extension):
    """Bodies of which each byte comes in a chunk of its own."""
    sent = b"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"1%s\r\nx\r\n" % extension) * ((8 << 20) // (6 + len(extension)))

    def case(server):
        def send(_):
            with contextlib.closing(server.connect()) as client:
                client.sendall(sent + b"0\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 400 ")
        in_parallel(4, send)
    return case


def top_logprobs(server):
    return refused_or_served(server.post("/v1/completions", json.dumps({"prompt": [5] * 4000, "max_tokens": 1, "echo": True, "logprobs": 20})))


# MiB that cases may take, where that is not what others may: 128 of pending bodies, one that is parsed, and two whose
# texts are rendered and tokenized, each in several copies.
MOST_MEMORY = {"large grammars of three keys": 1024 + 256,  # what is compiled, and what is kept
               "16 prompts of 15 MB at once": 300, "16 chats of 15 MB at once": 300, "24 bodies that never end": 300}
OPEN = {"15 MB of text to /tokenize": tokenize, "answers of /tokenize that nobody reads": tokenize_unread, "15 MB of prompt": long_text,
        "400,000 messages": many_messages, "450,000 chat_template_kwargs": many_variables(1), "450,000 chat_template_kwargs of four": many_variables(4),
        "1,000,000 stop_token_ids": many_ends, "3,000,000 numbers to /detokenize": many_numbers,
        "49,000 biases of 20 in 16 streams": many_biases(16, "/completion", n=20, stream=True),
        "49,000 biases of 20 prompts by 40 clients": many_biases(40, "/v1/completions", prompt=["x"] * 20, max_tokens=1),
        "stop strings of 100 clients that leave": many_stops, "stop strings of 500 prompts": stops_of_prompts, "16 prompts of 15 MB at once": many_large_bodies("/v1/completions", prompt="z q" * (LARGE // 3)),
        "16 chats of 15 MB at once": many_large_bodies("/v1/chat/completions", messages=said("z q" * (LARGE // 3))),
        "4 prompts of 15 MB of which 10 tokens stay": many_large_bodies("/v1/completions", clients=4, prompt="z q" * (LARGE // 3), truncate_prompt_tokens=10),
        "16 chats of 400,000 messages at once": many_large_bodies("/v1/chat/completions", messages=said("x") * 400000),
        "4,200,000 values in arguments": arguments,
        "ten million brackets": deep_body, "fields that hold themselves": deep_parts, "24 bodies that never end": slow_bodies,
        "chunks of a byte": tiny_chunks(b""), "chunks with long extensions": tiny_chunks(b";" + b"a=b;" * 2000 + b"a"),
        "logprobs of 4,000 tokens": top_logprobs}
KEYED = {"24 bodies without a key": slow_bodies}
