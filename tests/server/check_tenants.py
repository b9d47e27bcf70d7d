#!/usr/bin/env python3
"""usage: check_tenants.py SERVER: what one key does is nothing to another one: slots, files, cached prefixes, all that it
reads, and that it is served."""
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading

from cogen_server import CogenServer, read_to_end, read_until
from tiny_model import write_tiny_model

SECRET = "The secret of project Halcyon is 7419, and it was written down in March. " * 3
MAX_SLOTS = 64
MAX_FILES = 256
MAX_SAVED = 64 << 30  # bytes
SLOTS = 4
QUEUE = 8
GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "golden"
# Of an answer, what differs from one run to the next.
VOLATILE = {"id", "created", "created_at", "completed_at", "timings", "build_info", "item_id"}
# "2:" and this salt have the std::hash 1 of libstdc++, a number that once stood for the first key's prompts.
SALT_OF_ANOTHER = "0000c56N8\x00!\x1d'|"


class Key:
    """Who asks with a key, and gets statuses and bodies."""

    def __init__(self, server, name):
        self.server = server
        self.headers = {"Authorization": "Bearer " + name}

    def get(self, path):
        return self.server.request("GET", path, headers=self.headers)

    def post(self, path, **body):
        return self.server.request("POST", path, body, self.headers)

    def put(self, path, body):
        return self.server.request("PUT", path, body, self.headers)

    def read(self, id_slot, prompt=SECRET, **more):
        answer = self.post("/completion", prompt=prompt, n_predict=1, id_slot=id_slot, **more)
        assert answer.status == 200, answer.text
        return answer.json

    def cached(self, prompt, **more):
        answer = self.post("/v1/completions", prompt=prompt, max_tokens=1, **more)
        assert answer.status == 200, answer.text
        return answer.json["usage"]["prompt_tokens_details"]["cached_tokens"]


def check_slots(first, second):
    """Another key's slot does not exist."""
    first.read(7)
    for answer in (second.get("/slots/7/session"), second.post("/slots/7?action=erase"),
                   second.post("/slots/7?action=save", filename="x"), second.get("/slots/8/session")):
        assert answer.status == 404 and "it must be the id_slot" in answer.text, answer.text
    second.read(7, "something else")
    assert second.post("/slots/7?action=erase").json["n_erased"] < 20
    assert first.post("/slots/7?action=erase").json["n_erased"] > 100
    assert first.post("/slots/7?action=erase").status == 404


def check_files(first, second, folder, keys):
    """Files are the key's, whatever their names; their folders do not tell the keys."""
    first.read(7)
    saved = first.post("/slots/7?action=save", filename="one").json
    path, = folder.glob("*/one")
    before = path.read_bytes()
    assert second.post("/slots/9?action=restore", filename="one").status == 400
    for name in ("../one", f"{path.parent.name}/one", f"../{path.parent.name}/one", ".", "..", "", "a\\b", "\0"):
        assert second.post("/slots/9?action=restore", filename=name).status == 400, name
    second.read(9, "something else")
    assert second.post("/slots/9?action=save", filename="one").status == 200
    assert path.read_bytes() == before and len(list(folder.glob("*/one"))) == 2
    assert not any(key in each.name for key in keys for each in folder.iterdir())
    assert all(len(each.name) == 64 for each in folder.iterdir())
    assert first.post("/slots/3?action=restore", filename="one").json["n_restored"] == saved["n_saved"]
    assert second.get("/slots/3/session").status == 404


