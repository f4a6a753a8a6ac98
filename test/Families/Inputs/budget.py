# ===- budget.py - What every kernel takes, beside what it took ------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compares what the code objects of test/Modules say with the golden files in budgets/, one
# per chip and family, a line per kernel. A kernel that takes more fails, one that takes less
# does too, so that the files stay true; SLACK says how little does not count. No kernel may
# hold data, as a table that it reads at run time. After a change that is meant, in a built tree:
#
#     python3 test/Families/Inputs/budget.py --write [--only=EXPRESSION]
#
# Libraries are those that the module tests left; what is missing or older than its source,
# the compiler or a header is compiled, from the tests' cache of kernels. Lines do not hold
# the numbers that make kernels' names unique, and none depends on another line, so that a
# function more in a module is a line more here.
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from objects import kernels_of_library, output

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUDGETS = HERE / "budgets"
#: Of the columns for module, kernel and tile, and for each number.
WIDTHS, NUMBER = (34, 36, 46), 6

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
               data=" ".join(kernel.data), bytes=kernel.code[-1].address + 4 - kernel.code[0].address)
    row["v/mfma"] = f"{row['valu'] / row['mfma']:.1f}" if row["mfma"] else "-"
    return row


def short_tile(tile):
    """'#hk.gemm_tile<bm = 32, bn = 64>' as 'bm32,bn64'; of a list of tiles all."""
    inner = re.sub(r"#hk\.\w+<([^<>]*)>", r"\1", tile)
    return re.sub(r' = |[ "]', "", inner) or "-"


def newest(*folders):
    return max(p.stat().st_mtime for folder in folders for p in folder.rglob("*.h"))


class Libraries:
    """The compiled modules: the tests', or made here in `folder`."""

    def __init__(self, build, folder):
        self.tested, self.folder = build / "test/Modules", folder
        self.made_of = max(newest(ROOT / "runtime/kernels", ROOT / "include/hk/Contract"),
                           (build / "bin/hk-compile").stat().st_mtime)

    def of(self, source, target):
        library = self.tested / f"{source.name}.{target}.so"
        if library.exists() and library.stat().st_mtime > max(self.made_of, source.stat().st_mtime):
            return str(library)
        library = f"{self.folder}/{source.stem}.{target}.so"
        options = " ".join(re.findall(r"^// HK-COMPILE:(.*)$", source.read_text(), re.M)).split()
        output("hk-compile", str(source), f"--target={target}", "-o", library, *options,
               env=dict(os.environ, HK_EMU_CHIP=target))
        return library


def module_rows(source, target, libraries):
    """Of a module: family -> (module, kernel, tile) -> what each such kernel takes."""
    library = libraries.of(source, target)
    with tempfile.TemporaryDirectory(dir=libraries.folder) as inner:
        kernels = kernels_of_library(library, inner)
    rows = {}
    for kernel in json.loads(output("hk-run", library, "--info"))["sections"][0]["kernels"]:
        # Numbers that make the name unique tell of other functions.
        name = re.sub(r"_\d+(?=_and_|$)", "", kernel["name"])
        for variant in kernel["variants"]:
            key = (source.stem, name, short_tile(variant["tile"]))
            row = {c: str(v) for c, v in measure(kernels[variant["symbol"]], target).items()}
            rows.setdefault(kernel["family"], {}).setdefault(key, []).append(row)
    return rows


def golden_path(target, family):
    return BUDGETS / f"{target}-{family}.txt"


def read_golden(target, folder):
    found = {}
    for path in sorted(folder.glob(f"{target}-*.txt")):
        rows = found[path.stem[len(target) + 1:]] = {}
        for line in path.read_text().splitlines():
            if not line.startswith(("#", "module ")):
                words = line.split()
                rows.setdefault(tuple(words[:3]), []).append(dict(zip(COLUMNS, words[3:], strict=True)))
    return found


def line_of(words):
    cells = [w.ljust(n) for w, n in zip(words, WIDTHS)] + [w.rjust(NUMBER) for w in words[3:]]
    return " ".join(cells).rstrip() + "\n"


def write_golden(target, family, rows):
    text = LEGEND.format(family=family, target=target) + line_of(["module", "kernel", "tile", *COLUMNS])
    text += "".join(sorted(line_of([*key, *(row[c] for c in COLUMNS)]) for key, group in rows.items() for row in group))
    golden_path(target, family).parent.mkdir(exist_ok=True)
    golden_path(target, family).write_text(text)


