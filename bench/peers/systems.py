"""The systems, and the processes in which they run."""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


class Ended(Exception):
    """A system's process is there no more, or did not do what it was asked to."""


@dataclasses.dataclass(frozen=True)
class System:
    key: str                  # as --systems names it
    name: str                 # as the page names it
    command: tuple            # but for the model
    model: pathlib.Path
    keeps_prompts: tuple = () # what the command takes so that prompts that were read before are not read again
    environment: tuple = ()
    static: bool = False      # all requests of a batch begin and end together, and prompts are read each time
    largest: int = 1 << 30    # tokens of prompts that it is asked to hold
    parts: tuple = ()         # the only parts it takes part in; none: all

    @property
    def ours(self):
        return self.key.startswith("cogen")

    def start(self, keeps_prompts=False):
        return Server(self, self.keeps_prompts if keeps_prompts else ())


class Server:
    """A process that runs jobs: see jobs.py."""

    def __init__(self, system, more):
        self.system, self.begun = system, time.monotonic()
        environment = {**os.environ, "TQDM_DISABLE": "1", **dict(system.environment)}
        self.process = subprocess.Popen(list(map(str, (*system.command, "--model", system.model, *more))), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        hello = self.answer("hello")
        self.hello_seconds, self.imports, self.hello_mib = self.age(), hello.get("imports", 0.0), self.peak_mib()
        ready = self.answer("ready")
        self.about, self.weight_bytes = ready["ready"], ready.get("weight_bytes")
        self.ready_seconds = self.age()

    def age(self):
        return time.monotonic() - self.begun

    def answer(self, field):
        """The next object with the field; a library may print to the same pipe, too."""
        for line in self.process.stdout:
            if line.startswith("{"):
                found = json.loads(line)
                if field in found:
                    return found
        raise Ended(f"{self.system.name} ended with status {self.process.wait()}")

    def run(self, job):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(job.line() + "\n")
            self.process.stdin.flush()
        times = self.answer("times")["times"]
        if [len(each) for each in times] != [job.new_tokens] * len(job.arrivals):
            raise Ended(f"{self.system.name} did not bring {job.new_tokens} tokens for each of "
                        f"{len(job.arrivals)} requests")
        return times

    def status(self, field):
        """Megabytes, as the kernel counts them for this process."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))

    def peak_mib(self):
        return self.status("VmHWM")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


@functools.cache
def path_of(*script):
    """What a script of this folder prints: it sets up what is not there yet."""
    done = subprocess.run([HERE / script[0], *script[1:]], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compare: {script[0]} ended with status {done.returncode}")
    return pathlib.Path(done.stdout.strip())


def rewritten(given, form):
    """The model in another number format."""
    path = given.rewritten / f"{given.model.stem}.{form}.gguf"
    if not path.exists() or path.stat().st_mtime < given.model.stat().st_mtime:
        subprocess.run([path_of("python", "openvino"), HERE / "rewrite.py", "--model", given.model, "--to", form, "--out",
                        path], check=True)
    return path


def exported(given, form):
    """The model as OpenVINO's own files, in a folder."""
    path = given.rewritten / f"{given.model.stem}.openvino-{form}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([path_of("python", "openvino-export"), HERE / "openvino_export.py", "--model",
                        given.folder or given.model, "--to", form, "--out", path], check=True)
    return path


def cogen(given, key, name, *more, environment=()):
    return System(key, name, (given.cogen, "--serve", *more), given.model, ("--prefix-caching",), tuple(environment))


def llama(given, key, name, form=None, **more):
    return System(key, name, (path_of("llama/driver"),), rewritten(given, form) if form else given.model, ("--prefix-caching",),
                  **more)


def openvino(given, key, name, *properties, form=None, model=None, batch=512, **more):
    command = [path_of("python", "openvino"), HERE / "openvino_serve.py", "--batch", batch]
    for each in properties:
        command += ["--property", each]
    model = model or (rewritten(given, form) if form else given.model)
    return System(key, name, tuple(command), model, ("--prefix-caching",), **more)


def transformers(given, key, name, dtype):
    command = (path_of("python", "transformers"), HERE / "transformers_serve.py", "--dtype", dtype)
    return System(key, name, command, given.folder or given.model, static=True, largest=16384,
                  parts=("decode", "prefill", "background", "memory", "loading"))


STEPS_MATTER = ("prefill", "arrivals")
MEDIUM = 1 << 16
PASSIVE = (("OMP_WAIT_POLICY", "passive"),)
MAKERS = {
    "cogen-int8": lambda given, key: cogen(given, key, "cogen int8", "--compute-type", "int8"),
    "cogen-int8-cache": lambda given, key: cogen(given, key, "cogen int8, int8 cache", "--compute-type", "int8",
                                                 "--kv-dtype", "int8"),
    "cogen-int4-cache": lambda given, key: cogen(given, key, "cogen int8, int4 cache", "--compute-type", "int8",
                                                 "--kv-dtype", "int4"),
    "cogen-float32": lambda given, key: cogen(given, key, "cogen float32", "--compute-type", "float32"),
    "llama": lambda given, key: llama(given, key, "llama.cpp"),
    "llama-q4_0": lambda given, key: llama(given, key, "llama.cpp, Q4_0", "Q4_0", largest=MEDIUM),
    "llama-passive": lambda given, key: llama(given, key, "llama.cpp, passive waits", environment=PASSIVE,
                                              parts=("background",)),
    "openvino": lambda given, key: openvino(given, key, "OpenVINO"),
    "openvino-256": lambda given, key: openvino(given, key, "OpenVINO, steps of 256", batch=256, parts=STEPS_MATTER),
    "openvino-2048": lambda given, key: openvino(given, key, "OpenVINO, steps of 2,048", batch=2048,
                                                 parts=STEPS_MATTER),
    "openvino-bf16": lambda given, key: openvino(given, key, "OpenVINO bf16 hint", "INFERENCE_PRECISION_HINT=bf16",
                                                 largest=MEDIUM),
    "openvino-f32": lambda given, key: openvino(given, key, "OpenVINO f32 hint", "INFERENCE_PRECISION_HINT=f32",
                                                largest=MEDIUM),
    "openvino-q8_0": lambda given, key: openvino(given, key, "OpenVINO, Q8_0", form="Q8_0",
                                                 largest=MEDIUM),
    "openvino-f16": lambda given, key: openvino(given, key, "OpenVINO, F16", form="F16",
                                                largest=MEDIUM),
    "openvino-int8": lambda given, key: openvino(given, key, "OpenVINO, exported int8", model=exported(given, "int8")),
    "openvino-int4": lambda given, key: openvino(given, key, "OpenVINO, exported int4", model=exported(given, "int4")),
    "transformers-bf16": lambda given, key: transformers(given, key, "Transformers bf16", "bfloat16"),
    "transformers-f32": lambda given, key: transformers(given, key, "Transformers f32", "float32"),
}


BY_DEFAULT = ["cogen-int8", "cogen-int8-cache", "cogen-float32", "llama", "llama-q4_0", "llama-passive", "openvino",
              "openvino-2048", "openvino-q8_0", "openvino-f16", "transformers-bf16"]


def made(given):
    return [MAKERS[key](given, key) for key in given.systems]