def check_limits(first, second, folder):
    """Slots and files are bounded for each key."""
    second.read(0, "kept")
    for number in range(MAX_SLOTS + 6):
        first.read(number, [5] * 70)
    assert [first.post(f"/slots/{number}?action=erase").status for number in (5, 6, MAX_SLOTS + 5)] == [404, 200, 200]
    assert second.post("/slots/0?action=erase").status == 200
    first.read(7)
    own = next(folder.glob("*/one")).parent
    for other in folder.iterdir():
        for number in range(MAX_FILES - 1):
            (other / f"f{number}").touch()
    refused = first.post("/slots/7?action=save", filename="two")
    assert refused.status == 400 and f"{MAX_FILES} other files" in refused.text, refused.text
    assert first.post("/slots/7?action=save", filename="one").status == 200
    os.truncate(own / "f0", MAX_SAVED)
    refused = first.post("/slots/7?action=save", filename="one")
    assert refused.status == 400 and f"{MAX_SAVED} bytes" in refused.text, refused.text
    os.truncate(own / "f0", MAX_SAVED - 1)
    assert first.post("/slots/7?action=save", filename="one").status == 200


def check_cached(first, second):
    """No prompt and no salt of one key finds what another one has asked."""
    prompt = "A prompt that nobody else should see. " + SECRET
    first.cached(prompt)
    first.cached(prompt, cache_salt="a")
    assert first.cached(prompt) > 100 and first.cached(prompt, cache_salt="a") > 100
    for salt in (None, SALT_OF_ANOTHER, "a", "1:a", ":a", "1", "", "2:a"):
        for part in (prompt, prompt[:90], prompt + " And more."):
            more = {} if salt is None else {"cache_salt": salt}
            assert second.cached(part, cache_prompt=True, **more) in (0, second_alone(second, part, salt)), (salt, part)
    assert second.post("/v1/completions", prompt="x", max_tokens=1, cache_salt="x" * 1025).status == 400


SEEN = {}


def second_alone(second, part, salt):
    """Tokens that the key's own earlier prompts of the salt share with this one, by its tokens."""
    tokens = second.post("/tokenize", content=part).json["tokens"]
    earlier = SEEN.setdefault(salt, [])
    shared = max((sum(1 for _ in common(tokens[:-1], other)) for other in earlier), default=0)
    earlier.append(tokens)
    return shared


def common(one, other):
    for a, b in zip(one, other):
        if a != b:
            return
        yield a


def check_shown(server, first, second):
    """/slots shows a key its own requests."""
    while any(slot["is_processing"] for slot in first.get("/slots").json):
        pass  # what an earlier check has left ends
    running = server.send("/v1/completions", {"prompt": SECRET, "max_tokens": 16000, "ignore_eos": True, "stream": True},
                          "Authorization: Bearer first\r\n")
    read_until(running, "data: ")
    own, others = (key.get("/slots").json for key in (first, second))
    assert any("request_id" in slot for slot in own), own
    assert not any("request_id" in slot or slot["n_tokens"] or slot["is_processing"] for slot in others), others
    running.close()


