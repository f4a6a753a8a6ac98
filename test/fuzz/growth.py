# ===- growth.py - Compile time grows with the graph, not faster ----------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The graph pipeline, up to the emission of kernels, on 10,000 operators against 5,000:
# at most 2.5 times the processor time, on a deep graph (decoder layers) and on a wide
# one (an input with many users), in at most 1 GiB. A busy machine moves times by more
# than that; where they say no, instructions under valgrind decide, which nothing moves.
import argparse
import re
import resource
import subprocess
import sys

T = "tensor<?x256xbf16>"
SIZES = (5000, 10000)
LIMIT = 2.5
MEBIBYTES = 1024


def module(body, result):
    return (f"module {{\nfunc.func @f(%x: {T}, %w: tensor<256x256xbf16>, %g: tensor<256xbf16>) -> {T} {{\n"
            + "\n".join(body) + f"\n  return {result} : {T}\n}}\n}}\n")


def deep(num_ops):
    body, h = [], "%x"
    for i in range(num_ops // 8):
        norm = f"%n{i} = hk.rms_norm {h}, %g epsilon 1.0e-05 : {T}, tensor<256xbf16>"
        products = [f"%{out}{i} = hk.matmul %{x}{i}, %w : {T}, tensor<256x256xbf16> -> {T}"
                    for out, x in (("a", "n"), ("b", "n"), ("e", "d"))]
        body += [norm, products[0], products[1], f"%c{i} = hk.silu %a{i} : {T}",
                 f"%d{i} = hk.mul %c{i}, %b{i} : {T}", products[2],
                 f"%r{i} = hk.add %e{i}, {h} : {T}", f"%h{i} = hk.abs %r{i} : {T}"]
        h = f"%h{i}"
    return module(body, h)


def wide(num_ops):
    body, sums = [], "%x"
    for i in range(num_ops // 2):
        body += [f"%a{i} = hk.exp %x : {T}", f"%s{i} = hk.add {sums}, %a{i} : {T}"]
        sums = f"%s{i}"
    return module(body, sums)


def command(tool):
    return [tool, "-hk-graph=target=host", "-", "-o", "/dev/null"]


def seconds(tool, text):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command(tool), input=text, text=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def instructions(tool, text):
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    report = subprocess.run(valgrind + command(tool), input=text, text=True, check=True, capture_output=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", report)[1].replace(",", ""))


def slow(tool, graph):
    times = [min(seconds(tool, graph(n)) for _ in range(3)) for n in SIZES]
    print(f"{graph.__name__}: {times[0]:.2f} s and {times[1]:.2f} s", flush=True)
    return times[1] > LIMIT * times[0]


def grows_too_fast(tool, graph):
    empty, half, full = [instructions(tool, graph(n)) for n in (0, *SIZES)]
    growth = (full - empty) / (half - empty)
    print(f"{graph.__name__}: {growth:.3f} times the instructions, {LIMIT} allowed")
    return growth > LIMIT


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="hk-opt")
    tool = parser.parse_args().tool
    suspects = [graph for graph in (deep, wide) if slow(tool, graph)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"at most {peak} MiB")
    failed = [graph for graph in suspects if grows_too_fast(tool, graph)]
    return bool(failed) or peak > MEBIBYTES


sys.exit(main())
