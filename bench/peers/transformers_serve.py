"""Transformers' generate on the jobs that jobs.py describes, as a padded batch: greedy, the end of sequence ignored."""

import time

BEGUN = time.perf_counter()

import argparse
import os
import pathlib

import torch
import transformers

import jobs


class TokenTimes(transformers.StoppingCriteria):
    """Notes when each token of the batch was there; never stops."""

    def __init__(self):
        self.times = []

    def __call__(self, input_ids, scores, **kwargs):
        self.times.append(time.perf_counter())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


def load(path, dtype):
    path = pathlib.Path(path)
    where = {"gguf_file": path.name} if path.is_file() else {}
    folder = path.parent if path.is_file() else path
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), **where).eval()
    model.generation_config = transformers.GenerationConfig(do_sample=False, eos_token_id=None, pad_token_id=0)
    return model


def run(model, job):
    assert job.together, "generate() takes all requests at once"
    rows = [jobs.prompt(job.first + i, job.prompt_tokens, model.config.vocab_size) for i in range(len(job.arrivals))]
    clock = TokenTimes()
    start = time.perf_counter()
    ids = torch.tensor(rows)
    with torch.inference_mode():
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=job.new_tokens,
                       stopping_criteria=transformers.StoppingCriteriaList([clock]))
    assert len(clock.times) == job.new_tokens
    return [[at - start for at in clock.times]] * len(rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file or a Hugging Face folder")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def main():
    given = arguments()
    jobs.say(hello="Transformers", imports=round(time.perf_counter() - BEGUN, 3))
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(given.threads)
    model = load(given.model, given.dtype)
    jobs.say(ready=f"Transformers {transformers.__version__}, torch {torch.__version__}, {given.dtype}, "
                   f"{given.threads} threads")
    for job in jobs.asked():
        jobs.say(times=run(model, job))


if __name__ == "__main__":
    main()
