#!/usr/bin/env python3
"""usage: check_errors.py MODEL PROGRAM...: what goes wrong is one line on standard error, and the exit status says so. MODEL
has no chat template."""
import os
import socket
import subprocess
import sys

NEEDS_ARGUMENT = ("hello", "embed", "check_model", "other_models")
NOWHERE = "/no/such/model"


def fails(program, *arguments):
    """What it says when it fails."""
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    told = (program, arguments, done)
    assert done.returncode in (1, 2), told
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), told
    assert "/examples/" not in done.stderr and "terminate" not in done.stderr, told
    return done.stderr


model, programs = sys.argv[1], {os.path.basename(path): path for path in sys.argv[2:]}
for name, path in programs.items():
    arguments = {"demo": ["--model"], "session": ["/no/such/session"]}.get(name, [])
    assert NOWHERE in fails(path, *arguments, NOWHERE), name
    if name in NEEDS_ARGUMENT:
        assert fails(path).startswith("usage: " + name), name
assert "template" in fails(programs["hello"], model)
assert "--requests" in fails(programs["demo"], "--requests", "0")
assert "positional" in fails(programs["demo"], "model.gguf")
for port in ("x", "65536", "-1", ""):
    assert f"the port is {port};" in fails(programs["tcp_server"], model, port)
with socket.create_server(("127.0.0.1", 0)) as taken:
    number = str(taken.getsockname()[1])
    assert f"port {number}: Address already in use\n" in fails(programs["tcp_server"], model, number)
print(f"{len(programs)} programs print what goes wrong")
