"""The cells: what a system is asked to do in a turn, and which figures come of it."""

import dataclasses
import random

import figures
import jobs

SLOTS_OF_ARRIVALS = 32
CAPACITY_SLOTS = 16
CAPACITY = {"requests": 48, "prompt_tokens": 128, "new_tokens": 64}


@dataclasses.dataclass(frozen=True)
class Decode:
    """All prompts have been read before, and all requests come at once; static batches read them again."""
    requests: int
    context: int
    new_tokens: int
    place: int  # of the context among all, which says which prompts these are
    part = "decode"
    keeps_prompts = True
    passes = ("",)

    @property
    def name(self):
        return f"{self.requests} x {self.context:,}"

    @property
    def tokens(self):
        return self.requests * self.context

    def weight(self):
        return 6 + self.tokens / 4000 + self.requests * self.new_tokens / 60

    def job(self, system, cells, new_tokens):
        """Slots are as many as any cell of this context has for the system, so that all cells share one cache."""
        slots = max(each.requests for each in cells if each.part == "decode" and each.context == self.context
                    and can_run(each, system))
        return dataclasses.replace(jobs.at_once(100 * self.place, self.requests, self.context, new_tokens),
                                   slots=max(slots, self.requests) if not system.static else self.requests)

    def warm(self, server, session):
        for new_tokens in ([2] if server.system.static else [1, 4]):
            server.run(self.job(server.system, session.cells, new_tokens))

    def turn(self, server, session, where):
        job = self.job(server.system, session.cells, self.new_tokens)
        times = server.run(job)
        return figures.decode(times), times


@dataclasses.dataclass(frozen=True)
class Prefill:
    prompt_tokens: int
    part = "prefill"
    keeps_prompts = False
    passes = ("",)

    @property
    def name(self):
        return f"{self.prompt_tokens:,} tokens"

    @property
    def tokens(self):
        return self.prompt_tokens

    def weight(self):
        return 1 + max(4096, self.tokens) / 300

    def warm(self, server, session):
        server.run(jobs.at_once(0, 1, self.prompt_tokens, 1))

    def turn(self, server, session, where):
        """As many prompts, one after another, as come to 4,096 tokens: a single one may be over in a fifth of a second,
        which says more of the machine at that moment than of the system."""
        job = jobs.at_once(0, 1, self.prompt_tokens, 1)
        times = [server.run(job)[0] for _ in range(max(1, 4096 // self.prompt_tokens))]
        return figures.prefill(times, job), times


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """Requests come as a Poisson process; all systems see the same times in a block, and each block has its own."""
    load: float
    requests: int
    part = "arrivals"
    keeps_prompts = False
    passes = ("",)
    tokens = SLOTS_OF_ARRIVALS * CAPACITY["prompt_tokens"]

    @property
    def name(self):
        return f"load {self.load}"

    def weight(self):
        return 4 + self.requests / 2

    def times(self, rate, block):
        drawn = random.Random(f"{self.load} {block}")
        at, all_times = 0.0, []
        for _ in range(self.requests):
            at += drawn.expovariate(rate)
            all_times.append(round(at, 4))
        return tuple(all_times)

    def job(self, arrivals):
        return jobs.Job(0, SLOTS_OF_ARRIVALS, CAPACITY["prompt_tokens"], CAPACITY["new_tokens"], arrivals)

    def warm(self, server, session):
        server.run(self.job((0.0,) * 4))

    def turn(self, server, session, where):
        job = self.job(self.times(self.load * session.found_capacity, where["block"]))
        times = server.run(job)
        return figures.open_loop(times, job), times


def capacity_turn(server, session):
    """Requests that end in a second, with as many at work as there are slots, until all have ended."""
    count = CAPACITY["requests"] if not session.quick else CAPACITY_SLOTS
    job = jobs.Job(0, CAPACITY_SLOTS, CAPACITY["prompt_tokens"], CAPACITY["new_tokens"], (0,) * count)
    return figures.finished(server.run(job))["requests_per_second"]


@dataclasses.dataclass(frozen=True)
class Background(Decode):
    """A decode cell, first alone and then beside busy processes of low priority, one for each processor."""
    part = "background"
    passes = ("quiet", "busy")

    def weight(self):
        return 3 * super().weight()

    def job(self, system, cells, new_tokens):
        return jobs.at_once(100 * self.place, self.requests, self.context, new_tokens)


@dataclasses.dataclass(frozen=True)
class Memory:
    """A process of its own each time."""
    requests: int
    part = "memory"
    passes = ("",)
    max_blocks = 2  # it hardly changes
    keeps_prompts = None
    prompt_tokens = new_tokens = 64

    @property
    def name(self):
        return f"{self.requests} x (64 + 64)"

    @property
    def tokens(self):
        return self.requests * self.prompt_tokens

    def weight(self):
        return 5 + self.requests

    def warm(self, server, session):
        self.turn(server, session, {})

    def turn(self, server, session, where):
        server.run(jobs.at_once(0, self.requests, self.prompt_tokens, self.new_tokens))
        return {"peak": server.peak_mib(), "anonymous": server.status("RssAnon"), "hello": server.hello_mib}, None


@dataclasses.dataclass(frozen=True)
class Loading:
    """A process of its own each time; its file has been read before."""
    part = "loading"
    name = "64 tokens"
    passes = ("",)
    max_blocks = 3
    keeps_prompts = None
    tokens = 64

    def weight(self):
        return 8

    def warm(self, server, session):
        self.turn(server, session, {})

    def turn(self, server, session, where):
        server.run(jobs.at_once(0, 1, self.tokens, 1))
        return {"ready": server.ready_seconds, "first_token": server.age(), "hello": server.hello_seconds,
                "imports": server.imports}, None


PARTS = ["decode", "prefill", "arrivals", "background", "memory", "loading"]
NUMBERS = [1, 4, 8, 16, 32]


def all_cells(quick=False):
    contexts = [(64, 64), (1024, 32)] if quick else [(64, 64), (1024, 32), (4096, 32)]
    numbers = [1, 4] if quick else NUMBERS
    crowd = 4 if quick else 16
    return ([Decode(n, context, new, place) for place, (context, new) in enumerate(contexts) for n in numbers] +
            [Prefill(length) for length in ([512] if quick else [512, 4096])] +
            [Arrivals(load, 12 if quick else 64) for load in ([0.8] if quick else [0.5, 0.8, 1.0])] +
            [Background(n, 64, 64, 9) for n in (1, crowd)] +
            [Memory(n) for n in (1, crowd)] + [Loading()])


def blocks_of(cell, wanted):
    return min(wanted, getattr(cell, "max_blocks", wanted))


def can_run(cell, system):
    return cell.tokens <= system.largest and (not system.parts or cell.part in system.parts)


BY_NAME_ALONE = [Prefill(2048)]


def chosen(words, quick):
    named = [word for word in words if ":" in word]
    return matching(words, all_cells(quick)) + matching(named, BY_NAME_ALONE)


def matching(words, those):
    """Words are parts, or a part with a name: decode, or decode:16x1024."""
    def matches(cell, word):
        part, _, name = word.partition(":")
        return cell.part == part and (not name or name == cell.name.replace(" ", "").replace(",", ""))
    return [cell for cell in those if any(matches(cell, word) for word in words)]
