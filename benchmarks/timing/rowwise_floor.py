"""How much of a row-wise kernel's vector work its definition asks for, from its code.

    rowwise_floor.py --counts=FILE.json --libraries=FOLDER

FILE.json is what rowwise_valu.py --json wrote, FOLDER has the compiled modules (NAME.CHIP.so or
NAME.mlir.CHIP.so). An instruction is needed if it converts, is transcendental, adds or multiplies
floats, or packs two results; sums and products that are not packed count half, as if they were, and
of maxima of two half, as one of three takes two. Addresses, moves, comparisons, selections and
exchanges between lanes count nothing. The floor of a kernel is its share (rowwise_valu.py) times the
needed part of the clocks of its code up to its end, behind which lies what only rare lanes take;
loops are taken for straight code. Where the floor is above 85 %, only another algorithm helps.

Each kernel above 85 % gets the first reason that suffices, of parts that are added one by one:
the definition; unpacking bf16 and rounding to it without an instruction, with the votes for NaN;
the addresses of its accesses; whatever is around. A kernel whose lanes access less than NARROW bytes
in all is called small before the addresses are asked: what a thread does once is most of it. Nothing
here is a measurement.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/Families/Inputs")]
from objects import access_bytes, kernels_of_library  # noqa: E402

LIMIT = 0.85
TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_f(16|32)")
HALF = re.compile(r"v_(add|sub|subrev|mul|fma|fmac|max|min)_f32")
WHOLE = re.compile(r"v_(pk_(add|mul|fma|max|min)_|cvt_|max3_f32|min3_f32|maximum3_f32|med3_f32|ldexp_f32|perm_b32|dot2)")
#: Of bf16: unpacking by a shift or a mask, and rounding without an instruction.
UNPACK = re.compile(r"v_(lshlrev_b32|lshrrev_b32)\S* v\d+, 16, |v_and_b32\S* v\d+, 0xffff0000, ")
ROUND = re.compile(r"v_bfe_u32 v\d+, v\d+, 16, 1|v_add3_u32|v_cmp_[uo]_f32")
ADDRESS = re.compile(r"v_(mad_u64_u32|mad_i64_i32|lshl_add_u64|mul_(lo|hi)_[ui]32|m(ul|ad)_[iu](32_[iu])?24|add_co|addc_co|ashrrev_i(32|64)|lshlrev_b64)")
#: Bytes that a lane accesses, below which a kernel is small.
NARROW = 48
REASONS = ("definition", "bf16 without instructions", "few bytes a thread", "addresses", "around")
#: What a kernel is counted with, by the first word of its name that is one of these.
KINDS = [("quantisation to mx formats", "quantize_mx"), ("RoPE", "rope"), ("cosines and sines of its own", "sin"),
         ("quantisation with a given scale", "quantize_static"), ("quantisation with scales of rows and groups", "quantize"),
         ("combination of slices", "attention_combine|sum_slices"), ("dequantisation", "dequantize"),
         ("activations", "activation|silu|gelu|sigmoid|tanh|exp"), ("norms", "norm"), ("softmax", "softmax"),
         ("gathers, copies, transposes", "gather|copy|transpose|concat|write|pad|cast")]


def clocks(instruction):
    """Issue clocks of a vector instruction, and what part of REASONS they belong to as a share."""
    name, text = instruction.name, f"{instruction.name} {instruction.operands}"
    if TRANSCENDENTAL.match(name):
        return 16, "definition", 1
    if WHOLE.match(name):
        return 4, "definition", 1
    if HALF.match(name):
        return 4, "definition", 0.5
    if UNPACK.match(text) or ROUND.match(text):
        return 4, "bf16 without instructions", 1
    return 4, "addresses" if ADDRESS.match(name) else "around", 1


def parts_of(kernel):
    """Of the vector clocks of a kernel up to its end the part of each reason, and the bytes that a lane accesses."""
    parts, total, accessed = dict.fromkeys(REASONS, 0), 0, 0
    for instruction in kernel.code:
        if instruction.name == "s_endpgm":
            break
        if instruction.name.startswith("v_"):
            own, reason, part = clocks(instruction)
            total += own
            parts[reason] += own * part
            parts["around"] += own * (1 - part)
        if width := access_bytes(instruction.name):
            accessed += width
    return {reason: part / total if total else 0 for reason, part in parts.items()}, accessed


def reason_of(share, parts, accessed):
    sofar = 0
    for reason in REASONS:
        if reason == "few bytes a thread" and accessed < NARROW:
            return reason
        sofar += parts[reason] * share
        if sofar > LIMIT:
            return reason
    return REASONS[-1]


def kind_of(line):
    return next((kind for kind, words in KINDS if re.search(words, line["kernel"])), "others")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    parser.add_argument("--each", action="store_true", help="print the reason of each kernel, too")
    options = parser.parse_args()
    lines = [json.loads(text) for text in options.counts.read_text().splitlines()]
    parts, missing = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for module, chip in sorted({(r["module"], r["chip"]) for r in lines}):
            library = next((p for name in (f"{module}.{chip}.so", f"{module}.mlir.{chip}.so")
                            if (p := options.libraries / name).exists()), None)
            for symbol, kernel in (kernels_of_library(library, folder) if library else {}).items():
                parts[chip, symbol] = parts_of(kernel)
    table = {}
    for r in lines:
        if r["class"] != "main" or r["share"] <= LIMIT:
            continue
        found = parts.get((r["chip"], r["symbol"]))
        missing += found is None
        if found:
            part = found[0]["definition"]
            table.setdefault(kind_of(r), []).append((r["share"], part * r["share"], reason_of(r["share"], *found)))
            if options.each:
                print(f"{r['module']} {r['function']} {r['kernel']}: {r['share']:.2f}, {table[kind_of(r)][-1][2]}")
    print("| kind | above 85 % | median share | median floor | " + " | ".join(REASONS) + " |\n|---|---|---|---|" + "---|" * len(REASONS))
    every = sorted(table.items(), key=lambda p: -len(p[1])) + [("all", [v for t in table.values() for v in t])]
    for kind, found in every:
        shares, floors = (sorted(v)[len(found) // 2] for v in ([s for s, _, _ in found], [f for _, f, _ in found]))
        print(f"| {kind} | {len(found)} | {shares:.2f} | {floors:.2f} | " +
              " | ".join(str(sum(why == reason for _, _, why in found)) for reason in REASONS) + " |")
    if missing:
        print(f"\n{missing} kernels above 85 % are in no library of the folder.")


if __name__ == "__main__":
    main()
