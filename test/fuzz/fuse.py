# ===- fuse.py - Random graphs through fusion -----------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For every random graph, fused and not: the whole graph pipeline succeeds. Fusion
# leaves no operator outside kernels, gives the same bytes twice, and never more
# launches than one kernel per operator does.
import argparse
import re
import subprocess
import sys

import graphs

OUTSIDE = re.compile(r"^    .*\bhk\.(?!launch\b|weight_ref\b)[a-z_0-9]+ ", re.M)


def run(tool, text, *options):
    return subprocess.run([tool, *options, "-"], input=text, text=True, capture_output=True)


def fuse(tool, text, *options):
    return run(tool, text, "-hk-assign-target=target=host", *options, "-hk-outline")


def functions(text):
    return {m[1]: m[2] for m in re.finditer(r"^  func\.func @(\w+)(.*?)^  }", text, re.M | re.S)}


def problem(tool, seeds):
    """What is wrong with these graphs together, or None."""
    text = graphs.module(seeds)
    fused, again = fuse(tool, text, "-hk-fuse"), fuse(tool, text, "-hk-fuse")
    apart = fuse(tool, text, "-hk-fuse=disable=true")
    whole = run(tool, text, "-hk-graph=target=host")
    whole_apart = run(tool, text, "-hk-graph=target=host fuse=false")
    for result in (fused, apart, whole, whole_apart):
        if result.returncode:
            return f"hk-opt failed ({result.returncode}): {result.stderr[:2000]}"
    if fused.stdout != again.stdout:
        return "two runs differ"
    bodies = functions(apart.stdout)
    for name, body in functions(fused.stdout).items():
        left = OUTSIDE.search(body)
        if left:
            return f"{name}: outside a kernel: {left[0]}"
        if body.count("hk.launch") > bodies[name].count("hk.launch"):
            return f"{name}: fusion made more launches"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="hk-opt")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=25)
    options = parser.parse_args()
    failures = 0
    last = options.first + options.seeds
    for first in range(options.first, last, options.batch):
        seeds = range(first, min(first + options.batch, last))
        if problem(options.tool, seeds) is None:
            continue
        for seed in seeds:
            why = problem(options.tool, [seed])
            if why:
                failures += 1
                print(f"seed {seed}: {why}\n{graphs.module([seed])}")
    print(f"{options.seeds} graphs, {failures} failures")
    return failures != 0


sys.exit(main())
