#!/usr/bin/env python3
"""usage: replicas_test.py PROGRAM ROUTER: scripts/replicas with the cogen-server PROGRAM. ROUTER is vllm, sglang or haproxy; ends
with 77 where that is not installed."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sys
import tempfile
import urllib.request

from cogen_server import CogenServer, read_to_end
from tiny_model import write_tiny_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONVERSATIONS, TURNS = 13, 4


def free_port():
    """One that is free with the next one, below those that servers are given."""
    while True:
        port = random.randrange(10000, 30000)
        with contextlib.suppress(OSError), socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            return port


class Replicas(CogenServer):
    """Two servers behind a router, asked like one."""

    def __init__(self, program, model, *options, router="vllm"):
        self.router = router
        self.command = [str(ROOT / "scripts/replicas"), "--server", program, "--port", str(free_port()), "--router", router, *options, "--",
                        "--model", model, "--threads", "1"]

    def processes(self):
        return [int(number) for number in re.findall(r"process (\d+) on ", "".join(self.said))]

    def urls(self):
        return re.findall(r"process \d+ on (\S+)", "".join(self.said))

    def request(self, method, path, body=None, headers=None):
        return super().request(method, path, body, {"Content-Type": "application/json"} | (headers or {}))

    def __exit__(self, *ignored):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def answer(server, messages):
    """Asks, adds the answer to the messages, and returns how many prompt tokens were cached, and how many there were."""
    said = server.chat(messages, max_tokens=48, ignore_eos=True).json
    messages.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
    return said["usage"]["prompt_tokens_details"]["cached_tokens"], said["usage"]["prompt_tokens"]


def converse(server):
    """The share of prompt tokens that were cached, over conversations side by side with a long system prompt each."""
    told = [[{"role": "system", "content": " ".join(f"word{(31 * at + 17 * number) % 997}" for at in range(100))}]
            for number in range(CONVERSATIONS)]
    counts = []
    with concurrent.futures.ThreadPoolExecutor(CONVERSATIONS) as clients:
        for turn in range(TURNS):
            for messages in told:
                messages.append({"role": "user", "content": f"Question {turn}?"})
            counts += clients.map(lambda messages: answer(server, messages), told)
    return sum(cached for cached, _ in counts) / sum(prompt for _, prompt in counts)


def metric_values(url, name):
    """Those of a metric, by its labels."""
    with urllib.request.urlopen(url) as metrics:
        lines = metrics.read().decode().splitlines()
    return {line.split(" ")[0]: float(line.split()[-1]) for line in lines if line.startswith(name + "{")}


def requests_by_server(server):
    """What the router has passed on to each, by its metrics; by those of the servers it is the same."""
    name = {"vllm": "vllm_router_processed_requests_total", "sglang": "smg_worker_cb_outcomes_total"}[server.router]
    parts = metric_values(f"http://127.0.0.1:{server.port + 1}/metrics", name)
    finished = [sum(metric_values(f"{url}/metrics", "cogen:finished_total").values()) for url in server.urls()]
    assert sorted(parts.values()) == sorted(finished), (parts, finished)
    return finished


def check_metrics_of_servers(server):
    """SGLang's router has those of all servers, with their addresses, and an underscore for the colon."""
    running = metric_values(f"{server.address}/engine_metrics", "cogen_finished_total")
    assert all(any(url in labels for labels in running) for url in server.urls()), running


def check_metrics_of_haproxy(server):
    answered = metric_values(f"http://127.0.0.1:{server.port + 1}/metrics", "haproxy_server_http_responses_total")
    assert sum(answered.values()) >= 24 and any("replica1" in labels for labels in answered), answered


def one_server_after_another(server):
    """Kills one of the servers while requests come: the other one answers them all."""
    before = [server.chat(max_tokens=4).status for _ in range(4)]
    os.kill(server.processes()[0], signal.SIGKILL)
    after = [server.chat([{"role": "user", "content": f"Number {number}?"}], max_tokens=4).status for number in range(20)]
    assert before + after == 24 * [200], (before, after)


def stream_to_its_end(server):
    """A stream that has begun when everything is asked to end comes to its end."""
    body = {"model": "tiny", "prompt": "Once", "max_tokens": 12000, "ignore_eos": True, "stream": True}
    headers = "Connection: close\r\nContent-Type: application/json\r\n"
    with contextlib.closing(server.send("/v1/completions", body, headers)) as client:
        client.recv(1)
        server.process.terminate()
        received = read_to_end(client)
    assert "data: [DONE]" in received, received[-300:]
    assert server.exit_code() == 0


def check_cached(program, model, router):
    """The router finds prefixes."""
    with CogenServer(program, model, "--threads", "1") as server:
        alone = converse(server)
    with Replicas(program, model, router=router) as server:
        aware = converse(server)
        parts = requests_by_server(server)
        if router == "sglang":
            check_metrics_of_servers(server)
    with Replicas(program, model, "--policy", "round_robin", router=router) as server:
        in_turn = converse(server)
    print(f"cached of all prompt tokens: {alone:.3f} by one server, {aware:.3f} by two with {parts} requests, "
          f"{in_turn:.3f} in turn", flush=True)
    assert len(parts) == 2 and min(parts) >= TURNS, f"requests by server: {parts}"
    assert aware > 0.95 * alone, "the router does not find prefixes"
    assert in_turn < 0.95 * aware, "no policy is needed for these conversations, so that they show nothing"


def main():
    program, router = sys.argv[1:]
    installed = pathlib.Path(os.environ.get("COGEN_DEPS", ROOT / ".deps")) / "router/installed.txt"
    if not (shutil.which("haproxy") if router == "haproxy" else installed.exists() and router in installed.read_text()):
        print(f"skipped: {router} is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        model = str(write_tiny_model(folder))
        if router != "haproxy":
            check_cached(program, model, router)
        with Replicas(program, model, router=router) as server:
            one_server_after_another(server)
            if router == "haproxy":
                check_metrics_of_haproxy(server)
        with Replicas(program, model, router=router) as server:
            stream_to_its_end(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
