# ===- budget.py - What every kernel takes, beside what it took ------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles every module of test/Modules for an AMD chip, from the tests' cache of
# kernels, and compares what its code objects say with the golden files in budgets/,
# one per chip and family. A kernel that takes more fails, one that takes less does
# too, so that the files stay true; SLACK says how little does not count. After a change
# that is meant:
#
#     test/Families/Inputs/budget.py --write [--only=EXPRESSION]
#
# with the build's bin and LLVM's on PATH, and HK_CACHE_DIR naming the tests' cache.
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from objects import kernels_of_library, output

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUDGETS = HERE / "budgets"

TARGETS = ("gfx942", "gfx950")
#: What does not count as a change, as a share and as a number, whichever is more.
#: Nothing: spills, scratch, LDS, waves, matrix instructions, AGPRs and their moves.
SLACK = {"vgpr": (0, 7), "sgpr": (0, 16), "valu": (0.05, 4), "salu": (0.1, 8), "lds_op": (0, 0), "vmem": (0, 2),
         "wait": (0.05, 2), "barrier": (0, 0), "bytes": (0.05, 64)}
#: With more of these a kernel is better.
MORE_IS_BETTER = ("waves",)
COLUMNS = ("waves", "vgpr", "agpr", "sgpr", "spill", "scratch", "lds", "bytes", "part", "mfma", "valu", "v/mfma", "acc",
           "salu", "lds_op", "vmem", "wait", "barrier")
LEGEND = """\
# Static budget of {family} kernels on {target}: test/Families/Inputs/budget.py writes and compares it.
# waves: of a SIMD, by registers and LDS. spill: registers, scratch: bytes of a lane. lds, bytes: of a workgroup, of code.
# part: "loop", the innermost loop with most matrix instructions, or "all" where there is none; static instructions in
# it: mfma, valu (others of the vector unit; v/mfma: for each matrix instruction), acc (moves of AGPRs, among valu),
# salu, lds_op, vmem, wait (s_waitcnt), barrier.
"""
CLASSES = (("acc", "v_accvgpr"), ("mfma", "v_mfma"), ("mfma", "v_smfmac"), ("valu", "v_"), ("lds_op", "ds_"),
           ("wait", "s_waitcnt"), ("barrier", "s_barrier"), ("salu", "s_"), ("vmem", "global_"), ("vmem", "buffer_"),
           ("vmem", "flat_"), ("vmem", "scratch_"))


def class_of(name):
    return next(c for c, prefix in CLASSES if name.startswith(prefix))


def main_loop(code):
    """The innermost loop with most matrix instructions, the longer of two; None without one."""
    loops = {(i.target, i.address) for i in code if i.target is not None and i.target <= i.address}
    matrix = [i.address for i in code if class_of(i.name) == "mfma"]
    counts = {(a, b): sum(a <= m <= b for m in matrix) for a, b in loops}
    counts = {loop: count for loop, count in counts.items() if count}
    inner = [(a, b) for a, b in counts
             if not any((c, d) != (a, b) and a <= c and d <= b and (c != a or d < b) for c, d in counts)]
    return max(inner, key=lambda loop: (counts[loop], loop[1] - loop[0]), default=None)


def measure(kernel, target):
    loop = main_loop(kernel.code)
    first, last = loop or (kernel.code[0].address, kernel.code[-1].address)
    row = dict.fromkeys(("mfma", "valu", "acc", "salu", "lds_op", "vmem", "wait", "barrier"), 0)
    for instruction in kernel.code:
        if first <= instruction.address <= last:
            row[class_of(instruction.name)] += 1
    row["valu"] += row["acc"]
    row.update(waves=f"{kernel.waves(target):g}", vgpr=kernel.vgprs, agpr=kernel.agprs, sgpr=kernel.sgprs,
               spill=kernel.spills, scratch=kernel.scratch, lds=kernel.lds, part="loop" if loop else "all",
               bytes=kernel.code[-1].address + 4 - kernel.code[0].address)
    row["v/mfma"] = f"{row['valu'] / row['mfma']:.1f}" if row["mfma"] else "-"
    return row


def short_tile(tile):
    """'#hk.gemm_tile<bm = 32, bn = 64>' as 'bm32,bn64'."""
    inner = tile[tile.find("<") + 1:tile.rfind(">")] if "<" in tile else ""
    return inner.replace(" = ", "").replace(" ", "").replace('"', "") or "-"


