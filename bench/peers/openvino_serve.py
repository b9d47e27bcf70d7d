"""OpenVINO GenAI's continuous batching on the jobs that jobs.py describes: greedy, the end of sequence ignored."""

import time

BEGUN = time.perf_counter()

import argparse
import functools

import numpy
import openvino
import openvino_genai

import jobs


class Server:
    def __init__(self, given):
        scheduling = openvino_genai.SchedulerConfig()
        scheduling.cache_size = given.cache_gb
        scheduling.max_num_batched_tokens = given.batch
        scheduling.max_num_seqs = given.most
        scheduling.enable_prefix_caching = given.prefix_caching
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(given.model, scheduling, "CPU",
                                                                  dict(given.property or []))
        self.begun = 0

    @functools.cached_property
    def vocabulary(self):
        return len(self.pipeline.get_tokenizer().get_vocab())

    def begin(self, number, job):
        how = openvino_genai.GenerationConfig()
        how.max_new_tokens, how.ignore_eos, how.do_sample = job.new_tokens, True, False
        ids = numpy.array([jobs.prompt(job.first + number, job.prompt_tokens, self.vocabulary)], dtype=numpy.int64)
        self.begun += 1
        return self.pipeline.add_request(self.begun, openvino.Tensor(ids), how)

    def run(self, job):
        """Keeps as many requests in the pipeline as the job has slots, each from its arrival on."""
        times, running, arrived = [[] for _ in job.arrivals], {}, 0
        start = time.perf_counter()
        passed = lambda: time.perf_counter() - start
        while arrived < len(times) or running:
            while arrived < len(times) and len(running) < job.slots and job.arrivals[arrived] <= passed():
                running[arrived] = self.begin(arrived, job)
                arrived += 1
            if not running:
                time.sleep(max(0, job.arrivals[arrived] - passed()))
                continue
            self.pipeline.step()
            note(running, times, passed())
            running = {number: handle for number, handle in running.items() if len(times[number]) < job.new_tokens}
        return times


def note(running, times, now):
    for number, handle in running.items():
        if handle.can_read():
            for output in handle.read().values():
                times[number] += [now] * len(output.generated_ids)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file or a folder with OpenVINO's own format")
    parser.add_argument("--batch", type=int, default=512, help="max_num_batched_tokens")
    parser.add_argument("--most", type=int, default=64, help="max_num_seqs")
    parser.add_argument("--cache-gb", type=int, default=0, help="cache_size; 0: it grows")
    parser.add_argument("--prefix-caching", action="store_true", help="prompts that were read before are not read again")
    parser.add_argument("--property", action="append", type=lambda text: text.split("=", 1), help="NAME=VALUE")
    return parser.parse_args()


def main():
    given = arguments()
    jobs.say(hello="OpenVINO", imports=round(time.perf_counter() - BEGUN, 3))
    server = Server(given)
    options = ", ".join("=".join(each) for each in given.property or [])
    jobs.say(ready=f"OpenVINO {openvino.__version__.split('-')[0]}, max_num_batched_tokens {given.batch}" +
             (f", {options}" if options else ""))
    for job in jobs.asked():
        jobs.say(times=server.run(job))


if __name__ == "__main__":
    main()
