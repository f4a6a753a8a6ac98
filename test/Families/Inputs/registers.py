# ===- registers.py - Registers and accesses of code objects ---------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints, of the kernels that compiling some modules made: the waves that one SIMD
# holds by their vector registers, which must be at least the number given, and
# which instructions read and write global memory.
import argparse
import os
import re
import subprocess
import sys
import tempfile

# Vector registers of a SIMD of a CDNA compute unit, and what they are handed out by.
REGISTERS, GRANULE = 512, 8


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--waves", type=int, default=1)
    parser.add_argument("modules", nargs="+")
    options = parser.parse_args()
    few = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, HK_CACHE_DIR=folder + "/cache")
        for module in options.modules:
            output("hk-compile", module, f"--target={options.target}", "-o", folder + "/m.so", env=environment)
        accesses = set()
        for name in sorted(os.listdir(folder + "/cache")):
            path = f"{folder}/cache/{name}"
            if open(path, "rb").read(4) != b"\x7fELF":
                continue
            notes = output("llvm-readelf", "--notes", path)
            for symbol, count in re.findall(r"\.name: +(\S+).*?\.vgpr_count: +(\d+)", notes, re.S):
                waves = min(8, REGISTERS // max(GRANULE, -(-int(count) // GRANULE) * GRANULE))
                if waves < options.waves:
                    few += 1
                    print(f"{symbol}: {count} registers, {waves} waves")
            accesses |= set(re.findall(r"\b(global_(?:load|store)_\w+)", output("llvm-objdump", "-d", path)))
        print("accesses:", " ".join(sorted(accesses)))
    print("too many registers:", few)
    return few != 0


if __name__ == "__main__":
    sys.exit(main())
