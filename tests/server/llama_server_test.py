#!/usr/bin/env python3
"""usage: llama_server_test.py SERVER MODEL FOLDER [pytest's arguments]: runs llama-server's own tests against the server,
from the folder that scripts/server-tests has made."""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77  # as tests/server/CMakeLists.txt says
FILES = ["basic", "completion", "chat_completion", "tokenize", "template", "ignore_eos", "ctx_shift", "security", "metrics",
         "slot_save", "stream", "compat_anthropic", "compat_oai_responses"]

server, model, folder = map(pathlib.Path, sys.argv[1:4])
suite = folder / "llama.cpp/tools/server/tests"
if not suite.exists():
    print("skipped: run scripts/server-tests first")
    sys.exit(SKIPPED)
here = pathlib.Path(__file__).resolve().parent / "llama_server"
environment = {**os.environ, "COGEN_SERVER": str(server.resolve()), "COGEN_MODEL": str(model.resolve()),
               "LLAMA_SERVER_BIN_PATH": str(here / "launcher"), "PYTHONPATH": f"{here}:{suite}", "PYTHONDONTWRITEBYTECODE": "1"}
command = [folder / "python/bin/python", "-m", "pytest", "-p", "left_out_cases", "-p", "no:cacheprovider", "-q", "-rs", "--tb=short"]
cases = sys.argv[4:] or [f"unit/test_{name}.py" for name in FILES]
sys.exit(subprocess.run([*command, *cases], cwd=suite, env=environment).returncode)
