"""hk's kernels beside AITER's Triton kernels, by the emulator's timing model.

    pairs.py --aiter=CHECKOUT --build=build/release [--chip=gfx942] [--only=NAME] [--json=FILE]

Run it with a Python that has torch, triton and numpy (benchmarks/results/amd-pairs.md names the
versions). Both sides run in the emulator on the same chip with cold caches, a sample of the
workgroups of each launch; nothing here is a measurement. AITER's source is read from CHECKOUT
and is no part of hk; its own host code chooses tiles, grids and warps from its own tables.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import torch

import aiter_kernels
import pair_cases

F8 = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}
WORSE, SAME, BETTER = "behind", "not distinguishable", "ahead"


class Timings:
    """The lines that the emulator appends for the launches of a call."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "timing.jsonl"
        os.environ["HK_EMU_TIMING"] = str(self.path)

    def take(self):
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.path.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]


def summary(launches):
    """Of one side: times added, the limit of the longest launch, the error of the parts."""
    longest = max(launches, key=lambda r: r["clocks"])
    clocks = sum(r["clocks"] for r in launches)
    return {"launches": len(launches), "clocks": clocks, "us": sum(r["burst_us"] for r in launches),
            "limit": longest["limit"], "class": longest["class"], "loop": longest["mfma_loop_share"],
            "error": sum(r["clocks"] * r["relative_error"] for r in launches) / clocks,
            "parts": [(r["kernel"][:60], r["clocks"], r["limit"]) for r in launches],
            "busy": dict(sorted(longest["busy"].items(), key=lambda p: -p[1])[:4])}


def verdict(hk, other):
    """As hk-emu --compare decides, but on times, as the numbers of launches differ."""
    bar = 1 + max(hk["error"], other["error"])
    if hk["us"] * bar < other["us"]:
        return BETTER
    return WORSE if other["us"] * bar < hk["us"] else SAME


def run_hk(case, library, bin_, folder, timings):
    options = []
    for option in case.options:
        if isinstance(option, tuple):
            path = f"{folder}/{option[0]}.npy"
            np.save(path, option[1].numpy())
            option = f"--input={option[0]}={path}"
        options.append(option)
    # Of blocks that did not run the model takes the mean work, which is wrong where some have nothing to do.
    environment = dict(os.environ, HK_EMU_TIMING_SAMPLE="1" if case.sampled else "0")
    subprocess.run([bin_ / "hk-run", library, f"--function={case.name}", "--device=hip:0", *options], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    return summary(timings.take())


def run_aiter(case, chip, get, timings):
    case.aiter(get, F8[chip])
    return summary(timings.take())


def compare(case, chip, get, library, bin_, folder, timings):
    result = {"chip": chip, "family": case.family, "name": case.name, "shape": case.shape, "about": case.about}
    for side, run in (("hk", lambda: run_hk(case, library, bin_, folder, timings)),
                      ("aiter", lambda: run_aiter(case, chip, get, timings))):
        try:
            timings.take()
            result[side] = run()
        except Exception as error:  # one side may not exist: said in the table
            traceback.print_exc(file=sys.stderr)
            result[side] = {"error_text": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    if "us" in result["hk"] and "us" in result["aiter"]:
        result["verdict"] = verdict(result["hk"], result["aiter"])
    return result


def row(result):
    def cells(side):
        s = result[side]
        if "us" not in s:
            return f"- | {s['error_text'][:80]} | - "
        loop = f", {100 * s['loop']:.0f} %" if s["loop"] else ""
        return f"{s['us']:.1f} ({s['launches']}) | {s['limit']}{loop} "

    both = "verdict" in result
    ratio = f"{result['aiter']['us'] / result['hk']['us']:.2f}" if both else "-"
    error = f"{100 * max(result['hk']['error'], result['aiter']['error']):.0f} %" if both else "-"
    return (f"| {result['name']} | {result['shape']} | {cells('hk')}| {cells('aiter')}| {ratio} | {error} | "
            f"{result.get('verdict', '-')} |")


HEADER = """| work | shape | hk, modelled us (launches) | hk's limit (modelled), matrix unit in the loop | AITER, modelled us \
(launches) | its limit (modelled) | AITER / hk (modelled) | error bar | hk by the model |
|---|---|---|---|---|---|---|---|---|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aiter", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--chip", choices=list(F8), default="gfx942")
    parser.add_argument("--only", default="", help="expression for names")
    parser.add_argument("--json", type=pathlib.Path, help="append results here")
    parser.add_argument("--table", type=pathlib.Path, help="only print the table of such a file")
    options = parser.parse_args()
    if options.table:
        print(HEADER)
        for line in options.table.read_text().splitlines():
            if json.loads(line)["chip"] == options.chip:
                print(row(json.loads(line)))
        return
    os.environ.update(HK_EMU_CHIP=options.chip, HK_EMU_TIMING_SAMPLE="1", HK_EMU_CHECKS="0",
                      HK_HIP_LIBRARY=str(options.build.resolve() / "lib/libhk_emu.so"))
    bin_ = options.build.resolve() / "bin"
    cases = [c for c in pair_cases.CASES if options.chip in c.chips and re.search(options.only, c.name)]
    with tempfile.TemporaryDirectory() as folder:
        timings = Timings(folder)
        source, library = f"{folder}/pairs.mlir", f"{folder}/pairs.so"
        pathlib.Path(source).write_text(pair_cases.module(options.chip, options.only))
        subprocess.run([bin_ / "hk-compile", source, f"--target={options.chip}", "-o", library], check=True)
        get = aiter_kernels.load(options.aiter.resolve(), options.chip)
        print(HEADER)
        for case in cases:
            result = compare(case, options.chip, get, library, bin_, folder, timings)
            print(row(result), flush=True)
            if options.json:
                with options.json.open("a") as out:
                    out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
