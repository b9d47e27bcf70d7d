#!/usr/bin/env python3
"""usage: batch_invariance_test.py SERVER MODEL: asks the same questions alone and in a batch of others, whose sizes and
prompts differ, and compares tokens and log-probabilities bit by bit."""
import concurrent.futures
import json
import random
import sys
import urllib.request

from cogen_server import CogenServer

QUESTIONS = [
    {"prompt": "The capital of France is", "temperature": 0},
    {"prompt": "Once upon a time", "temperature": 1, "seed": 7},
    {"prompt": "Once upon a time", "temperature": 1.5, "top_p": 0.9, "seed": 8},
    {"prompt": "A list of animals: " + "cat, dog, horse, " * 20, "temperature": 0},
    {"prompt": "def add(a, b):", "temperature": 0.7, "top_k": 20, "seed": 9},
]


def ask(question):
    body = {"max_tokens": 24, "logprobs": 3, **question}
    request = urllib.request.Request(f"{server.address}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    choice = json.load(urllib.request.urlopen(request))["choices"][0]
    return choice["text"], choice["logprobs"]


def others(count, random):
    """Prompts of many lengths, so that rows of all kinds meet in a batch."""
    words = "sea stone river cloud winter copper lantern harbor".split()
    return [{"prompt": " ".join(random.choices(words, k=random.randint(1, 200))), "temperature": 1, "seed": random.randint(0, 1000),
             "max_tokens": random.randint(1, 40)} for _ in range(count)]


with CogenServer(sys.argv[1], sys.argv[2], "--max-length", "1024") as server:
    alone = [ask(question) for question in QUESTIONS]
    rng = random.Random(1)
    for size in 1, 3, 8, 30:
        mixed = [(None, other) for other in others(size, rng)] + list(enumerate(QUESTIONS))
        rng.shuffle(mixed)
        with concurrent.futures.ThreadPoolExecutor(len(mixed)) as pool:
            answers = list(pool.map(lambda each: ask(each[1]), mixed))
        for (number, question), answer in zip(mixed, answers):
            if number is not None and answer != alone[number]:
                sys.exit(f"{question} among {size} others: {answer}, but alone: {alone[number]}")
        print(f"{len(QUESTIONS)} requests among {size} others: the same bits as alone")
