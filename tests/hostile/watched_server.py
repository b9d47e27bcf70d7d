"""A server with a bystander: what one client does to it is seen in another's stream, in /health, memory and descriptors."""
import http.client
import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from cogen_server import CogenServer

ADDRESS_SPACE = 8 << 30  # bytes; what would take the machine's memory ends the server
CLOSING = 8  # descriptors: connections of the monitor that are being closed
RENEWED = 120  # s in which another story begins
SETTLED = 10  # s in which those of clients that have left must be closed, and memory given back
KEPT_MEMORY = 256  # MiB
PROBE = {"prompt": "The largest planet is", "max_tokens": 12, "temperature": 0, "logprobs": 2}
STORY = {"prompt": "Once upon a time", "max_tokens": 2000, "ignore_eos": True, "stream": True, "seed": 1}


class Seen:
    """What was seen while a client attacked."""

    def __init__(self, seconds, gap, health, peak, kept, descriptors, same_bits):
        self.seconds = seconds          # that the attack took
        self.gap = gap                  # longest, between two pieces of the bystander's stream
        self.health = health            # longest that /health took
        self.peak = peak                # MiB, most in memory meanwhile, above that before
        self.kept = kept                # MiB above it afterwards
        self.descriptors = descriptors  # open ones, above those before
        self.same_bits = same_bits      # an answer is the same, number by number, as before


class Stream(threading.Thread):
    """Reads one story after the other. Without a key all clients of an address are one. There the time that a story waits
    behind other requests does not count."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended, self.gap, self.last = server, False, 0, time.monotonic()
        self.failure, self.begun, self.renewed, self.queued = None, threading.Event(), False, True

    def renew(self):
        """Begins another story, so that none ends soon, and waits for its first token."""
        self.renewed = True
        begun = time.monotonic()
        while not self.begun.wait(0.05) or self.renewed:
            assert self.is_alive() and not self.failure, self.failure
            assert time.monotonic() - begun < RENEWED, f"the bystander's next story did not begin within {RENEWED} s"
        self.gap, self.last = 0, time.monotonic()

    def run(self):
        while not self.ended and not self.failure:
            try:
                self.read_story()
            except (OSError, http.client.HTTPException, AssertionError) as failure:
                if not self.ended:
                    self.failure = f"the bystander's stream broke: {failure!r}"

    def read_story(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        connection.request("POST", "/v1/completions", json.dumps(STORY), self.server.bystander)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        for line in response:
            if self.ended or self.renewed:
                break
            if line.startswith(b"data: "):  # and no comment, which keeps a waiting connection open
                self.note()
                self.queued = False
                assert b'"error"' not in line, line
                self.begun.set()
        self.begun.clear()
        self.renewed, self.queued = False, True
        connection.close()

    def note(self):
        now = time.monotonic()
        if not self.queued or self.server.bystander:
            self.gap = max(self.gap, now - self.last)
        self.last = now


class Monitor(threading.Thread):
    """Asks for /health, and reads the size of the process."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended, self.health, self.peak, self.failure = server, threading.Event(), 0, 0, None

    def run(self):
        while not self.ended.wait(0.05):
            begun = time.monotonic()
            try:
                assert self.server.get("/health").status == 200
                self.peak = max(self.peak, self.server.memory())
            except (OSError, http.client.HTTPException, AssertionError) as failure:
                self.failure = f"/health: {failure!r}"
                return
            self.health = max(self.health, time.monotonic() - begun)


class WatchedServer(CogenServer):
    """The program with little room, and a client that reads a long story all the time."""

    def __init__(self, program, model, *flags, key=None):
        super().__init__(program, model, *flags, launcher=("prlimit", f"--as={ADDRESS_SPACE}"))
        self.bystander = {"Authorization": f"Bearer {key}"} if key else {}

    def __enter__(self):
        super().__enter__()
        self.expected = self.probe()
        self.stream = Stream(self)
        self.stream.start()
        self.usual_gap = self.watch(lambda: time.sleep(2)).gap
        return self

    def __exit__(self, *ignored):
        self.stream.ended = True
        super().__exit__(*ignored)

    def probe(self):
        answer = self.post("/v1/completions", PROBE, headers=self.bystander)
        assert answer.status == 200, answer.text
        return answer.json["choices"]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def watch(self, attack):
        """What is seen until the attack has returned."""
        self.stream.renew()
        memory, descriptors = self.memory(), self.descriptors()
        monitor = Monitor(self)
        monitor.start()
        begun = time.monotonic()
        attack()
        seconds = time.monotonic() - begun
        self.stream.note()
        gap = self.stream.gap
        def is_settled():
            return self.descriptors() <= descriptors + CLOSING and self.memory() <= memory + KEPT_MEMORY

        while not is_settled() and time.monotonic() - begun - seconds < SETTLED:
            monitor.ended.wait(0.05)
        monitor.ended.set()
        monitor.join()
        for failure in (monitor.failure, self.stream.failure):
            assert not failure, failure
        return Seen(seconds, gap, monitor.health, max(monitor.peak - memory, 0), max(self.memory() - memory, 0),
                    self.descriptors() - descriptors, self.probe() == self.expected)
