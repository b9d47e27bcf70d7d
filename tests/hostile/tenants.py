"""One key's requests for what belongs to another's."""
import contextlib
import http.client
import json
import socket
import time

from cogen_server import read_until
from formats import SCHEMAS, large_class

FIRST, SECOND, BYSTANDER = "first", "second", "bystander"
KEYS = (FIRST, SECOND, BYSTANDER)
SECRET = "The secret launch code of project Halcyon is seven four one nine, and it was written down by the treasurer in March. " * 3


def ask(server, key, path, body=None, method="POST"):
    return server.request(method, path, body, {"Authorization": f"Bearer {key}"})


def keep(server, key, slot, prompt=SECRET):
    answer = ask(server, key, "/completion", {"prompt": prompt, "n_predict": 1, "id_slot": slot})
    assert answer.status == 200, answer.text


def statuses(*answers):
    return " ".join(str(answer.status) for answer in answers)


def read_slot(server):
    keep(server, FIRST, 7)
    answer = ask(server, SECOND, "/slots/7/session", method="GET")
    assert answer.status == 404, f"another key's slot: {answer.status}, {len(answer.text)} bytes"
    return statuses(answer)


def use_slot(server):
    """A slot of the same number is the second key's own one, and nothing is taken over."""
    keep(server, FIRST, 8)
    answer = ask(server, SECOND, "/completion", {"prompt": SECRET, "n_predict": 1, "id_slot": 8}).json
    cached = answer.get("tokens_cached", 0), answer.get("timings", {}).get("cache_n", 0)
    assert cached[1] == 0, f"{cached[1]} tokens came from another key's slot"
    erased = ask(server, SECOND, "/slots/9?action=erase", {})
    assert erased.status in (400, 404), erased.text
    return f"{cached[1]} tokens cached"


def read_saved_file(server):
    keep(server, FIRST, 7)
    saved = ask(server, FIRST, "/slots/7?action=save", {"filename": "firsts.bin"})
    assert saved.status == 200, saved.text
    stolen = ask(server, SECOND, "/slots/9?action=restore", {"filename": "firsts.bin"})
    assert 400 <= stolen.status < 500, f"another key's file was restored: {stolen.text}"
    for name in ("../firsts.bin", "/etc/passwd", "x/../../firsts.bin", ".", "..", "", "a" * 5000, "a\0b"):
        answer = ask(server, SECOND, "/slots/9?action=restore", {"filename": name})
        assert 400 <= answer.status < 500, (name, answer.text)
    keep(server, SECOND, 10, "x")
    over = ask(server, SECOND, "/slots/10?action=save", {"filename": "firsts.bin"})
    assert over.status == 200, over.text
    own = ask(server, FIRST, "/slots/11?action=restore", {"filename": "firsts.bin"})
    assert own.status == 200 and own.json["n_restored"] == saved.json["n_saved"], (own.text, saved.text)
    return statuses(saved, stolen, over, own)


def erase_slot(server):
    keep(server, FIRST, 12)
    answer = ask(server, SECOND, "/slots/12?action=erase", {})
    assert answer.status == 404, answer.text
    return statuses(answer)


def see_requests(server):
    seen = ask(server, SECOND, "/slots", method="GET")
    assert seen.status == 200, seen.text
    busy = [slot for slot in seen.json if slot.get("is_processing")]
    assert not busy, f"{len(busy)} slots of others are shown"
    return f"{len(seen.json)} slots, none of others"


def ask_for_cached_tokens(server):
    """The oracle: whether a guess is the beginning of what another has asked."""
    def cached(key, **body):
        answer = ask(server, key, "/v1/completions", {"max_tokens": 1} | body)
        assert answer.status == 200, answer.text
        return answer.json["usage"]["prompt_tokens_details"]["cached_tokens"]

    asked = "Nobody else has asked this. " + SECRET  # so that nothing of it is the second key's own
    cached(FIRST, prompt=asked)
    cached(FIRST, prompt=asked, cache_salt="pepper")
    told = [cached(SECOND, prompt=prompt, **salt) for prompt in (asked + "1", asked[:150] + "2")
            for salt in ({}, {"cache_salt": "pepper"}, {"cache_salt": "1"}, {"cache_salt": "1:pepper"}, {"cache_salt": ":pepper"})]
    own = cached(FIRST, prompt=asked)
    assert own > 0, "a key's own prompts are not cached"
    # Its own earlier guesses count.
    assert told[0] == 0, f"{told} tokens were told to another key"
    return f"{told[0]} told, {own} of its own"


def keep_many_slots(server):
    for slot in range(100, 300):
        keep(server, SECOND, slot, [5] * 3000)
    return "200 slots of 3,000 tokens"


