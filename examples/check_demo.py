#!/usr/bin/env python3
"""usage: check_demo.py PROGRAM: Ctrl-C, a signal and the end leave the terminal with its cursor."""
import os
import pty
import signal
import sys

HIDES, SHOWS = b"\x1b[?25l", b"\x1b[?25h"


def run(max_tokens, interrupt=lambda pid, terminal: None):
    """The demo's exit status and what it wrote; `interrupt` is called once it shows text of answers."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.argv[1], [sys.argv[1], "--requests", "2", "--max-tokens", str(max_tokens)])
    written, interrupted = b"", False
    try:
        while more := os.read(terminal, 65536):
            written += more
            if not interrupted and len(written.partition(HIDES)[2]) > 4000:
                interrupted = True
                interrupt(pid, terminal)
    except OSError:  # the program has closed the terminal
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written


for name, max_tokens, status, interrupt in (
        ("end", 8, 0, lambda pid, terminal: None),
        ("Ctrl-C", 4000, 128 + signal.SIGINT, lambda pid, terminal: os.write(terminal, b"\x03")),
        ("SIGTERM", 4000, 128 + signal.SIGTERM, lambda pid, terminal: os.kill(pid, signal.SIGTERM))):
    ended, written = run(max_tokens, interrupt)
    assert ended == status, (name, ended, written[-500:])
    assert written.count(HIDES) == written.count(SHOWS) == 1 and written.rindex(SHOWS) > written.rindex(HIDES), name
print("the cursor comes back")
