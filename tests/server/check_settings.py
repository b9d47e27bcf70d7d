#!/usr/bin/env python3
"""usage: check_settings.py PROGRAM MODEL: asks the HTTP server what it does, and starts it with other flags."""
import json
import subprocess
import sys
import tempfile

from cogen_server import read_to_end, read_until
from server_checks import STORY, check_all, served


def check_state(server):
    def metric(name):
        lines = server.get("/metrics").text.split("\n")
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((name + "{", name + " ")))

    assert server.chat().status == 200
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
    with served("--slots", "1", "--queue", "1", "--metrics-names", "vllm", "--max-length", "512") as server:
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


def check_keys():
    with tempfile.NamedTemporaryFile("w") as keys:
        keys.write("first\nsecond\n")
        keys.flush()
        with served("--api-key-file", keys.name, "--cors", "https://page.example", "--max-body-bytes", "1000") as server:
            assert server.get("/health").status == 200 and server.get("/v1/models").status == 200
            body = {"prompt": "x", "max_tokens": 1}
            assert server.post("/v1/completions", body).status == 401
            assert server.post("/v1/completions", body, headers={"Authorization": "Bearer third"}).status == 401
            assert server.post("/v1/completions", body, headers={"Authorization": "Bearer second"}).status == 200
            assert server.post("/v1/completions", body, headers={"x-api-key": "first"}).status == 200
            asked = server.request("OPTIONS", "/v1/completions")
            assert asked.status == 204 and asked.headers["access-control-allow-origin"] == "https://page.example"
            assert server.post("/v1/completions", "x" * 1001, headers={"x-api-key": "first"}).status == 413
            for path, key, status in [("/v1/completions", "third", 401), ("/nothing", "first", 404), ("/health", "first", 405), ("/v1/completions", "first", 413)]:
                client = server.connect()  # the body, which does not come, is not waited for
                client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n".encode())
                assert read_to_end(client).startswith(f"HTTP/1.1 {status} "), path
            page = {"Origin": "https://page.example", "x-api-key": "first"}
            assert server.post("/v1/completions", body, headers=page | {"Content-Type": "application/json; charset=utf-8"}).status == 200
            assert server.post("/v1/completions", body, headers=page).status == 415


def check_command_line():
    def run(*flags):
        return subprocess.run([sys.argv[1], *flags], capture_output=True, text=True, timeout=300)

    assert run("--help").returncode == 0 and "--model" in run("--help").stdout
    for flags, word in [([], "--model"), (["--port", "x"], "port"), (["--model", sys.argv[2], "--port", "70000"], "70000"),
                        (["--model", sys.argv[2], "--compute-type", "int3"], "int3"), (["--nothing"], "nothing"),
                        (["--model", sys.argv[2], "--device-weights", "q4"], "whole, stored, int8, int4 or fp8"),
                        (["--model", "a,b=" + sys.argv[2], "--model", "b=" + sys.argv[2]], "other names"),
                        (["--model", sys.argv[2], "--chat-template-file", "/nowhere"], "/nowhere")]:
        ended = run(*flags)
        assert ended.returncode == 2 and word in ended.stderr and ended.stderr.count("\n") == 1, (flags, ended)
    assert run("--version").returncode == 0 and run("--version").stdout.startswith("cogen-server ") and run("--version").stdout.count("\n") == 1
    with served() as server:
        taken = run("--model", sys.argv[2], "--port", str(server.port))
        assert taken.returncode == 1 and f"cannot listen on 127.0.0.1:{server.port}: Address already in use\n" in taken.stderr, taken
        assert taken.stderr.count("\n") == 1, taken
    for host, shown in [("192.0.2.1", "192.0.2.1:0"), ("nobody.invalid", "nobody.invalid:0"), ("2001:db8::1", "[2001:db8::1]:0")]:
        refused = run("--model", sys.argv[2], "--host", host, "--port", "0")
        assert refused.returncode == 1 and f"cannot listen on {shown}: " in refused.stderr and refused.stderr.count("\n") == 1, refused
        assert "/" not in refused.stderr and "[system" not in refused.stderr, refused
    missing = run("--model", "/nowhere.gguf", "--port", "0")
    assert missing.returncode == 1 and "/nowhere.gguf" in missing.stderr, missing


check_all(shared=[check_state], own=[check_limits, check_keys, check_command_line])