def pairs(old, new):
    """Kernels of one key, each beside its line: those that agree first, others by size."""
    old, made = sorted(old, key=lambda r: int(r["bytes"])), []
    left = sorted(new, key=lambda r: int(r["bytes"]))
    for row in list(left):
        same = next((o for o in old if not differences(o, row)[0]), None)
        if same:
            old.remove(same)
            left.remove(row)
            made.append((same, row))
    while old or left:
        made.append((old.pop(0) if old else None, left.pop(0) if left else None))
    return made


def differences(old, new):
    """What differs by more than its slack, and whether any of it is worse."""
    words, worse = [], False
    if old["part"] != new["part"] or (old["mfma"] == "0") != (new["mfma"] == "0"):
        return [f"part {old['part']} -> {new['part']}"], new["part"] == "all"
    for column in COLUMNS:
        if column in ("part", "v/mfma"):  # said by valu and mfma
            continue
        was, now = float(old[column]), float(new[column])
        share, number = SLACK.get(column, (0, 0))
        if abs(now - was) > max(share * was, number):
            words.append(f"{column} {old[column]} -> {new[column]}")
            worse |= (now > was) != (column in MORE_IS_BETTER)
    if new["data"]:  # no line allows any
        words.append(f"data {new['data']}")
        worse = True
    return words, worse


def said(old, new):
    """What there is to say of a kernel; "" for nothing."""
    if not new:
        return "gone"
    if not old:
        return "new"
    words, worse = differences(old, new)
    return f"{'WORSE' if worse else 'better'}: {', '.join(words)}" if words else ""


def compare(target, golden, found, only):
    """Prints a line for every kernel that differs; returns their number."""
    counts = Counter()
    for family in sorted({*golden, *found}):
        old, new = golden.get(family, {}), found.get(family, {})
        for key in sorted({*old, *new}):
            if not re.search(only, key[0]):
                continue
            for before, now in pairs(old.get(key, []), new.get(key, [])):
                if text := said(before, now):
                    counts[text.split(":")[0]] += 1
                    print(f"{target} {family}: {' '.join(key)}: {text}")
    if counts:
        print(f"{target}:", ", ".join(f"{n} {what}" for what, n in counts.items()))
    return sum(counts.values())


def written(golden, found, only):
    """The golden rows with what was found; lines that still hold within the slack stay."""
    rows = {key: group for key, group in golden.items() if not re.search(only, key[0])}
    for key, group in found.items():
        kept = [(old, new) for old, new in pairs(golden.get(key, []), group) if new]
        rows[key] = [old if old and not differences(old, new)[0] else new for old, new in kept]
    return rows


def measure_all(target, modules, only, libraries):
    sources = [p for p in sorted(pathlib.Path(modules).glob("*.mlir")) if re.search(only, p.stem)]
    found = {}
    with ThreadPoolExecutor(2) as pool:
        for rows in pool.map(lambda source: module_rows(source, target, libraries), sources):
            for family, mine in rows.items():
                found.setdefault(family, {}).update(mine)
    return found


def use_build(build):
    """Tools of the build and of its LLVM, and the tests' cache of kernels."""
    llvm = re.search(r'llvm_tools_dir = "(.*)"', (build / "test/lit.site.cfg.py").read_text())[1]
    os.environ["PATH"] = os.pathsep.join([str(build / "bin"), llvm, os.environ["PATH"]])
    os.environ["HK_CACHE_DIR"] = str(build / "test/kernel-cache")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--target", choices=TARGETS, help="default: both")
    parser.add_argument("--modules", default=str(ROOT / "test/Modules"))
    parser.add_argument("--only", default="", help="expression for modules")
    parser.add_argument("--golden", type=pathlib.Path, default=BUDGETS, help="the files to compare with")
    parser.add_argument("--write", action="store_true", help="write the golden files")
    options = parser.parse_args()
    use_build(options.build.resolve())
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        libraries = Libraries(options.build.resolve(), folder)
        for target in [options.target] if options.target else TARGETS:
            golden = read_golden(target, options.golden)
            found = measure_all(target, options.modules, options.only, libraries)
            if not options.write:
                count += compare(target, golden, found, options.only)
                continue
            for family in {*golden, *found}:
                rows = written(golden.get(family, {}), found.get(family, {}), options.only)
                if rows:
                    write_golden(target, family, rows)
                else:
                    golden_path(target, family).unlink()
    if not options.write:
        print("kernels that differ:", count)
    if count:
        print("if that is meant: python3 test/Families/Inputs/budget.py --write, and commit test/Families/Inputs/budgets")
    return count != 0


if __name__ == "__main__":
    sys.exit(main())