def check_shares(server, second):
    """A key that fills slots and queue keeps no other one out, and goes on beside it."""
    body = {"prompt": SECRET, "max_tokens": 16000, "ignore_eos": True, "stream": True, "n": SLOTS + QUEUE}
    running = server.send("/v1/completions", body, "Authorization: Bearer first\r\n")
    read_until(running, "data: ")
    reads = threading.Thread(target=read_to_end, args=(running,), daemon=True)
    reads.start()
    refused = server.request("POST", "/v1/completions", {"prompt": "Hi", "max_tokens": 1}, {"Authorization": "Bearer first"})
    assert refused.status == 429, refused.text
    answers = [second.post("/v1/completions", prompt="Hi", max_tokens=3) for _ in range(3)]
    assert all(answer.status == 200 for answer in answers), [answer.text for answer in answers]
    assert second.post("/v1/completions", prompt="Hi", max_tokens=3, n=QUEUE // 2).status == 200
    assert reads.is_alive()
    running.shutdown(socket.SHUT_RDWR)
    reads.join()


def check_uploads(program, model, first, second):
    """A session serves the key that has uploaded it; without keys nobody uploads, unless that is allowed."""
    first.read(7)
    answer = first.server.connect()
    answer.sendall(b"GET /slots/7/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer first\r\n\r\n")
    received = b""
    while more := answer.recv(65536):
        received += more
    session = dechunked(received.partition(b"\r\n\r\n")[2])
    length = second.put("/slots/5/session", session).json["n_restored"]
    assert length > 100 and second.post("/slots/5?action=erase").json["n_erased"] == length
    assert first.get("/slots/5/session").status == 404
    with CogenServer(program, model) as server:
        refused = server.request("PUT", "/slots/5/session", session)
        assert refused.status == 501 and "--session-uploads" in refused.text, refused.text
    with CogenServer(program, model, "--session-uploads") as server:
        assert server.request("PUT", "/slots/5/session", session).json["n_restored"] == length


def check_stored(program, model, root):
    """What is stored for a key is its own after a restart, too, whatever keys there are then."""
    prompt, salts = "A prompt that is stored. " + SECRET, ({}, {"cache_salt": "a"})
    keys = root / "stored_keys"

    def cached(names, asking):
        keys.write_text("\n".join(names) + "\n", encoding="ascii")
        with CogenServer(program, model, "--api-key-file", str(keys), "--prefix-cache-directory", str(root / "prefixes")) as server:
            result = [Key(server, name).cached(prompt, **salt) for name in asking for salt in salts]
            server.terminate()
            assert server.exit_code() == 0
            return result

    assert cached(("first", "second"), ["first"]) == [0, 0]
    told = cached(("second", "third", "first"), ["second", "third", "first"])
    assert not any(told[:4]) and min(told[4:]) > 100, told


def stable(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {name: stable(each) for name, each in value.items() if name not in VOLATILE}
    return [stable(each) for each in value] if isinstance(value, list) else value


def read_everything(key, guess):
    """All that a key can read, after whatever others have asked."""
    texts = {"prompt": guess, "max_tokens": 3, "temperature": 0, "logprobs": 2}
    chat = {"messages": [{"role": "user", "content": "".join(map(chr, guess))}], "max_tokens": 3, "temperature": 0}
    answers = [key.post("/v1/completions", **texts), key.post("/v1/completions", **texts, cache_salt="a"),
               key.post("/v1/completions", **texts, n=2, seed=3), key.post("/completion", prompt=guess, n_predict=3, temperature=0, id_slot=1),
               key.post("/v1/chat/completions", **chat), key.post("/v1/messages", **chat),
               key.post("/v1/responses", input=chat["messages"], max_output_tokens=16, temperature=0),
               key.post("/v1/completions", prompt="x", max_tokens=8, guided_choice=["secret"], temperature=0),
               key.post("/tokenize", content="secret"), key.post("/apply-template", messages=chat["messages"]),
               key.post("/slots/2?action=save", filename="two"), key.post("/slots/2?action=erase"), key.post("/slots/2?action=restore", filename="one"),
               *(key.get(path) for path in ("/slots", "/slots?fail_on_no_slot=1", "/health", "/props", "/v1/models", "/version", "/tokenizer_info", "/metrics"))]
    return [(answer.status, {name: each for name, each in answer.headers.items() if name not in ("x-request-id", "date", "content-length", "process-start-time-unix")},
             stable(json.loads(answer.text)) if answer.text.startswith(("{", "[")) else answer.text) for answer in answers]


def use_everything(key, content, choice):
    """What another key may do: as long each time, whatever it says."""
    for salt in ({}, {"cache_salt": "a"}):
        for length in (60, 200, 200):
            key.post("/v1/completions", prompt=content * (length // 2), max_tokens=5, ignore_eos=True, temperature=0, **salt)
    key.read(2, content * 90)
    assert key.post("/slots/2?action=save", filename="one").status == 200
    key.post("/v1/completions", prompt="x", max_tokens=8, guided_choice=[choice])
    key.post("/v1/chat/completions", messages=[{"role": "user", "content": "".join(map(chr, content)) * 60}], max_tokens=4)


def check_oracle(served):
    """What a key can read is the same, byte by byte, whatever another one has asked: its guesses tell it nothing. Its own earlier
    prompts it does find."""
    guess = [65, 66] * 100
    seen = []
    for content, choice, asks in (([65, 66], "secret", "first"), ([67, 68], "public", "first"), ([65, 66], "secret", "second")):
        with served() as server:
            use_everything(Key(server, asks), content, choice)
            seen.append(read_everything(Key(server, "second"), guess))
    for guessed, other in zip(seen[0], seen[1]):
        assert guessed == other, f"what another key has asked shows:\n{guessed}\n{other}"
    assert seen[0] != seen[2]


def check_routes(program, model, root):
    """While a key keeps all slots and the queue busy, each route serves another one."""
    few = {"max_tokens": 2}
    chat = few | {"messages": [{"role": "user", "content": "Hi"}]}
    once = "Authorization: Bearer first\r\nConnection: close\r\n"
    flood = {"prompt": ["x"] * 64, "n": 16, "max_tokens": 16000, "ignore_eos": True, "stream": True}
    with CogenServer(program, f"text={model}", "--model", f"embeds={GOLDENS / 'bert_tiny'}", "--model", f"scores={GOLDENS / 'bert_scores'}",
                     "--api-key-file", str(root / "keys"), "--slots", str(SLOTS), "--queue", "1100") as server:
        second = Key(server, "second")
        floods = [server.send("/v1/completions", flood, "Authorization: Bearer first\r\n")]
        read_until(floods[0], "data: ")
        floods += [server.send("/v1/embeddings", {"model": "embeds", "input": ["words " * 40] * 2048}, once) for _ in range(8)]
        floods += [server.send("/v1/rerank", {"model": "scores", "query": "q", "documents": ["words " * 40] * 2048}, once) for _ in range(8)]
        readers = [threading.Thread(target=read_to_end, args=(client,), daemon=True) for client in floods]
        for reader in readers:
            reader.start()
        for path, body in (("/v1/embeddings", {"model": "embeds", "input": ["a"]}), ("/v1/rerank", {"model": "scores", "query": "a", "documents": ["b"]}),
                           ("/v1/completions", few | {"prompt": "Hi"}), ("/v1/completions", few | {"prompt": ["Hi", "Ho"], "n": 2}),
                           ("/completion", {"prompt": "Hi", "n_predict": 2}), ("/v1/chat/completions", chat), ("/v1/messages", chat),
                           ("/v1/responses", {"input": "Hi", "max_output_tokens": 16})):
            answer = second.post(path, **body)
            assert answer.status == 200, (path, answer.text)
            assert readers[0].is_alive(), path
            if path in ("/v1/embeddings", "/v1/rerank"):
                assert any(reader.is_alive() for reader in (readers[1:9] if path == "/v1/embeddings" else readers[9:])), path
        floods[0].shutdown(socket.SHUT_RDWR)
        for reader in readers:
            reader.join()


def dechunked(body):
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size, 16)
        if count == 0:
            return whole
        whole += body[:count]
        body = body[count + 2:]


def check_all(program):
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        (root / "model").mkdir()
        (root / "saved").mkdir()
        model = str(write_tiny_model(root / "model"))
        names = ("first", "second")
        (root / "keys").write_text("\n".join(names) + "\n", encoding="ascii")
        with CogenServer(program, model, "--api-key-file", str(root / "keys"), "--slot-save-path", str(root / "saved"),
                         "--slots", str(SLOTS), "--queue", str(QUEUE)) as server:
            first, second = (Key(server, name) for name in names)
            check_slots(first, second)
            check_files(first, second, root / "saved", names)
            check_limits(first, second, root / "saved")
            check_cached(first, second)
            check_shares(server, second)
            check_shown(server, first, second)
            check_uploads(program, model, first, second)
        check_stored(program, model, root)
        check_routes(program, model, root)
        check_oracle(lambda: CogenServer(program, model, "--api-key-file", str(root / "keys"), "--slots", "8",
                                         "--slot-save-path", tempfile.mkdtemp(dir=root)))


check_all(sys.argv[1])