def upload_a_forged_session(server):
    keep(server, FIRST, 13)
    answer = ask(server, SECOND, "/slots/13/session", b"cogen" + bytes(5000), "PUT")
    assert 400 <= answer.status < 500, answer.text
    return statuses(answer)


LONG = 3000  # tokens of a session of 70 MB


def download(server, slot):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("GET", f"/slots/{slot}/session", headers={"Authorization": f"Bearer {SECOND}"})
    response = connection.getresponse()
    assert response.status == 200, response.status
    session = response.read()
    connection.close()
    return session


def sessions_unread(server):
    """Clients that ask for a session and do not read it."""
    keep(server, SECOND, 14, [5] * LONG)
    clients = [server.connect() for _ in range(24)]
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"GET /slots/14/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECOND}\r\n\r\n".encode())
    time.sleep(4)
    for client in clients:
        client.close()
    return f"{len(clients)} clients left"


def sessions_half_sent(server):
    """Sessions of which nearly all comes, and then nothing."""
    keep(server, SECOND, 15, [5] * LONG)
    session = download(server, 15)
    head = f"PUT /slots/16/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECOND}\r\nContent-Length: {len(session)}\r\n\r\n"
    clients, sent = [server.connect() for _ in range(24)], 0
    for client in clients:
        client.settimeout(1)
        client.sendall(head.encode())
        with contextlib.suppress(OSError):
            client.sendall(session[:-9])
            sent += 1
    for client in clients:
        client.close()
    return f"{sent} of {len(clients)} were taken"


def take_all_slots(server):
    """One client's n is its own burden."""
    body = json.dumps({"prompt": ["x"] * 64, "n": 16, "max_tokens": 16, "ignore_eos": True})
    answer = ask(server, SECOND, "/v1/completions", body)
    assert answer.status in (200, 400, 429, 503), answer.text
    return statuses(answer)


def costly_format(number):
    schema = SCHEMAS["patternProperties, 200"] | {"title": str(number)}
    return {"prompt": "x", "max_tokens": 4, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


def compile_for(server, keys):
    """Clients of these keys whose formats take long, and of which nothing is read."""
    return [server.send("/v1/completions", costly_format(i), f"Authorization: Bearer {key}\r\n") for i, key in enumerate(keys)]


def compile_beside(server):
    """Formats of one key pass those of others that take long."""
    running = compile_for(server, [FIRST, SECOND] * 3)
    answers = [ask(server, BYSTANDER, "/v1/completions", {"prompt": "x", "max_tokens": 4, "guided_choice": [f"text {i}"]}) for i in range(10)]
    for client in running:
        client.close()
    assert all(answer.status == 200 for answer in answers), answers[0].text
    return statuses(*answers)


def compile_large(server):
    """Grammars that take hundreds of mebibytes each, of several keys at once."""
    clients = [server.send("/v1/completions", {"prompt": "x", "max_tokens": 1, "response_format": {"type": "grammar", "grammar": large_class(i)}},
                           f"Authorization: Bearer {key}\r\n") for i, key in enumerate(KEYS)]
    answers = [read_until(client, "\r\n\r\n").split()[1] for client in clients]
    for client in clients:
        client.close()
    assert set(answers) <= {"200", "400", "429"}, answers
    return " ".join(answers)


def leave_while_compiling(server):
    """Two hundred clients that leave cost no format."""
    for client in compile_for(server, [FIRST, SECOND] * 100):
        client.close()
    answers = [ask(server, key, "/v1/completions", {"prompt": "x", "max_tokens": 4, "guided_choice": [key]}) for key in (FIRST, SECOND)]
    assert all(answer.status == 200 for answer in answers), answers[0].text
    return statuses(*answers)


def read_figures(server):
    answer = ask(server, SECOND, "/metrics", method="GET")
    assert answer.status == 403, answer.text[:200]
    return statuses(answer)


CASES = {"another key's slot, read": read_slot, "another key's slot, used": use_slot, "another key's slot, erased": erase_slot,
         "another key's saved file": read_saved_file, "another key's requests in /slots": see_requests,
         "whether another key has asked this": ask_for_cached_tokens, "200 slots kept": keep_many_slots,
         "a forged session": upload_a_forged_session, "24 sessions that nobody reads": sessions_unread,
         "24 sessions without their ends": sessions_half_sent, "1,024 answers for one client": take_all_slots,
         "formats that take long, of two keys": compile_beside, "large grammars of three keys": compile_large,
         "200 clients that leave their formats": leave_while_compiling,
         "the figures of all keys": read_figures}
