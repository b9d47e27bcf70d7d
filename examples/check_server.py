#!/usr/bin/env python3
"""usage: check_server.py PROGRAM MODEL: asks the server example as clients do, some of which go away in the middle."""
import socket
import subprocess
import sys


def ask(port, line):
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(line.encode() + b"\n")
    return client


def answer(client):
    """Everything up to the end of the answer's last line; the answer itself may hold line breaks."""
    received = client.recv(65536)
    client.settimeout(60)
    while not received.endswith(b"\n"):
        more = client.recv(65536)
        if not more:
            break
        received += more
    return received.decode()


server = subprocess.Popen([sys.argv[1], sys.argv[2], "0"], stdout=subprocess.PIPE, text=True)
try:
    port = int(server.stdout.readline().rsplit(":", 1)[1])
    leaving = [ask(port, "Tell me a very long story.") for _ in range(20)]
    staying = [ask(port, "What is the capital of France?") for _ in range(4)]
    for client in leaving:
        client.close()  # more clients left than there are slots: the others are served all the same
    answers = [answer(client) for client in staying]
    for text in answers:
        print(text, end="")
        assert "Paris" in text, text
    assert len(set(answers)) == 1, answers
finally:
    server.terminate()
    assert server.wait(timeout=60) == 0
print("four clients were answered while twenty left")