def module_rows(source, target, folder):
    """Of a module: family -> kernel's key -> what it takes."""
    library = f"{folder}/{source.stem}.{target}.so"
    options = " ".join(re.findall(r"^// HK-COMPILE:(.*)$", source.read_text(), re.M)).split()
    output("hk-compile", str(source), f"--target={target}", "-o", library, *options,
           env=dict(os.environ, HK_EMU_CHIP=target))
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        kernels = kernels_of_library(library, inner)
    described = json.loads(output("hk-run", library, "--info"))["sections"][0]["kernels"]
    os.remove(library)
    rows, seen = {}, {}
    for kernel in described:
        name = kernel["name"]
        number = seen[name] = seen.get(name, 0) + 1
        for variant in kernel["variants"]:
            key = f"{source.stem} {name}{f'.{number}' if number > 1 else ''} {short_tile(variant['tile'])}"
            mine = rows.setdefault(kernel["family"], {})
            while key in mine:  # variants of one tile
                key += "'"
            mine[key] = measure(kernels[variant["symbol"]], target)
    return rows


def golden_path(target, family):
    return BUDGETS / f"{target}-{family}.txt"


def read_golden(target, folder):
    found = {}
    for path in sorted(folder.glob(f"{target}-*.txt")):
        rows = found[path.stem[len(target) + 1:]] = {}
        for line in path.read_text().splitlines():
            if not line.startswith(("#", "module")):
                words = line.split()
                rows[" ".join(words[:3])] = dict(zip(COLUMNS, words[3:], strict=True))
    return found


def write_golden(target, family, rows):
    lines = [["module", "kernel", "tile", *COLUMNS]]
    lines += [[*key.split(), *(str(row[c]) for c in COLUMNS)] for key, row in sorted(rows.items())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = LEGEND.format(family=family, target=target)
    for line in lines:
        cells = [w.ljust(n) if i < 3 else w.rjust(n) for i, (w, n) in enumerate(zip(line, widths))]
        text += " ".join(cells).rstrip() + "\n"
    golden_path(target, family).parent.mkdir(exist_ok=True)
    golden_path(target, family).write_text(text)


def differences(old, new):
    """What differs by more than its slack, and whether any of it is worse."""
    words, worse = [], False
    if old["part"] != new["part"] or (old["mfma"] == "0") != (new["mfma"] == 0):
        return [f"part {old['part']} -> {new['part']}"], new["part"] == "all"
    for column in COLUMNS:
        if column in ("part", "v/mfma"):  # said by valu and mfma
            continue
        was, now = float(old[column]), float(new[column])
        share, number = SLACK.get(column, (0, 0))
        if abs(now - was) > max(share * was, number):
            words.append(f"{column} {old[column]} -> {new[column]}")
            worse |= (now > was) != (column in MORE_IS_BETTER)
    return words, worse


def compare(golden, found, only):
    """Prints a line for every kernel that differs; returns their number."""
    count = 0
    for family in sorted({*golden, *found}):
        old, new = golden.get(family, {}), found.get(family, {})
        for key in sorted({*old, *new}):
            if not re.search(only, key.split()[0]):
                continue
            if key not in new:
                line = "gone"
            elif key not in old:
                line = "new"
            else:
                words, worse = differences(old[key], new[key])
                line = words and f"{'WORSE' if worse else 'better'}: {', '.join(words)}"
            if line:
                count += 1
                print(f"{family}: {key}: {line}")
    return count


def measure_all(target, modules, only):
    sources = [p for p in sorted(pathlib.Path(modules).glob("*.mlir")) if re.search(only, p.stem)]
    found = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for rows in pool.map(lambda source: module_rows(source, target, folder), sources):
            for family, mine in rows.items():
                found.setdefault(family, {}).update(mine)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=TARGETS, help="default: both")
    parser.add_argument("--modules", default=str(ROOT / "test/Modules"))
    parser.add_argument("--only", default="", help="expression for modules")
    parser.add_argument("--golden", type=pathlib.Path, default=BUDGETS, help="the files to compare with")
    parser.add_argument("--write", action="store_true", help="write the golden files")
    options = parser.parse_args()
    count = 0
    for target in [options.target] if options.target else TARGETS:
        golden = read_golden(target, options.golden)
        found = measure_all(target, options.modules, options.only)
        if not options.write:
            count += compare(golden, found, options.only)
        else:
            for family in {*golden, *found}:
                kept = {k: r for k, r in golden.get(family, {}).items() if not re.search(options.only, k.split()[0])}
                rows = {**kept, **found.get(family, {})}
                if rows:
                    write_golden(target, family, rows)
                else:
                    golden_path(target, family).unlink()
    if not options.write:
        print("kernels that differ:", count)
    if count:
        print("if that is meant: test/Families/Inputs/budget.py --write, and commit test/Families/Inputs/budgets")
    return count != 0


if __name__ == "__main__":
    sys.exit(main())
