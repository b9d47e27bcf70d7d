#!/usr/bin/env python3
"""Checks scripts/compare-model with a server that answers as llama.cpp's does: what agrees, what differs, and one that
ends. The server is this file, started again."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "scripts/compare-model"
RECORD = {"text": "a b c", "tokens": [5, 6, 7], "logprobs": [0, -1, -2], "continuation": [8, 9]}


class LlamaServer(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        self.answer({"status": "ok"})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            assert asked["content"] == RECORD["text"]
            self.answer({"tokens": json.loads(os.environ["TOKENS"])})
        else:
            assert asked["prompt"] == RECORD["tokens"] and asked["n_predict"] == len(RECORD["continuation"])
            self.answer({"tokens": json.loads(os.environ["CONTINUATION"])})

    def log_message(self, *_):
        pass


def serve(arguments):
    if os.environ["TOKENS"] == "none":
        sys.exit(3)
    address = ("127.0.0.1", int(arguments[arguments.index("--port") + 1]))
    http.server.ThreadingHTTPServer(address, LlamaServer).serve_forever()


def compare(folder, tokens, continuation):
    record = pathlib.Path(folder) / "record.json"
    record.write_text(json.dumps(RECORD))
    environment = os.environ | {"TOKENS": tokens, "CONTINUATION": continuation}
    return subprocess.run([sys.executable, str(PROGRAM), "--llama-server", str(pathlib.Path(__file__).resolve()), str(record),
                           "model.gguf"], env=environment, text=True, capture_output=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        same = compare(folder, "[5, 6, 7, 4]", "[8, 9]")  # the text may be longer than the record
        assert same.returncode == 0, same.stderr
        assert "the same 3 tokens\n" in same.stdout and "the same 2 tokens come next" in same.stdout, same.stdout
        assert same.stdout.endswith("agrees\n")
        near = compare(folder, "[5, 6, 7]", "[8, 1]")
        assert near.returncode == 0 and "the same 1 tokens come next, then others" in near.stdout, near.stdout
        other = compare(folder, "[1, 5, 6]", "[8, 9]")
        assert other.returncode == 1 and "other tokens from token 0 on: [1, 5, 6] for [5, 6, 7]" in other.stdout, other.stdout
        ended = compare(folder, "none", "[]")
        assert ended.returncode == 1 and "ended with status 3 while it loaded the model" in ended.stderr, ended.stderr


if __name__ == "__main__":
    serve(sys.argv) if "--port" in sys.argv else main()
