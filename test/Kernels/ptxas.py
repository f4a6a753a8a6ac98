#!/usr/bin/env python3
"""Assembles the PTX in a cache of kernels: ptxas.py PTXAS FOLDER [all].

Fails when a kernel of warpgroup products, of f32 cells or of operands by the copy engine spills (with
`all` any kernel), or when ptxas says that it waits for each product (its notes C75xx, which it gives nowhere else).
Prints a line per kernel.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# include/hk/Runtime/Seal.h
SEAL_BYTES = 24
# What kernels that must not spill have: products of warpgroups, copies of 4 bytes into LDS, and
# boxes of tensor maps.
MARKS = ("wgmma.mma_async", "cp.async.ca.shared", "cp.async.bulk.tensor")


def must_not_spill(text):
    return "all" in sys.argv[3:] or any(mark in text for mark in MARKS)


def check(ptxas, file):
    text = file.read_bytes()[:-SEAL_BYTES].decode(errors="replace")
    if not must_not_spill(text):
        return 0, []
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
        ptx.write(text)
        ptx.flush()
        done = subprocess.run([ptxas, "-v", "-arch=sm_90a", ptx.name, "-o", "/dev/null"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return 0, [done.stdout]
    wrong = re.findall(r".*C75\d\d.*", done.stdout)
    bodies = dict(re.findall(r"\.visible \.entry (\w+)\((.*?)(?=\.visible \.entry|\Z)", text, re.S))
    kernels = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?"
                         r"Used (\d+) registers", done.stdout, re.S)
    kernels = [k for k in kernels if must_not_spill(bodies[k[0]])]
    for name, stores, loads, registers in kernels:
        print(f"{name}: {registers} registers, {stores} and {loads} bytes spilled")
        if int(stores) or int(loads):
            wrong.append(f"{name} spills")
    return len(kernels), wrong


def main():
    ptxas, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    kernels, wrong = 0, []
    for file in sorted(folder.iterdir()):
        count, more = check(ptxas, file)
        kernels += count
        wrong += more
    print(f"{kernels} kernels {'of all' if 'all' in sys.argv[3:] else 'with warpgroup products, cells or boxes'}")
    for text in wrong:
        print("wrong:", text)
    return bool(wrong) or not kernels


if __name__ == "__main__":
    sys.exit(main())
