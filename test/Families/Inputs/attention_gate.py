# ===- attention_gate.py - The loop of many queries on CDNA ----------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles attention of many queries and says what of its main loop is more than the
# loop of runtime/kernels/attention/matrix.h means on a chip: registers that leave no
# room for two waves, spills, moves of accumulation registers, narrow accesses of LDS,
# barriers, vector instructions; then runs it in the emulator and asks for bank conflicts.
import argparse
import json
import os
import re
import tempfile

from budget import main_loop
from objects import kernels_of_library, output

#: Matrix instructions of 32x32 multiply so many columns at a time.
DEPTH = {"gfx942": 8, "gfx950": 16}
#: Other instructions of the vector unit for each score of a lane, those of masks included.
MOST_VALU = {"gfx942": 9.9, "gfx950": 7.4}
#: In the loop's text, but behind a branch that only scores of 2^24 and more take: a product for
#: each score, and what leads there.
RARE_VALU = 1.25
#: Of the clocks of LDS, where rows have 192 bytes; a quarter of those of matrix instructions.
MOST_CONFLICTS = {"gfx942": 0.29, "gfx950": 0.48}
GRAPH = """!q = tensor<1x150x8x{D}xbf16>
!k = tensor<1x200x2x{D}xbf16>
func.func @causal(%q: !q, %k: !k) -> !q {{
  %o = hk.attention %q, %k, %k scale 0.1 causal : !q, !k, !k -> !q
  return %o : !q
}}
"""
READS = {"ds_read_b128", "ds_read_b64_tr_b16", "ds_bpermute_b32"}
WRITES = {"ds_write_b64", "ds_write_b128"}


def padded(dim):
    """Columns of a head in LDS and in matrix instructions."""
    return -(-dim // 32) * 32


def complaints(kernel, target, dim, keys):
    loop = main_loop(kernel.code)
    names = [i.name for i in kernel.code if loop[0] <= i.address <= loop[1]]
    # Scores and results: 32 rows of a wave, all keys of the tile.
    mfma = 2 * (keys // 32) * padded(dim) // DEPTH[target]
    valu = sum(n.startswith("v_") and not n.startswith("v_mfma") for n in names)
    checks = {
        "matrix instructions": sum(n.startswith("v_mfma") for n in names) == mfma,
        "two waves a SIMD": kernel.waves(target) >= 2,
        "spills": kernel.spills == 0 and kernel.scratch == 0,
        "accumulation registers": not any(n.startswith("v_accvgpr") for n in names),
        "reads of LDS": {n for n in names if re.match("ds_(read|bpermute)", n)} <= READS,
        "writes of LDS": {n for n in names if n.startswith("ds_write")} <= WRITES,
        "barriers": names.count("s_barrier") <= 2,
        "vector instructions": valu <= (MOST_VALU[target] + RARE_VALU) * keys / 2,
    }
    return [name for name, holds in checks.items() if not holds]


def gate(target, dim, folder):
    source, library = f"{folder}/graph.mlir", f"{folder}/module.so"
    with open(source, "w") as file:
        file.write(GRAPH.format(D=dim))
    output("hk-compile", source, f"--target={target}", "-o", library)
    (kernel,) = json.loads(output("hk-run", library, "--info"))["sections"][0]["kernels"]
    (variant,) = kernel["variants"]
    keys = int(re.search(r"bk = (\d+)", variant["tile"])[1])
    found = complaints(kernels_of_library(library, folder)[variant["symbol"]], target, dim, keys)
    (counters,) = json.loads(output("hk-run", library, "--device=hip:0", "--counters=json"))["kernels"]
    most = MOST_CONFLICTS[target] * counters["lds_clocks"] if padded(dim) == 96 else 0
    return found + (["bank conflicts"] if counters["lds_conflict_clocks"] > most else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, choices=list(DEPTH))
    options = parser.parse_args()
    os.environ["HK_EMU_CHIP"] = options.target
    for dim in (64, 80, 96, 112, 128):  # larger heads leave room for one wave
        with tempfile.TemporaryDirectory() as folder:
            print(f"{dim}: too much: {', '.join(gate(options.target, dim, folder)) or 'nothing'}")


main()
