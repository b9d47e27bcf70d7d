#!/usr/bin/env python3
"""usage: page_policy.py PAGE [--write]: checks that the Content-Security-Policy of the page has the hashes of its style
and of its script, or writes them."""
import base64
import hashlib
import pathlib
import re
import sys


def with_hashes(page):
    for kind in "style", "script":
        (content,) = re.findall(rf"<{kind}\b[^>]*>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        page, count = re.subn(rf"{kind}-src 'sha256-[^']*'", f"{kind}-src 'sha256-{digest}'", page)
        assert count == 1, f"the policy should name {kind}-src once"
    return page


path = pathlib.Path(sys.argv[1])
page = path.read_text(encoding="utf-8")
if sys.argv[2:] == ["--write"]:
    path.write_text(with_hashes(page), encoding="utf-8")
elif with_hashes(page) != page:
    sys.exit(f"{path}: the hashes are of another style or script; run {sys.argv[0]} {path} --write")
