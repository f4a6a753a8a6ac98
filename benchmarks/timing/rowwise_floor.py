"""How much of a row-wise kernel's code computes elements: the column "arithmetic" of
benchmarks/results/amd-rowwise-valu.md.

    rowwise_floor.py --counts=FILE.json --libraries=FOLDER

FILE.json is what rowwise_valu.py --json wrote, FOLDER its --libraries. Of a kernel's vector instructions,
up to its end, behind which lies what only rare lanes take, those of AROUND are left out: addresses, moves,
integers, votes and comparisons of magnitudes with limits. A transcendental instruction counts as the four
that it takes. Code is taken for straight: what stands in a branch counts as if all lanes took it. So it
is no floor of the definition (rowwise_need.py has that) but what our way to compute would take with
nothing around it. Nothing here is a measurement.
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
TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
AROUND = re.compile(r"v_(mov_|lshl_add_|mul_u32_u24|mad_|min_u32|mul_lo|mul_hi|sub_u16|sub_u32|lshrrev|add_u32|add3_u32|add_co|"
                    r"addc|cmp_\w*_u(16|32)|cmp_u_f32|cmp_n?[gl]e_f32|mul_i32_i24|add_lshl|lshl_or|readfirst|mbcnt|ashrrev)")


def arithmetic_part(code):
    """The part of a kernel's lane instructions that computes elements."""
    total = elements = 0
    for instruction in code:
        if instruction.name == "s_endpgm":
            break
        if instruction.name.startswith("v_"):
            cost = 4 if TRANSCENDENTAL.match(instruction.name) else 1
            total += cost
            elements += 0 if AROUND.match(instruction.name) else cost
    return elements / total if total else 0


def arithmetic_of(lines, libraries):
    """By chip, module and symbol of the kernels in `lines`: their part."""
    parts = {}
    with tempfile.TemporaryDirectory() as folder:
        for module, chip in sorted({(r["module"], r["chip"]) for r in lines}):
            for symbol, kernel in kernels_of_library(libraries / f"{module}.{chip}.so", folder).items():
                parts[chip, module, symbol] = arithmetic_part(kernel.code)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    options = parser.parse_args()
    lines = [json.loads(text) for text in options.counts.read_text().splitlines()]
    lines = [r for r in lines if r["class"] in ("main", "narrow") and r["share"] > LIMIT]
    parts = arithmetic_of(lines, options.libraries)
    print("| chip | kernel | share | code / arithmetic, lane instructions a byte | share of it |\n|---|---|---|---|---|")
    for r in lines:
        part, code = parts[r["chip"], r["module"], r["symbol"]], r["lane_instructions_per_byte"]
        print(f"| {r['chip']} | {r['module']} {r['function']} | {r['share']:.2f} | {code:.1f} / {part * code:.1f} | {part * r['share']:.2f} |")


if __name__ == "__main__":
    main()
