"""Clients whose formats make masks cost what they may, beside the same clients without formats."""
import threading

PROMPT = "Write a list of animals and what each of them eats."
TOKENS = 32  # of each answer
NOISE = 0.03  # s, of a machine that has other things to do


def grammar(text):
    return {"response_format": {"type": "grammar", "grammar": text}}


def schema(value):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}}


COSTLY = {
    "optional letters": grammar("root ::= ([^x]? [^y]?){40}"),
    "optional letters, a thousand times": grammar("root ::= ([^x]?){1000}"),
    "loops in loops that may be empty": grammar('root ::= (([a-z]? " "?){0,9} ([^x]? [^y]?){0,9}){0,9}'),
    "optional words": grammar('root ::= ([a-z]{0,9} " "? [a-z]{0,9} ","? [a-z]{0,9}){0,60}'),
    "overlapping classes": {"guided_regex": "([a-z ]|[b-y ,]|[c-x.]|\\w|\\s){1,300}"},
    "a long text": schema({"type": "string", "minLength": 10, "maxLength": 100000}),
    "texts that differ": schema({"type": "array", "uniqueItems": True, "minItems": 3, "items": {"type": "string", "maxLength": 200}}),
}


class Crowd:
    """So many clients at once, with these formats in turn."""

    def __init__(self, clients, formats):
        self.clients, self.formats = clients, formats

    def prepare(self, server):
        """What compiling them costs is no matter of masks."""
        for body in self.formats:
            self.ask(server, body, 1)

    def __call__(self, server):
        return self.run(server, self.formats)

    def usual(self, server):
        """The same clients, and no formats."""
        self.run(server, [{"ignore_eos": True}])

    def run(self, server, bodies):
        heard = []
        clients = [threading.Thread(target=lambda body=bodies[i % len(bodies)]: heard.append(self.ask(server, body, TOKENS)))
                   for i in range(self.clients)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        assert len(heard) == self.clients, f"{self.clients - len(heard)} clients were not answered"
        return ", ".join(f"{heard.count(word)} x {word}" for word in sorted(set(heard)))

    @staticmethod
    def ask(server, body, tokens):
        answer = server.chat([{"role": "user", "content": PROMPT}], max_tokens=tokens, temperature=1, seed=1, **body)
        assert answer.status in (200, 400), answer.text[:500]
        return str(answer.status)


CASES = {f"masks: {name}": Crowd(1, [body]) for name, body in COSTLY.items()} | {
    f"masks of sixteen: {name}": Crowd(16, [body]) for name, body in COSTLY.items()} | {
    "masks of sixteen: each kind": Crowd(16, list(COSTLY.values()))}
