#!/usr/bin/env python3
"""usage: idle_streams.py PROGRAM MODEL [--clients N] [--seconds N]: opens connections without requests, and then streams, of
which one is generated while the others wait for its slot and get a ping each second; asks /health beside each, and prints
how long that takes and what memory a client costs."""
import argparse
import socket
import statistics
import time

from cogen_server import CogenServer, post

STREAM = {"prompt": "Once upon a time", "max_tokens": 4000, "ignore_eos": True, "stream": True}


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port))


def open_streams(server, count):
    """Streams that have all begun."""
    clients = [connect(server) for _ in range(count)]
    for client in clients:
        client.sendall(post("/v1/completions", STREAM))
    for client in clients:
        client.recv(1)
    return clients


def health_times(server, seconds):
    """Milliseconds of requests that follow each other on a connection."""
    client = connect(server)
    times = []
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
        times.append(1000 * (time.perf_counter() - begin))
    client.close()
    return times


def report(what, times, kibibytes=None):
    cuts = statistics.quantiles(times, n=100)
    memory = "" if kibibytes is None else f", {kibibytes:.1f} KiB each"
    print(f"{what}: /health p50 {cuts[49]:.3f} ms, p99 {cuts[98]:.3f} ms{memory}", flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("model")
    options.add_argument("--clients", type=int, default=1000)
    options.add_argument("--seconds", type=float, default=5)
    given = options.parse_args()
    flags = ["--slots", "1", "--queue", "4000", "--ping-interval", "1"]
    with CogenServer(given.program, given.model, *flags) as server:
        report("alone", health_times(server, given.seconds))
        for what, open_clients in (("connections", lambda count: [connect(server) for _ in range(count)]),
                                   ("streams", lambda count: open_streams(server, count))):
            before = server.memory()
            clients = open_clients(given.clients)
            times = health_times(server, given.seconds)
            report(f"{given.clients} idle {what}", times, 1024 * (server.memory() - before) / given.clients)
            for client in clients:
                client.close()


main()
