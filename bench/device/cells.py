"""Cells of a benchmark, "requests x tokens": how options name them, their prompts, and what repeated runs come to."""
import argparse
import re
import statistics


def cells(text):
    """An option's value: pairs of requests and tokens, written 1x1024,8x1024."""
    pairs = [re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", each) for each in text.split(",")]
    if not all(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not requests x tokens, as 1x1024,8x1024")
    return [(int(pair[1]), int(pair[2])) for pair in pairs]


def positive(text):
    """An option's value: a whole number of at least 1."""
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def prompts(requests, context, vocabulary):
    return [[(r * 1009 + j * 131 + 17) % (vocabulary - 64) + 32 for j in range(context)] for r in range(requests)]


def spread(name, values, digits):
    """The median of the values, and their range."""
    return {name: round(statistics.median(values), digits),
            f"{name}_range": [round(min(values), digits), round(max(values), digits)]}
