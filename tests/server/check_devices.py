#!/usr/bin/env python3
"""usage: check_devices.py PROGRAM MODEL: serves from a device of LibTorch's, and is refused one that does not exist."""
import subprocess
import sys

from server_checks import served


def check_reference():
    with served("--device", "reference", "--slots", "2", "--max-length", "256") as server:
        answer = server.post("/v1/completions", {"prompt": "Two and two is", "max_tokens": 3, "temperature": 0})
        assert answer.status == 200 and answer.json["usage"]["completion_tokens"] == 3, answer.text


def check_unknown():
    refused = subprocess.run([sys.argv[1], "--model", sys.argv[2], "--device", "nowhere", "--port", "0"],
                             capture_output=True, text=True, timeout=120)
    assert refused.returncode != 0 and '"nowhere"' in refused.stderr, refused


for check in check_reference, check_unknown:
    check()
    print(check.__name__, "passed", flush=True)
