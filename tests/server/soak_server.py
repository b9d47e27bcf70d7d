#!/usr/bin/env python3
"""usage: soak_server.py PROGRAM [MODEL] [--requests N] [--seed N]: sends requests of which most break off, stall, are half
or garbage, 64 at a time, and checks that the server then holds no slot and no descriptor more than before, that its
memory has not grown, and that it still answers as it did. Without MODEL, a model of one layer takes little of the time."""
import argparse
import asyncio
import json
import os
import random
import tempfile

from cogen_server import CogenServer, post
from tiny_model import write_tiny_model

PROMPTS = ["Hello", "Tell me a very long story.", "Count to ten. " * 40, "word " * 1500]


def some_request(chance):
    prompt = chance.choice(PROMPTS)
    body = {"max_tokens": chance.choice([1, 4, 30]), "stream": chance.random() < 0.5, "seed": 1}
    if chance.random() < 0.3:
        return post("/v1/completions", body | {"prompt": prompt, "n": chance.choice([1, 1, 3])})
    return post("/v1/chat/completions", body | {"messages": [{"role": "user", "content": prompt}]})


async def leave(writer):
    writer.transport.abort()


async def read_some(reader, writer, chance):
    try:
        await asyncio.wait_for(reader.read(chance.choice([1, 200])), chance.random() / 2)
    except asyncio.TimeoutError:
        pass


async def one_client(port, chance):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    kind = chance.choice(["whole", "left at once", "left while reading", "stalled", "half", "garbage", "pipelined"])
    request = some_request(chance)
    try:
        if kind == "half":
            writer.write(request[: chance.randrange(len(request))])
        elif kind == "garbage":
            writer.write(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400))) + b"\r\n\r\n")
        elif kind == "pipelined":
            writer.write(request * chance.randrange(2, 5))
        else:
            writer.write(request)
        await writer.drain()
        if kind == "whole":
            assert (await reader.readline()).startswith(b"HTTP/1.1 "), kind
        elif kind in ("left while reading", "pipelined", "half"):
            await read_some(reader, writer, chance)
        elif kind == "stalled":
            await asyncio.sleep(chance.random())
        elif kind == "garbage":
            await reader.read()
    except ConnectionError:
        pass
    await leave(writer)


async def ask(port, path, body=None):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post(path, body) if body else b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.split("content-length: ")[1].split("\r\n")[0])
    answer = await reader.readexactly(length)
    await leave(writer)
    return answer.decode()


async def held(port):
    """Sequences that the engine holds."""
    lines = (await ask(port, "/metrics")).split("\n")
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("cogen:sequences{"))


async def run(server, requests, chance):
    port = server.port
    fixed = {"prompt": "The sea is", "max_tokens": 8, "temperature": 0}
    text = json.loads(await ask(port, "/v1/completions", fixed))["choices"][0]["text"]
    rounds = 8
    figures = []
    for _ in range(rounds):
        clients = asyncio.Semaphore(64)

        async def client():
            async with clients:
                await one_client(port, chance)

        await asyncio.gather(*(client() for _ in range(requests // rounds)))
        while await held(port) > 0:
            await asyncio.sleep(0.05)
        figures.append((server.memory(), len(os.listdir(f"/proc/{server.process.pid}/fd"))))
        print(f"{figures[-1][0]:.0f} MiB, {figures[-1][1]} descriptors", flush=True)
    assert json.loads(await ask(port, "/v1/completions", fixed))["choices"][0]["text"] == text
    assert figures[-1][1] <= figures[0][1] + 4, figures
    # What slots keep of prompts goes up and down; what leaks only goes up.
    halves = figures[: rounds // 2], figures[rounds // 2 :]
    before, after = ([memory for memory, _ in half] for half in halves)
    assert min(after) < max(before) * 1.05, figures


def soak(given, model):
    with CogenServer(given.program, model, "--slots", "8") as server:
        asyncio.run(run(server, given.requests, random.Random(given.seed)))
        server.process.terminate()
        assert server.process.wait(timeout=300) == 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("model", nargs="?")
    options.add_argument("--requests", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak(given, given.model or write_tiny_model(folder))


main()
