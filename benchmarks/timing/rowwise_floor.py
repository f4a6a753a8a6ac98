"""How much of a row-wise kernel's vector work its definition asks for, from its code.

    rowwise_floor.py --counts=FILE.json --libraries=FOLDER

FILE.json is what rowwise_valu.py --json wrote, FOLDER has the compiled modules (NAME.CHIP.so or
NAME.mlir.CHIP.so). An instruction is needed if it converts, is transcendental, adds or multiplies
floats, or packs two results; sums and products that are not packed count half, as if they were, and
of maxima of two half, as one of three takes two. Addresses, moves, comparisons, selections and
exchanges between lanes count nothing, nor does unpacking by shifts. The floor of a kernel is its
share (rowwise_valu.py) times the needed part of the clocks of its code, each instruction once:
loops are taken for straight code. Where the floor is above 85 %, only another algorithm helps; where
it is below, what is not needed decides. Nothing here is a measurement.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/Families/Inputs")]
from objects import kernels_of_library  # noqa: E402

LIMIT = 0.85
TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_f(16|32)")
HALF = re.compile(r"v_(add|sub|subrev|mul|fma|fmac|max|min)_f32")
WHOLE = re.compile(r"v_(pk_(add|mul|fma|max|min)_|cvt_|max3_f32|min3_f32|maximum3_f32|med3_f32|ldexp_f32|perm_b32|dot2)")
#: What a kernel is counted with, by the first word of its name that is one of these.
KINDS = [("quantisation to mx formats", "quantize_mx"), ("RoPE", "rope"), ("cosines and sines of its own", "sin"),
         ("quantisation with a given scale", "quantize_static"), ("quantisation with scales of rows and groups", "quantize"),
         ("combination of slices", "attention_combine|sum_slices"), ("dequantisation", "dequantize"),
         ("activations", "activation|silu|gelu|sigmoid|tanh|exp"), ("norms", "norm"), ("softmax", "softmax"),
         ("gathers, copies, transposes", "gather|copy|transpose|concat|write|pad|cast")]


def clocks(name):
    """Issue clocks of a vector instruction, and of them those that the definition needs."""
    if TRANSCENDENTAL.match(name):
        return 16, 16
    return 4, 4 if WHOLE.match(name) else 2 if HALF.match(name) else 0


def needed_part(kernel):
    total = needed = 0
    for instruction in kernel.code:
        if instruction.name.startswith("v_"):
            own, asked = clocks(instruction.name)
            total, needed = total + own, needed + asked
    return needed / total if total else 0


def kind_of(line):
    return next((kind for kind, words in KINDS if re.search(words, line["kernel"])), "others")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    options = parser.parse_args()
    lines = [json.loads(text) for text in options.counts.read_text().splitlines()]
    parts, missing = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for module, chip in sorted({(r["module"], r["chip"]) for r in lines}):
            library = next((p for name in (f"{module}.{chip}.so", f"{module}.mlir.{chip}.so")
                            if (p := options.libraries / name).exists()), None)
            for symbol, kernel in (kernels_of_library(library, folder) if library else {}).items():
                parts[chip, symbol] = needed_part(kernel)
    table = {}
    for r in lines:
        if r["class"] != "main" or r["share"] <= LIMIT:
            continue
        part = parts.get((r["chip"], r["symbol"]))
        missing += part is None
        if part is not None:
            table.setdefault(kind_of(r), []).append((r["share"], part * r["share"]))
    print("| kind | above 85 % | of them the floor too | median share | median floor | median part that is needed |\n|---|---|---|---|---|---|")
    every = sorted(table.items(), key=lambda p: -len(p[1])) + [("all", [v for t in table.values() for v in t])]
    for kind, found in every:
        shares, floors, needed = (sorted(v)[len(found) // 2] for v in ([s for s, _ in found], [f for _, f in found],
                                                                       [f / s for s, f in found]))
        print(f"| {kind} | {len(found)} | {sum(f > LIMIT for _, f in found)} | {shares:.2f} | {floors:.2f} | {needed:.2f} |")
    if missing:
        print(f"\n{missing} kernels above 85 % are in no library of the folder.")


if __name__ == "__main__":
    main()
