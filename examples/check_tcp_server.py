#!/usr/bin/env python3
"""usage: check_tcp_server.py PROGRAM MODEL: asks the server example as clients do, some of which go away in the middle, and
sends it signals while it answers."""
import resource
import socket
import subprocess
import sys

CAPITAL = "What is the capital of France?"
STORY = "Tell me a very long story."


class Server:
    """The program, listening; killed at the end where it has not gone by itself."""

    def __init__(self, descriptors=None):
        self.limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors,) * 2)) if descriptors else None

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.argv[1], sys.argv[2], "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if self.limit else None,
            text=True,
            preexec_fn=self.limit,
        )
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.settimeout(120)
        return client

    def ask(self, line):
        client = self.connect()
        client.sendall(line.encode() + b"\n")
        return client

    def drain(self):
        """Sends the first signal, and returns when it has been taken up."""
        self.process.terminate()
        assert self.process.stdout.readline() == "draining\n"

    def is_closed(self):
        try:
            self.connect().close()
        except ConnectionRefusedError:
            return True
        return False

    def exit_code(self):
        return self.process.wait(timeout=120)


def read_to_end(client, received=b""):
    """What was received, and everything until the server closes or resets the connection."""
    try:
        while more := client.recv(65536):
            received += more
    except ConnectionResetError:
        pass
    return received.decode(errors="replace")


def answer(client):
    """Everything up to the end of the answer's last line; the answer itself may hold line breaks."""
    received = client.recv(65536)
    while not received.endswith(b"\n"):
        more = client.recv(65536)
        if not more:
            break
        received += more
    return received.decode()


with Server() as server:
    leaving = [server.ask(STORY) for _ in range(20)]
    staying = [server.ask(CAPITAL) for _ in range(4)]
    for client in leaving:
        client.close()  # more clients left than there are slots: the others are served all the same
    answers = [answer(client) for client in staying]
    for text in answers:
        print(text, end="")
        assert "Paris" in text, text
    assert len(set(answers)) == 1, answers
    teller = server.ask(STORY)
    begun = teller.recv(1)
    server.drain()
    story = read_to_end(teller, begun)
    assert len(story) > 100 and story.endswith("\n"), story
    assert server.exit_code() == 0
print("four clients were answered while twenty left")

with Server() as server:
    refused = server.ask("word " * 12500)
    text = answer(refused)
    assert text.startswith("error: ") and "8192" in text, text
    refused.sendall(CAPITAL.encode() + b"\n")
    assert "Paris" in answer(refused)
print("a request that does not fit was answered with an error, and the next one served")

with Server() as server:
    idle = server.connect()
    stories = [server.ask(STORY) for _ in range(20)]  # more than there are slots
    begun = [client.recv(1) for client in stories[:16]] + 4 * [b""]
    server.drain()
    assert server.is_closed()
    idle.sendall(b"Hello.\n")
    texts = [read_to_end(client, first) for client, first in zip(stories, begun)]
    assert set(texts) == {story}, (story, texts)
    assert "draining" in read_to_end(idle)
    assert server.exit_code() == 0
print("twenty answers came to their end after a signal")

with Server() as server:
    stories = [server.ask(STORY) for _ in range(200)]
    stories[0].recv(1)
    server.drain()
    server.process.terminate()
    assert server.exit_code() == 0
    assert any(read_to_end(client) != story for client in stories[1:])
print("a second signal stopped it at once")

with Server(descriptors=24) as server:
    crowd = [server.connect() for _ in range(40)]
    assert server.process.stderr.readline() == "cannot accept a client: Too many open files\n"
    for client in crowd:
        client.close()
    assert "Paris" in answer(server.ask(CAPITAL))
print("a client was served after others had taken all descriptors")
