"""cogen and its peers in turns: for each cell blocks of A B C C B A, and the ratios within each.

A block begins when the machine is quiet, or after a wait. One that did not begin quiet (others had more than a tenth
of the processors, or copying memory was slower than four fifths of the session's median) is measured, marked and left
out of the table, unless more than half of a cell's blocks would be.
"""

import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPS = pathlib.Path(os.environ.get("COGEN_DEPS", ROOT / ".deps"))
sys.path.append(str(ROOT / "bench/measuring"))

import cells
import page
import plots
import results
import session
import systems


def paths(parser):
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, default=DEPS / "model/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--folder", type=pathlib.Path,
                        help="the model as a Hugging Face folder, for Transformers and what exports OpenVINO's files")
    parser.add_argument("--cogen", type=pathlib.Path, default=ROOT / "build/release/bench/throughput")
    parser.add_argument("--limits", type=pathlib.Path, default=ROOT / "build/release/bench/limits")
    parser.add_argument("--rewritten", type=pathlib.Path, default=DEPS / "peers/models",
                        help="the folder for the model in other number formats")


def turns(parser):
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--quiet-timeout", type=float, default=30, help="seconds to wait for a quiet machine before a block")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    paths(parser)
    turns(parser)
    parser.add_argument("--systems", default=",".join(systems.BY_DEFAULT), help="names, or all")
    parser.add_argument("--cells", default=",".join(cells.PARTS))
    parser.add_argument("--capacity-of", default="", help="whose closed loop is load 1; the best peer's if none")
    given = parser.parse_args()
    given.systems = list(systems.MAKERS) if given.systems == "all" else given.systems.split(",")
    given.cells = cells.chosen(given.cells.split(","), given.quick)
    check(parser, given)
    return given


def check(parser, given):
    unknown = [key for key in given.systems if key not in systems.MAKERS]
    if unknown:
        parser.error(f"--systems: {', '.join(unknown)}: there are {', '.join(systems.MAKERS)}")
    if not given.cells:
        parser.error(f"--cells: some of {', '.join(cells.PARTS)}, or one cell of them, as decode:16x1024")
    settle(parser, given)


def settle(parser, given):
    if given.quick:
        given.blocks, given.quiet_timeout = min(given.blocks, 2), 0
    if given.blocks < 1:
        parser.error("--blocks must be at least 1")
    for path in (given.model, given.folder, given.cogen, given.limits):
        if path and not path.exists():
            parser.error(f"{path} does not exist")


def kept_records(path, measured_anew):
    """Of an earlier session in the same folder, what is not measured now."""
    if not path.exists():
        return []
    anew = {(cell.part, cell.name) for cell in measured_anew}
    parts = {part for part, _ in anew}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [each for each in records if each["what"] == "about" or
            each["what"] in ("turn", "limits", "error") and (each["part"], each["cell"]) not in anew or
            each["what"] == "capacity" and "arrivals" not in parts]


def measured(given, all_systems, chosen):
    """All records of the folder, old and new."""
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "raw.jsonl"
    kept = kept_records(path, chosen)
    with path.open("w") as raw:
        def write(record):
            raw.write(json.dumps(record) + "\n")
            raw.flush()
        for record in kept:
            write(record)
        session.Session(all_systems, chosen, given, write).run()
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    given = arguments()
    found = results.Results(measured(given, systems.made(given), given.cells))
    text = page.page(given, found)
    (given.out / "table.md").write_text(text)
    print("\n" + text)
    for plot in plots.write(found, given.out):
        print(f"wrote     {plot}")


if __name__ == "__main__":
    main()
