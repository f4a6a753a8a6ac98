# ===- values.py - Random graphs, compiled and run ------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles random graphs for the host, fused and one kernel per operator, and
# lets hk-run compare both with the reference interpreter, whose error bounds
# decide.
import argparse
import os
import subprocess
import sys
import tempfile

import graphs


TOKENS = (5, 1, 0, 67)  # of a call with dynamic sizes


def check(so, source, name, graph, tokens):
    options = []
    for value in graph.args:
        if value.element == "i32":
            kind = "iota" if value in graph.slots else "0:15"
            options.append(f"--range={value.name[1:]}={kind}")
        if graph.dynamic:
            options += [f"--dim={value.name[1:]}.{i}={tokens}"
                        for i, size in enumerate(value.shape) if size == "T"]
    return subprocess.run(["hk-run", so, f"--function={name}", f"--check={source}", "--random=1", "--poison",
                           "--shuffle=1", *options], capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--max-ops", type=int, default=10)
    parser.add_argument("--keep", help="folder for the graphs that fail")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.seeds):
            source = os.path.join(options.keep or folder, f"f{seed}.mlir")
            with open(source, "w") as file:
                file.write(graphs.module([seed], max_ops=options.max_ops))
            graph, bad = graphs.graph(seed, max_ops=options.max_ops), False
            for mode in ([], ["--no-fuse"]):
                so = os.path.join(folder, "f.so")
                result = subprocess.run(["hk-compile", source, "-o", so, "--host-cpu=native", *mode],
                                        capture_output=True, text=True)
                for tokens in TOKENS if graph.dynamic else (graphs.TOKENS,):
                    if result.returncode == 0:
                        result = check(so, source, f"f{seed}", graph, tokens)
                if result.returncode:
                    bad = True
                    print(f"seed {seed} {' '.join(mode)}: {result.args[0]} failed ({result.returncode}):\n"
                          f"{result.stdout[-3000:]}{result.stderr[-3000:]}")
            failures += bad
            if options.keep and not bad:
                os.remove(source)
    print(f"{options.seeds} graphs, {failures} failures")
    return failures != 0


sys.exit(main())
