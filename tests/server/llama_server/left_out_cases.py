"""A plugin of pytest for llama-server's tests: leaves out the cases of left_out.txt, sets what is expected of another
model's text to what is true of ours, by this_model.json, and fetches no models."""
import json
import pathlib
import re

import pytest
import utils

utils.ServerPreset.load_all = staticmethod(lambda: None)

folder = pathlib.Path(__file__).parent


def left_out():
    """Pairs of a case and why it is left out."""
    lines = (folder / "left_out.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(map(str.strip, line.split("|", 1))) for line in lines if line and not line.startswith("#")]


def matches(case, name):
    return re.fullmatch(re.escape(case).replace(r"\*", ".*"), name, re.DOTALL)


def check_all_used(entries, names):
    files = {name.split("::")[0] for name in names}
    unused = [case for case in entries if case.split("::")[0] in files and not any(matches(case, name) for name in names)]
    if unused:
        raise pytest.UsageError(f"there is no such case: {', '.join(unused)}")


def pytest_collection_modifyitems(config, items):
    names = {item.nodeid.removeprefix("unit/"): item for item in items}
    reasons = left_out()
    expected = json.loads((folder / "this_model.json").read_text(encoding="utf-8"))
    if not any("::" in argument for argument in config.args):
        check_all_used([case for case, _ in reasons] + list(expected), names)
    for name, item in names.items():
        for case, reason in reasons:
            if matches(case, name):
                item.add_marker(pytest.mark.skip(reason=reason))
        for case, values in expected.items():
            if matches(case, name):
                item.callspec.params.update(values)
