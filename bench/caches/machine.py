"""What is measured: the program's parts, and both systems' decode steps in turns."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def kinds_of(program):
    done = subprocess.run([program, "--list-kinds"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def records_of(command):
    """The JSON objects that a command prints, one after the other; its progress goes to standard error."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        sys.exit(f"curves: {' '.join(map(str, command))} ended with status {process.returncode}")


class Stopwatch:
    """A process that times decode steps: it gets KIND LENGTH STEPS and answers with one JSON object."""

    def __init__(self, system, kinds, command):
        self.system, self.kinds = system, kinds
        quiet = {} if sys.stderr.isatty() else {"TQDM_DISABLE": "1"}
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **quiet})

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"curves: {self.system} ended with status {self.process.wait()}")
        return json.loads(line)

    def measure(self, kind, length, steps):
        self.process.stdin.write(f"{kind} {length} {steps}\n")
        self.process.stdin.flush()
        return {"system": self.system, **self.read()}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def cogen(given, kinds, lengths, steps, blocks):
    return Stopwatch("cogen", kinds, [
        given.cogen, "latency", "--serve", "--model", given.model, "--text", given.text, "--kinds", ",".join(kinds),
        "--lengths", ",".join(map(str, lengths)), "--steps", steps, "--blocks", blocks])


def transformers(given, dtype, kinds, steps, blocks):
    watch = Stopwatch(f"Transformers {dtype}", kinds, [
        sys.executable, HERE / "transformers_steps.py", "--model", given.model, "--text", given.text, "--dtype", dtype,
        "--steps-in-all", steps * (2 * blocks + 1)])
    watch.version = watch.read()["ready"]
    return watch
