"""What the programs check_*.py have in common: PROGRAM and MODEL are their arguments."""
import sys

from cogen_server import CogenServer

STORY = [{"role": "user", "content": "Tell me a very long story."}]
TOOL = {"type": "function", "function": {"name": "temperature", "description": "The temperature in a town now.", "parameters": {
    "type": "object", "properties": {"town": {"enum": ["Oslo", "Bergen"]}}, "required": ["town"]}}}


def served(*flags):
    """The program with the default model."""
    return CogenServer(sys.argv[1], sys.argv[2], *flags)


def check_all(shared, own=()):
    """Runs the checks that share a server, and those that start their own."""
    with served("--slots", "8") as server:
        for check in shared:
            check(server)
            print(check.__name__, "passed", flush=True)
    for check in own:
        check()
        print(check.__name__, "passed", flush=True)
