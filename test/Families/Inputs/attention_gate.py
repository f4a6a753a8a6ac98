# ===- attention_gate.py - The loop of many queries on CDNA ----------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles attention of many queries and says what of its main loop is more than the
# loop of runtime/kernels/attention/matrix.h means on a chip: registers that leave no
# room for two waves where results have at most 128 columns, spills, moves of
# accumulation registers, narrow accesses of LDS, barriers, vector instructions; then
# runs it in the emulator and asks for bank conflicts.
import argparse
import json
import os
import re
import tempfile

from budget import main_loop
from objects import kernels_of_library, output

#: Matrix instructions of 32x32 multiply so many columns at a time.
DEPTH = {"gfx942": 8, "gfx950": 16}
#: Columns of heads and values, of values that are columns of keys the last.
HEADS = [(64, 64), (80, 80), (96, 96), (112, 112), (128, 128), (192, 128), (256, 256), (576, 512)]
#: Other instructions of the vector unit for each score of a lane, those of masks included. What a
#: step costs beside its scores weighs twice where it has 32 keys.
MOST_VALU = {"gfx942": {128: 9.9, 192: 11.8, 256: 14.5, 576: 23.3}, "gfx950": {128: 7.4, 192: 7.6, 256: 9.1, 576: 19.7}}
#: Moves of accumulation registers in the loop, where a wave has more than 256 registers.
MOST_ACC = {"gfx942": {256: 5, 576: 21}, "gfx950": {256: 8, 576: 5}}
#: In the loop's text, but behind a branch that only scores of 2^24 and more take: a product for
#: each score, and what leads there.
RARE_VALU = 1.25
GRAPH = """!q = tensor<1x150x8x{D}xbf16>
!k = tensor<1x200x{G}x{D}xbf16>
!v = tensor<1x200x{G}x{V}xbf16>
!o = tensor<1x150x8x{V}xbf16>
func.func @causal(%q: !q, %k: !k, %v: !v) -> !o {{
  %o = hk.attention %q, %k, %{X} scale 0.1 causal : !q, !k, !{X} -> !o
  return %o : !o
}}
"""
READS = {"ds_read_b128", "ds_read_b64_tr_b16", "ds_bpermute_b32"}
#: Columns of keys that are values are read across rows.
LATENT_READS = READS | {"ds_read_b64", "ds_read2_b64", "ds_read2st64_b64"}
WRITES = {"ds_write_b64", "ds_write_b128", "ds_write2st64_b64"}


def padded(dim):
    """Columns of a head in LDS and in matrix instructions."""
    return -(-dim // 32) * 32


def complaints(kernel, target, head, value, keys):
    loop = main_loop(kernel.code)
    names = [i.name for i in kernel.code if loop[0] <= i.address <= loop[1]]
    # Scores and results: 32 rows of a wave, all keys of the tile; of values that are columns of
    # keys two waves have half of the columns each.
    latent = head > 256
    mfma = (keys // 32) * (padded(head) + padded(value) // (2 if latent else 1)) // DEPTH[target]
    most_valu = MOST_VALU[target][max(head, 128)]
    valu = sum(n.startswith("v_") and not n.startswith("v_mfma") for n in names)
    checks = {
        "matrix instructions": sum(n.startswith("v_mfma") for n in names) == mfma,
        "waves of a SIMD": kernel.waves(target) >= (2 if value <= 128 else 1),
        "spills": kernel.spills == 0 and kernel.scratch == 0,
        "accumulation registers": sum(n.startswith("v_accvgpr") for n in names) <= MOST_ACC[target].get(head, 0),
        "reads of LDS": {n for n in names if re.match("ds_(read|bpermute)", n)} <= (LATENT_READS if latent else READS),
        "writes of LDS": {n for n in names if n.startswith("ds_write")} <= WRITES,
        "barriers": names.count("s_barrier") <= 2,
        "vector instructions": valu <= (most_valu + RARE_VALU) * keys / 2,
    }
    return [name for name, holds in checks.items() if not holds]


def gate(target, head, value, folder):
    source, library = f"{folder}/graph.mlir", f"{folder}/module.so"
    with open(source, "w") as file:
        shared = head > 256
        file.write(GRAPH.format(D=head, V=value, G=1 if shared else 2, X="k" if shared or head == value else "v"))
    output("hk-compile", source, f"--target={target}", "-o", library)
    (kernel,) = json.loads(output("hk-run", library, "--info"))["sections"][0]["kernels"]
    (variant,) = kernel["variants"]
    keys = int(re.search(r"bk = (\d+)", variant["tile"])[1])
    found = complaints(kernels_of_library(library, folder)[variant["symbol"]], target, head, value, keys)
    (counters,) = json.loads(output("hk-run", library, "--device=hip:0", "--counters=json"))["kernels"]
    return found + (["bank conflicts"] if counters["lds_conflict_clocks"] > 0 else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, choices=list(DEPTH))
    options = parser.parse_args()
    os.environ["HK_EMU_CHIP"] = options.target
    for head, value in HEADS:  # results of more than 128 columns leave room for one wave
        with tempfile.TemporaryDirectory() as folder:
            name = head if head == value else f"{head}/{value}"
            print(f"{name}: too much: {', '.join(gate(options.target, head, value, folder)) or 'nothing'}")


main()
