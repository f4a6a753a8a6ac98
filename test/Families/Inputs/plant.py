# ===- plant.py - Plants differences in a golden file of budgets -----------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# plant.py FILE MODULE: of the module's kernels the first has fewer registers and bytes
# of code in the file, the second scratch, the third is not in it. For budgets.test.
import pathlib
import sys

from budget import COLUMNS

path, module = pathlib.Path(sys.argv[1]), sys.argv[2]
lines, seen = [], 0
for line in path.read_text().splitlines():
    words = line.split()
    if words[:1] != [module]:
        lines.append(line)
        continue
    seen += 1
    at = {name: 3 + number for number, name in enumerate(COLUMNS)}
    if seen == 1:
        words[at["vgpr"]] = str(int(words[at["vgpr"]]) // 2)
        words[at["bytes"]] = str(int(words[at["bytes"]]) // 2)
    if seen == 2:
        words[at["scratch"]] = "16"
    if seen != 3:
        lines.append(" ".join(words))
assert seen >= 3, f"{module} has {seen} kernels in {path}, three expected"
path.write_text("\n".join(lines) + "\n")
