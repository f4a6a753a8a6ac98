# ===- explain_modules.py - Every module says why it is one launch ---------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Of every function of the module tests with more operators than launches, --explain
# says in its record at a line of the function why operators are together.
import json
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


wrong = functions = 0
for path in sys.argv[1:]:
    record = json.loads(output("hk-compile", path, "--target=gfx942", "--emit=mlir", "-o", "/dev/null", "--explain=json"))
    launches = {f["name"]: f["launches"] for f in record["functions"]}
    fused = {int(d["location"].split(":")[-2]) for d in record["decisions"] for c in d["candidates"]
             if d["kind"] == "fuse" and c["reason"] == "accepted" and not c["what"].startswith("start")}
    name, lines = "", {}
    for number, line in enumerate(open(path), 1):
        match = re.match(r"func\.func @(\w+)", line)
        name = match[1] if match else name
        # Not those of a region.
        if name and re.match(r"  %[^=]* = hk\.(?!constant)\w+", line):
            lines.setdefault(name, []).append(number)
    for name, numbers in lines.items():
        if len(numbers) > launches[name]:
            functions += 1
            if not fused.intersection(range(numbers[0], numbers[-1] + 1)):
                wrong += 1
                print(f"{path}: nothing says why the {len(numbers)} operators of @{name} are in {launches[name]} launches")
print(f"{functions} functions of several operators, {wrong} not explained")
