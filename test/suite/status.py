"""docs/status.md: which modules work where, from the records of the module tests.

Usage: status.py FOLDER          prints the page
       status.py --check FOLDER  fails if docs/status.md is another one

FOLDER is where the lit tests of test/Modules leave NAME.TARGET.json when a module
passes on a target. benchmarks/results/h200-modules.json says the same of an H200.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGETS = ["host", "gfx942", "gfx950"]
PAGE = ROOT / "docs" / "status.md"


def records(folder, name):
    """Target -> record, for the targets on which the module passed."""
    found = {}
    for target in TARGETS:
        path = folder / f"{name}.mlir.{target}.json"
        if path.exists():
            found[target] = json.loads(path.read_text())
    return found


def row(folder, name, h200):
    """Cells of a module's row behind its name; None if it does not pass everywhere."""
    found = records(folder, name)
    if len(found) < len(TARGETS):
        return None
    cells = []
    for target in TARGETS:
        most = max(found[target]["launches"].values())
        launches = f"{most} launch{'es' if most > 1 else ''}"
        # How many calls an emulated chip makes is up to the run (./check --all).
        calls = f"{len(found[target]['calls'])} calls, " if target == "host" else ""
        cells.append(calls + launches)
    return cells + [f"{h200[name]} calls" if name in h200 else "-"]


def page(folder):
    modules = [line.split() for line in (HERE / "modules.txt").read_text().splitlines()]
    tests = sorted(path.stem for path in (ROOT / "test" / "Modules").glob("*.mlir"))
    measured = ROOT / "benchmarks" / "results" / "h200-modules.json"
    # Runs in their order: of a module the last that had it counts.
    h200 = {name: calls for run in json.loads(measured.read_text()) for name, calls in run["modules"].items()}
    rows = {name: row(folder, name, h200) for name in tests}
    done = [name for name, *_ in modules if rows.get(name)]
    lines = [
        "# Status",
        "",
        "Written by `test/suite/status.py` from the module tests; a test fails when it is out of date.",
        "A module counts when every function of `test/Modules/<module>.mlir`, in base operators, "
        "compiles to no more launches than its directive allows and every call is within the "
        "interpreter's bound: on the host, and as code objects executed in the gfx942 and gfx950 "
        "emulator. gfx1100 is compiled only. Nothing here has run on AMD hardware.",
        "",
        f"{len(done)} of {len(modules)} modules.",
        "",
        "| module | family | host | gfx942, emulated | gfx950, emulated | H200 |",
        "|---|---|---|---|---|---|",
    ]
    for name, family in modules:
        cells = rows.get(name) or (["fails"] * 4 if name in rows else ["not yet"] + ["-"] * 3)
        lines.append(f"| {name} | {family} | {' | '.join(cells)} |")
    known = {name for name, _ in modules}
    lines += ["", "Further graphs:", "", "| test | host | gfx942, emulated | gfx950, emulated | H200 |", "|---|---|---|---|---|"]
    for name in tests:
        if name not in known:
            lines.append(f"| {name} | {' | '.join(rows[name] or ['fails'] * 4)} |")
    return "\n".join(lines) + "\n"


def main():
    check = "--check" in sys.argv
    text = page(pathlib.Path(sys.argv[-1]))
    if not check:
        print(text, end="")
    elif PAGE.read_text() != text:
        sys.exit(f"{PAGE} is out of date; write it anew: {sys.argv[0]} {sys.argv[-1]} >{PAGE}")


if __name__ == "__main__":
    main()
