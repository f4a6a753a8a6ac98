"""Scores the emulator's timing model on published kernels.

    accuracy.py --emu=build/release/bin/hk-emu --notebook=fp8_gemm_hip_cdna4.ipynb [--fit]

Compiles every case with clang 22 (HIP through shim/), models it, and prints a table with
the error of the model and of two baselines: the roofline (the busiest resource at its full
rate) and the clocks of the matrix unit alone. --fit leaves one family out, chooses the
fitted constants on the others, and scores the family with them.
"""
import argparse
import hashlib
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import families

HERE = pathlib.Path(__file__).resolve().parent
GFX = {"mi300x": "gfx942", "mi325x": "gfx942", "mi355x": "gfx950"}
GRID = {"l2Trip": (600, 800), "hbmTrip": (1200, 1600), "bytesInFlight": (32768, 45056)}
#: What is no resource with a rate, but the latency between two.
NO_RATE = ("bytes in flight",)


def compile_case(case, folder, clang):
    base = os.path.join(folder, "kernel")
    suffix = {"hip": ".hip", "asm": ".s"}[case.language]
    pathlib.Path(base + suffix).write_text(case.source)
    if case.language == "hip":
        flags = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc",
                 "-nogpulib", "-std=c++20", "-O3", "-w", f"-I{HERE}/shim",
                 f"--offload-arch={GFX[case.chip]}"]
    else:
        flags = ["-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={GFX[case.chip]}"]
    subprocess.run([clang, *flags, base + suffix, "-o", base + ".co"], check=True)
    return base + ".co"


def kernel_name(emu, path, case):
    lines = subprocess.run([emu, path, "--list"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    names = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    found = [name for name in names if case.kernel in name]
    if len(found) != 1:
        raise SystemExit(f"{case.name}: {len(found)} kernels contain '{case.kernel}': {names}")
    return found[0]


def model(case, emu, clang, sets):
    """One result per set of constants."""
    with tempfile.TemporaryDirectory() as folder:
        path = compile_case(case, folder, clang)
        command = [emu, path, f"--chip={case.chip}", f"--run={kernel_name(emu, path, case)}",
                   "--grid=" + ",".join(map(str, case.grid)),
                   "--block=" + ",".join(map(str, case.block)), "--timing", "--json",
                   "--no-counters"]
        command += [f"--arg={arg}" for arg in case.args]
        command += ["--set=" + ",".join(filter(None, (s, case.sets))) for s in sets]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{case.name}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def launch_us(result):
    return result["burst_us"] - result["clocks"] / (2400 if result["chip"] == "mi355x" else 2100)


def predict(case, result, what):
    """In the unit of the measurement; a time that is too short shows as a ratio below 1."""
    shares = {k: v for k, v in result["busy"].items() if k not in NO_RATE}
    part = {"model": 1.0, "roofline": max(shares.values()),
            "mfma": max(shares["matrix unit"], 1e-6)}[what]
    clocks = result["clocks"] * part
    if case.unit == "us":
        mhz = result["clocks"] / (result["burst_us"] - launch_us(result))
        return clocks / mhz + (launch_us(result) if what == "model" else 0)
    if case.unit == "share":  # of the loop: the baselines' time is their part of it
        share = max(result["mfma_loop_share"], 1e-6)
        return min(1.0, share / part)
    if case.unit == "GB/s":
        return case.bytes / clocks * 2.4
    return clocks


def ratio(case, result, what="model"):
    """Modelled over measured time."""
    value = predict(case, result, what)
    slower = case.unit in ("us", "clocks")
    return value / case.measured if slower else case.measured / value


def error(case, result, what="model"):
    return abs(math.log(ratio(case, result, what)))


def percent(logs):
    return 100 * (math.exp(logs) - 1)


def tau(cases, index):
    pairs = [(a, b) for a, b in itertools.combinations(cases, 2)
             if a.family == b.family and a.chip == b.chip and a.measured != b.measured]
    agree = sum((a.measured < b.measured) ==
                (predict(a, a.results[index], "model") < predict(b, b.results[index], "model"))
                for a, b in pairs)
    return 2 * agree / len(pairs) - 1, len(pairs)


def table(cases, index):
    print("| family | case | chip | measured | modelled | modelled/measured | roofline | MFMA "
          "count | limit (modelled) |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in cases:
        r = case.results[index]
        print(f"| {case.family} | {case.name}{' *' if case.notes else ''} | {case.chip} | "
              f"{case.measured:.4g} {case.unit} | {predict(case, r, 'model'):.4g} | "
              f"{ratio(case, r):.2f} | {ratio(case, r, 'roofline'):.2f} | "
              f"{ratio(case, r, 'mfma'):.2g} | {r['limit']} |")


def summary(cases, index):
    print("\n| family | cases | model: median, worst | roofline: median | MFMA count: median |")
    print("|---|---|---|---|---|")
    names = list(dict.fromkeys(case.family for case in cases))
    for name in names + ["all"]:
        part = [c for c in cases if name in (c.family, "all")]
        cells = []
        for what in ("model", "roofline", "mfma"):
            errors = [error(c, c.results[index], what) for c in part]
            cells.append(f"{percent(statistics.median(errors)):.0f} %" +
                         (f", {percent(max(errors)):.0f} %" if what == "model" else ""))
        print(f"| {name} | {len(part)} | {' | '.join(cells)} |")
    value, pairs = tau(cases, index)
    print(f"\nKendall's tau inside the families: {value:.2f} over {pairs} pairs.")


def leave_one_out(cases, sets):
    print("\n| family left out | constants chosen on the others | median | with the published "
          "ones |")
    print("|---|---|---|---|")
    for name in dict.fromkeys(case.family for case in cases):
        others = [c for c in cases if c.family != name]
        mine = [c for c in cases if c.family == name]

        def score(part, index):
            return statistics.median(error(c, c.results[index]) for c in part)

        best = min(range(1, len(sets)), key=lambda i: score(others, i))
        print(f"| {name} | {sets[best]} | {percent(score(mine, best)):.0f} % | "
              f"{percent(score(mine, 0)):.0f} % |")


def model_hash():
    """Of the model's code and constants."""
    digest = hashlib.sha256()
    for path in sorted((HERE.parent.parent / "lib/Emulator/Timing").glob("*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--emu", required=True)
    parser.add_argument("--clang", default="clang++-22")
    parser.add_argument("--notebook")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="", help="names of cases, with commas")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    cases = list(families.notebook(options.notebook)) if options.notebook else []
    cases += [*families.tiles(), *families.sweep(), *families.lds()]
    skipped = options.skip.split(",")
    cases = [c for c in cases if options.only in c.family and c.name not in skipped]
    sets = [""]
    if options.fit:
        sets += [",".join(f"{k}={v}" for k, v in zip(GRID, point))
                 for point in itertools.product(*GRID.values())]
    for case in cases:
        case.results = model(case, options.emu, options.clang, sets)
        print(f"{case.family}/{case.name}: {ratio(case, case.results[0]):.2f}",
              file=sys.stderr, flush=True)
    print(f"lib/Emulator/Timing has the hash {model_hash()}.\n")
    table(cases, 0)
    summary(cases, 0)
    if options.fit:
        leave_one_out(cases, sets)


if __name__ == "__main__":
    main()
