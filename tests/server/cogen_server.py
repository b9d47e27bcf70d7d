"""Runs cogen-server for a test, and asks it."""
import contextlib
import http.client
import json
import socket
import subprocess

CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]


class Answer:
    """What came for a request."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def events(self):
        """The data of the events; the last one says that it is done."""
        lines = [line[6:] for line in self.text.split("\n") if line.startswith("data: ")]
        assert lines[-1] == "[DONE]", lines
        return [json.loads(line) for line in lines[:-1]]


class CogenServer:
    """The program, ready to answer at `address`; killed at the end where it has not gone by itself."""

    def __init__(self, program, model, *options, launcher=()):
        self.command = [*launcher, program, "--model", model, "--port", "0", *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("ready on "):
                self.address = line.split()[-1]
                self.port = int(self.address.rsplit(":", 1)[1])
                return self
        raise RuntimeError(f"{self.command} ended with {self.process.wait()} before it was ready")

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, data, headers or {})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def ask(self, path, **body):
        answer = self.post(path, body)
        assert answer.status == 200, answer.text
        return answer.json

    def chat(self, messages=None, **body):
        body = {"messages": messages or CAPITAL, "max_tokens": 16, "temperature": 0} | body
        return self.post("/v1/chat/completions", body)

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.settimeout(300)
        return client

    def send(self, path, body, headers=""):
        """A request of which nothing is read yet."""
        client = self.connect()
        client.sendall(post(path, body, headers))
        return client

    def terminate(self):
        self.process.terminate()
        assert self.process.stdout.readline() == "draining\n"

    def exit_code(self):
        return self.process.wait(timeout=300)

    def memory(self):
        """MiB that it has in memory."""
        return self.status("VmRSS")

    def peak_memory(self):
        """MiB that it has had in memory at most."""
        return self.status("VmHWM")

    def status(self, name):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith(name)).split()[1]) / 1024


def post(path, body, headers=""):
    """The bytes of a request."""
    data = json.dumps(body)
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {len(data)}\r\n\r\n{data}".encode()


def read_to_end(client):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while more := client.recv(65536):
            received += more
    return received.decode()


def read_until(client, text):
    received = ""
    while text not in received:
        more = client.recv(65536).decode()
        assert more, received
        received += more
    return received
