"""What is worked out of the times of each request's tokens."""

import statistics


def percentile(values, part):
    """Between the two nearest of the sorted values."""
    values = sorted(values)
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def decode(times):
    """Tokens a second while every request decodes: from the last one's first token to the end of the first to end."""
    begin, end = max(each[0] for each in times), min(each[-1] for each in times)
    tokens = sum(begin < at <= end for each in times for at in each)
    return {"tokens_per_second": tokens / (end - begin) if end > begin else 0.0, "window": end - begin}


def prefill(times, job):
    """Tokens of prompts that were read one after another, by the time until the first token of each."""
    return {"tokens_per_second": len(times) * job.prompt_tokens / sum(each[0] for each in times)}


def finished(times):
    return {"requests_per_second": len(times) / max(each[-1] for each in times)}


def gaps(times):
    return [later - earlier for each in times for earlier, later in zip(each, each[1:])]


def open_loop(times, job):
    """Of requests that arrive over time: waits for the first token and between tokens, and what came out in all."""
    first = [each[0] - arrival for each, arrival in zip(times, job.arrivals)]
    between = gaps(times)
    return {
        "first_p50": 1000 * percentile(first, 0.5), "first_p99": 1000 * percentile(first, 0.99),
        "gap_p50": 1000 * percentile(between, 0.5), "gap_p99": 1000 * percentile(between, 0.99),
        "tokens_per_second": sum(map(len, times)) / max(each[-1] for each in times),
    }


def mean_of(records):
    """Field by field, of those that are numbers."""
    fields = [field for field, value in records[0].items() if isinstance(value, (int, float))]
    return {field: statistics.mean(each[field] for each in records) for field in fields}
