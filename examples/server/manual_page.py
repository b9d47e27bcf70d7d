"""Writes cogen-server's manual page from what its --help prints: manual_page.py PAGE.gz PROGRAM..."""

import gzip
import re
import subprocess
import sys

FRONT = r""".TH COGEN\-SERVER 1 "" "{version}" "User Commands"
.SH NAME
cogen\-server \- serve language models over HTTP
.SH SYNOPSIS
.B cogen\-server
.B \-\-model
.IR FILE ...
.RI [ OPTION ...]
.SH DESCRIPTION
{description}
Once the models are loaded it prints
.RI \(lqready\ on\  ADDRESS \(rq.
SIGTERM lets what has begun come to its end; a second one ends the server at once.
.SH OPTIONS
"""
BACK = r""".SH EXIT STATUS
0 after a signal, 1 after a failure, 2 for wrong arguments.
.SH EXAMPLES
.nf
cogen\-server \-\-model SmolLM2\-135M\-Instruct.Q4_1.gguf \-\-port 8080
curl http://127.0.0.1:8080/v1/completions \-d \(aq{"prompt": "The sea is", "max_tokens": 8}\(aq
.fi
"""


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return "\\&" + text if text.startswith(".") else text


def entries(lines):
    """Headings and options, each with its text from all of its lines."""
    for line in lines:
        heading = re.fullmatch(r"(\S.*):", line)
        option = re.fullmatch(r"  (?:-(\w) \[ --([\w-]+) \]|--([\w-]+))( arg)?(?: \(=(.*?)\))?(?:  +(.*))?", line)
        if heading:
            yield ["heading", heading[1], ""]
        elif option:
            short, name = option[1], option[2] or option[3]
            names = (f"-{short}, " if short else "") + f"--{name}"
            value = f" (default {option[5]})" if option[5] else ""
            yield ["option", names, option[4] or "", value, (option[6] or "").strip()]
        elif line.strip():
            yield ["more", line.strip()]


def options_of(lines):
    page = []
    for kind, *rest in entries(lines):
        if kind == "heading":
            page.append(f".SS {escaped(rest[0])}\n")
        elif kind == "option":
            names, argument, value, text = rest
            page.append(f".TP\n\\fB{escaped(names)}\\fR" + (r" \fIARG\fR" if argument else ""))
            page.append(f"{value}\n" + (f"{escaped(text)}\n" if text else ""))
        else:
            page.append(f"{escaped(rest[0])}\n")
    return "".join(page)


def main():
    path, *program = sys.argv[1:]

    def printed(option):
        return subprocess.run([*program, option], check=True, capture_output=True, text=True).stdout

    description, _, *lines = [line for line in printed("--help").splitlines() if line.strip()]
    page = FRONT.format(version=printed("--version").strip(), description=escaped(description)) + options_of(lines) + BACK
    with open(path, "wb") as file:
        file.write(gzip.compress(page.encode(), 9, mtime=0))


main()
