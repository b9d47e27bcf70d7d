"""What every system is asked to run, as one line of text, and what it answers: a JSON object a line.

A line is FIRST SLOTS PROMPT_TOKENS NEW_TOKENS ARRIVAL...: one request for each arrival (in seconds), with the prompts
number FIRST, FIRST + 1 and so on, of which at most SLOTS run at the same time. The answer is {"times": [[...], ...]}:
for each request when each of its tokens was there, in seconds from the beginning of the job. Before the first line a
system says {"hello": ...} once its program runs, and {"ready": ...} once its model is loaded.
"""

import dataclasses
import json
import sys


@dataclasses.dataclass(frozen=True)
class Job:
    first: int
    slots: int
    prompt_tokens: int
    new_tokens: int
    arrivals: tuple

    def line(self):
        return " ".join(map(str, (self.first, self.slots, self.prompt_tokens, self.new_tokens, *self.arrivals)))

    @property
    def together(self):
        """Whether all requests come at once and run at the same time."""
        return not any(self.arrivals) and len(self.arrivals) <= self.slots


def at_once(first, requests, prompt_tokens, new_tokens):
    return Job(first, requests, prompt_tokens, new_tokens, (0,) * requests)


def parsed(line):
    words = line.split()
    return Job(*map(int, words[:4]), tuple(map(float, words[4:])))


def prompt(number, length, vocabulary):
    """The same ids as bench/throughput makes."""
    return [(number * 1009 + j * 131 + 17) % (vocabulary - 64) + 32 for j in range(length)]


def rounded(value):
    return [rounded(each) for each in value] if isinstance(value, list) else round(value, 5)


def say(**fields):
    if "times" in fields:
        fields["times"] = rounded(fields["times"])
    print(json.dumps(fields), flush=True)


def asked():
    return map(parsed, sys.stdin)
