"""Every function that docs/variants.md names is one of test/Modules, and every row-wise,
top-k, convolution, scan and routing module of test/suite/modules.txt has a table. Every
row of a table names a function or says why there is none."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAMILIES = ("rowwise", "topk", "conv1d", "routing")
faults = []


def functions(file):
    path = ROOT / "test" / "Modules" / f"{file}.mlir"
    if not path.exists():
        return set()
    return set(re.findall(r"^func\.func @(\w+)\(", path.read_text(), re.M))


rows, named = {}, 0
for line in (ROOT / "docs" / "variants.md").read_text().splitlines():
    if heading := re.fullmatch(r"## (\w+)", line):
        module = heading[1]
        rows[module] = 0
    elif line.startswith("| ") and line != "| variant | functions |":
        cells = line.strip("| ").split(" | ")
        names = re.findall(r"`([^`]+)`", cells[-1])
        rows[module] += 1
        if len(cells) != 2 or not (names or cells[1].startswith("not there: ")):
            faults.append(f"{module}: neither functions nor a reason: {line}")
        for name in names:
            # In a reason, quotes stand around other documents.
            if cells[1].startswith("not there: "):
                continue
            named += 1
            file, _, function = name.rpartition(":")
            if function not in functions(file or module):
                faults.append(f"{module}: no @{function} in test/Modules/{file or module}.mlir")

for line in (ROOT / "test" / "suite" / "modules.txt").read_text().splitlines():
    module, family = line.split()
    if (family in FAMILIES or module == "cumsum") and not rows.get(module):
        faults.append(f"{module}: no table in docs/variants.md")

print("\n".join(faults) or f"{named} functions in the tables of {len(rows)} modules, all there")
sys.exit(bool(faults))
