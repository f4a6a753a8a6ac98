"""What a new operator touches, and that no family lists operators by name.

usage: operators.py SOURCE-DIR
"""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
CODE = ["dialect", "include", "lib", "passes", "runtime", "tools"]
# The files that may name an operator: definition, verifier, meaning, kernel. A unary
# operator has no verifier of its own, and its kernel is a function of the device.
PLACES = {
    "Softplus": ["dialect/HKPointwiseOps.td", "lib/Reference/Pointwise.cpp", "runtime/kernels/device/math.h"],
    "Clamp": ["dialect/HKPointwiseOps.cpp", "dialect/HKPointwiseOps.td", "lib/Emission/PullPointwise.cpp",
              "lib/Reference/Pointwise.cpp"],
    "L2Norm": ["dialect/HKNormOps.cpp", "dialect/HKNormOps.td", "lib/Emission/PullRowOps.cpp",
               "lib/Reference/Norm.cpp"],
}
texts = {
    str(path.relative_to(root)): path.read_text()
    for folder in CODE
    for path in sorted((root / folder).rglob("*"))
    # An importer makes operators as models have them, and raising those that a form is
    # of; a new operator needs none.
    if path.suffix in (".td", ".h", ".cpp")
    and not any(path.is_relative_to(root / folder) for folder in ("lib/Import", "passes/Raise"))
}

failed = False
for name, places in PLACES.items():
    wanted = rf"\b(HK_)?{name}Op\b|\bHK_DEV .*\b{name.lower()}\("
    found = sorted(path for path, text in texts.items() if re.search(wanted, text))
    if found != places:
        failed = True
        print(f"hk.{name.lower()} is named in {', '.join(found)}; expected {', '.join(places)}")

# Operators of the row-wise interface, but for hk.constant, which is no computation.
ops = {
    name
    for path, text in texts.items()
    if path.startswith("dialect/") and path.endswith(".td") and "Structure" not in path
    for name in re.findall(r"^def HK_(\w+Op) :", text, re.M)
} - {"ConstantOp"}
assert "SoftplusOp" in ops and "MatmulOp" in ops
ASKS = ["lib/Families/Rowwise", "lib/Families/Scan", "lib/Families/Conv1d", "lib/Families/Attention", "passes",
        "lib/Analysis/LoopMaps", "lib/Families/Split.cpp"]
for path, text in texts.items():
    if not any(path.startswith(prefix) for prefix in ASKS):
        continue
    for kind, names in re.findall(r"\b(isa|isa_and_nonnull|IsaPred|Case)<([\w:,\s]+)>", text):
        listed = ops.intersection(re.split(r"[,\s]+", names))
        if len(listed) > 1:
            failed = True
            print(f"{path} lists {', '.join(sorted(listed))}; ask RowwiseOpInterface or lib/Analysis/LoopMaps.h")
print("FAILED" if failed else "every operator is where it belongs")
