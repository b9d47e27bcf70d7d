"""Runs cogen-server for a test."""
import json
import subprocess


class CogenServer:
    """The program, ready to answer at `address`; killed at the end where it has not gone by itself."""

    def __init__(self, program, model, *options):
        self.command = [program, "--model", model, "--port", "0", *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("ready on "):
                self.address = line.split()[-1]
                self.port = int(self.address.rsplit(":", 1)[1])
                return self
        raise RuntimeError(f"{self.command} ended with {self.process.wait()} before it was ready")

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def memory(self):
        """MiB that it has in memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024


def post(path, body, headers=""):
    """The bytes of a request."""
    data = json.dumps(body)
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(data)}\r\n\r\n{data}".encode()
