#!/usr/bin/env python3
"""usage: check_formats.py SERVER: formats that take long to compile make no other key wait, and end with their clients."""
import pathlib
import select
import sys
import tempfile
import time

from cogen_server import CogenServer, read_to_end
from tiny_model import write_tiny_model

# Takes as much of a processor as is allowed, and little memory.
COSTLY = {"patternProperties": {f"^a{i}.*[0-9]{{1,50}}$": {"type": "integer"} for i in range(300)}}
NAMES = [f"key {i}" for i in range(12)]
OPERATOR = "operator"


def bearer(name):
    return f"Authorization: Bearer {name}\r\n"


def costly(server, name, number):
    """A request of which nothing is read: each has a format of its own."""
    schema = COSTLY | {"title": f"{name} {number}"}
    return server.send("/v1/completions", {"prompt": "x", "max_tokens": 4, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}, bearer(name))


def simple(server, name, text):
    answer = server.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 8, "guided_choice": [text]}, {"Authorization": f"Bearer {name}"})
    assert answer.status == 200 and answer.json["choices"][0]["text"] == text, answer.text


def figure(server, name):
    answer = server.request("GET", "/metrics", headers={"Authorization": f"Bearer {OPERATOR}"})
    assert answer.status == 200, answer.text
    return int(next(float(line.split()[-1]) for line in answer.text.split("\n") if line.startswith(name + "{")))


def compiling(server):
    return figure(server, "cogen:formats_compiling")


def wait_for_compiling(server, count):
    while compiling(server) != count:
        time.sleep(0.01)


def settle_compiling(server, count):
    """An answer may come before the queue knows that its format is done."""
    while (now := compiling(server)) != count:
        assert now > count, (now, count)
        time.sleep(0.01)


def processor_time(server):
    """Ticks, of which there are 100 in a second."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def check_others(server):
    """Formats of other keys pass those that take long."""
    running = [costly(server, name, 0) for name in NAMES[:6]]
    wait_for_compiling(server, 6)
    for i, name in enumerate(NAMES[6:] + NAMES[6:]):
        simple(server, name, f"text {i}")
    settle_compiling(server, 6)
    return running


def check_own(server):
    """So do, a second of a processor later, those of the same key."""
    running = [costly(server, NAMES[0], 0)]
    wait_for_compiling(server, 1)
    simple(server, NAMES[0], "own")
    settle_compiling(server, 1)
    return running


def check_many(server):
    """Of more keys than there are places the one that has taken longest is told to come again."""
    running = [costly(server, name, 1) for name in NAMES[:9]]
    wait_for_compiling(server, 9)
    simple(server, NAMES[10], "many")
    answers = [client.recv(65536).decode() for client in select.select(running, [], [], 300)[0]]
    assert answers and all(" 429 " in answer and "others wait" in answer and "Retry-After" in answer for answer in answers), answers
    return running


def leave(server, running):
    """All leave, and what they asked for ends."""
    before = processor_time(server)
    for client in running:
        client.close()
    wait_for_compiling(server, 0)
    assert figure(server, "cogen:sequences") == 0
    return processor_time(server) - before


def check_disconnects(server):
    """Sixty clients that leave cost less than one format."""
    running = [costly(server, NAMES[i % 3], i) for i in range(60)]
    wait_for_compiling(server, 60)
    ticks = leave(server, running)
    assert ticks < 500, f"{ticks} ticks after the clients had left"
    simple(server, NAMES[0], "after")


def check_half_closed(server):
    """A client that has sent all and waits for its answer has not left."""
    client = server.send("/v1/completions", {"prompt": "x", "max_tokens": 8, "guided_choice": ["half"]}, bearer(NAMES[0]) + "Connection: close\r\n")
    assert '"half"' in read_to_end(client)
    client.close()


def check_operator(server):
    for name in (NAMES[0], NAMES[1]):
        refused = server.request("GET", "/metrics", headers={"Authorization": f"Bearer {name}"})
        assert refused.status == 403 and "--operator-key-file" in refused.text, refused.text
    assert server.request("GET", "/metrics").status == 401


def check_all(program):
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        (root / "model").mkdir()
        model = str(write_tiny_model(root / "model"))
        (root / "keys").write_text("\n".join(NAMES) + "\n", encoding="ascii")
        (root / "operators").write_text(OPERATOR + "\n", encoding="ascii")
        with CogenServer(program, model, "--api-key-file", str(root / "keys"), "--operator-key-file", str(root / "operators")) as server:
            check_operator(server)
            check_half_closed(server)
            for check in (check_others, check_own, check_many):
                leave(server, check(server))
            check_disconnects(server)


if __name__ == "__main__":
    check_all(sys.argv[1])
