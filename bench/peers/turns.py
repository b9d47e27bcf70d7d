"""What turns of a conversation find in the prefix cache: cogen beside llama.cpp's server on the same GGUF file.

Both get the same token ids, greedy, one request at a time. Before the restart llama.cpp's server is asked to save its
slot, and afterwards to restore it; both are counted in the last column.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPS = pathlib.Path(os.environ.get("COGEN_DEPS", ROOT / ".deps"))
PHASES = ["first turn", "second turn", "other conversation", "a text", "parted text", "after a restart"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=pathlib.Path, default=DEPS / "model/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--cogen", type=pathlib.Path, default=ROOT / "build/release/bench/turns")
    parser.add_argument("--llama-server", type=pathlib.Path, help="llama.cpp's server; none: cogen alone")
    parser.add_argument("--port", type=int, default=18211)
    parser.add_argument("--rounds", type=int, default=3, help="of which the median is shown")
    for name, default in (("system", 1024), ("message", 128), ("answer", 32), ("text", 4096)):
        parser.add_argument(f"--{name}", type=int, default=default, help="tokens")
    return parser.parse_args()


def message(number, length, end):
    return [(number * 1009 + j * 131 + 17) % 40000 + 64 for j in range(length - 1)] + [end]


def text(number, length, end):
    """The last quarter is its own."""
    shared = length // 4 * 3
    return message(6, length, end)[:shared] + message(number, length, end)[shared:-1]


def cogen(given, compute_type):
    with tempfile.TemporaryDirectory() as folder:
        command = [given.cogen, "--model", given.model, "--compute-type", compute_type, "--directory", folder]
        for name in ("system", "message", "answer", "text"):
            command += [f"--{name}", str(getattr(given, name))]
        printed = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


class LlamaServer:
    def __init__(self, given, folder):
        self.base, self.answer = f"http://127.0.0.1:{given.port}", given.answer
        length = max(given.system + 8 * (given.message + given.answer), given.text + given.answer)
        command = [given.llama_server, "--model", given.model, "--port", given.port, "--parallel", 1, "--ctx-size", length,
                   "--slot-save-path", folder, "--threads", len(os.sched_getaffinity(0)), "--no-warmup"]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.ready():
            if self.process.poll() is not None:
                raise SystemExit(f"turns: {given.llama_server} ended with status {self.process.returncode}")
            time.sleep(0.2)

    def ready(self):
        try:
            return urllib.request.urlopen(self.base + "/health").status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def post(self, path, what):
        body = urllib.request.Request(self.base + path, json.dumps(what).encode(), {"Content-Type": "application/json"})
        return urllib.request.urlopen(body)

    def generate(self, prompt, phase):
        start, first, tokens, last = time.monotonic(), None, [], {}
        asked = {"prompt": prompt, "n_predict": self.answer, "temperature": 0, "top_k": 1, "cache_prompt": True,
                 "ignore_eos": True, "return_tokens": True, "stream": True}
        for line in self.post("/completion", asked):
            if not line.startswith(b"data: {"):
                continue
            last = json.loads(line[6:])
            tokens += last.get("tokens", [])
            first = first or time.monotonic() - start
        cached = last.get("timings", {}).get("cache_n", 0)
        return {"phase": phase, "prompt": len(prompt), "cached": cached, "first_token": first, "tokens": tokens}

    def timed(self, path, what):
        start = time.monotonic()
        self.post(path, what).read()
        return time.monotonic() - start

    def close(self):
        self.process.terminate()
        self.process.wait()


def llama(given, end):
    with tempfile.TemporaryDirectory() as folder:
        server = LlamaServer(given, folder)
        one, results = message(1, given.system, end) + message(2, given.message, end), []
        for phase, number in (("first turn", 3), ("second turn", 5)):
            results.append(server.generate(one, phase))
            one += results[-1]["tokens"] + [end] + message(number, given.message, end)
        saved = server.timed("/slots/0?action=save", {"filename": "slot"})
        results.append(server.generate(message(1, given.system, end) + message(4, given.message, end), "other conversation"))
        for phase, number in (("a text", 6), ("parted text", 7)):
            results.append(server.generate(text(number, given.text, end), phase))
        server.close()
        server = LlamaServer(given, folder)
        restored = server.timed("/slots/0?action=restore", {"filename": "slot"})
        results.append(server.generate(one, "after a restart"))
        results[-1]["first_token"] += saved + restored
        server.close()
    return results


def agreeing(a, b):
    """Tokens of the first answers until they differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def median(rounds, phase):
    return sorted(rounds, key=lambda each: each[phase]["first_token"])[len(rounds) // 2][phase]


def end_token(model):
    import model_shape
    return model_shape.fields_and_tensors(model)[0]["tokenizer.ggml.eos_token_id"]


def main():
    given = arguments()
    end = end_token(given.model)
    systems = {f"cogen {each}": lambda each=each: cogen(given, each) for each in ("int8", "float32")}
    if given.llama_server:
        systems["llama.cpp"] = lambda: llama(given, end)
    found = {name: [] for name in systems}
    for _ in range(given.rounds):
        for name, measure in systems.items():
            found[name].append(measure())
    print("seconds until the first token (of the prompt's tokens, those found)\n")
    print("| | " + " | ".join(PHASES) + " | first answer as float32 |")
    print("| --- |" + " ---: |" * (len(PHASES) + 1))
    exact = found["cogen float32"][0][0]["tokens"]
    for name, rounds in found.items():
        cells = [median(rounds, phase) for phase in range(len(PHASES))]
        texts = [f"{each['first_token']:.3f} ({each['cached']} of {each['prompt']})" for each in cells]
        print(f"| {name} | {' | '.join(texts)} | {agreeing(exact, rounds[0][0]['tokens'])} of {given.answer} |")


if __name__ == "__main__":
    main()
