#!/usr/bin/env python3
"""Asks AMD's matrix instruction calculator where every element of every MFMA and SMFMAC lies, and the emulator whether so.

usage: layouts.py LIBHK_EMU CALCULATOR [--chip=gfx942|gfx950] [--match=REGEX]

CALCULATOR is a checkout of github.com/ROCm/amd_matrix_instruction_calculator (its table is that of CDNA3; the chip
gfx950 has the same instructions but xf32). Matrices of random small integers, and for sparse instructions random
positions, are put into the registers, lanes and bits that the calculator names, with every CBSZ, ABID and BLGP it
allows; the result in the places it names for D must be the product, exactly. Shapes that only gfx950 has follow
composable_kernel's parameters (include/ck_tile/core/arch/mma): A is one run of K a lane, B of a sparse instruction
comes in two halves of K. An order of K that A and B share cannot be seen by any program. Needs numpy and tabulate.
"""
import argparse
import contextlib
import io
import os
import re
import sys

import numpy as np

import peer
import peer_cases as pc
from peer_cases import BITS, encode

A, B, C, D = 0, 8, 16, 48  # first registers; the index of a sparse instruction stands where C does
# Shapes of gfx950 alone: M, K, elements of K in a run of A, of B, types, sparse.
ONLY_950 = [("v_mfma_f32_16x16x32_f16", 16, 32, 8, 8), ("v_mfma_f32_32x32x16_f16", 32, 16, 8, 8),
            ("v_mfma_f32_16x16x32_bf16", 16, 32, 8, 8), ("v_mfma_f32_32x32x16_bf16", 32, 16, 8, 8),
            ("v_mfma_i32_16x16x64_i8", 16, 64, 16, 16), ("v_mfma_i32_32x32x32_i8", 32, 32, 16, 16)]
ONLY_950 += [("v_smfmac_f32_16x16x64_" + t, 16, 64, 8, 8) for t in ("f16", "bf16")]
ONLY_950 += [("v_smfmac_f32_32x32x32_" + t, 32, 32, 8, 8) for t in ("f16", "bf16")]
ONLY_950 += [("v_smfmac_i32_16x16x128_i8", 16, 128, 16, 16), ("v_smfmac_i32_32x32x64_i8", 32, 64, 16, 16)]
ONLY_950 += [("v_smfmac_f32_%s_%s_%s" % (s, a, b), m, k, 16, 16) for s, m, k in (("16x16x128", 16, 128), ("32x32x64", 32, 64))
             for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


def decode(kind, bits):
    if kind == "f64":
        return np.uint64(bits).view(np.float64)
    if kind == "i32":
        return np.uint32(bits).view(np.int32)
    return np.uint32(bits).view(np.float32)


class Calculator:
    """The program's own command line, called in this process."""

    def __init__(self, checkout):
        if not os.path.exists(checkout + "/matrix_calculator.py"):
            sys.exit("layouts.py: %s is no checkout of amd_matrix_instruction_calculator" % checkout)
        sys.path.insert(0, checkout)
        import matrix_calculator
        self.main = matrix_calculator.parse_and_run
        self.info = matrix_calculator.dict_insts["cdna3"]

    def layout(self, name, matrix, modifiers=()):
        """{(block, row, column): (bit of the operand, lane)} where the CSV table names them."""
        sys.argv = ["matrix_calculator.py", "-a", "cdna3", "-i", name, "-R", "-c", matrix]
        sys.argv += [word for key, value in modifiers for word in ("--" + key, str(value))]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            self.main()
        places, blocks = {}, [0]
        for line in text.getvalue().split("\n"):
            if line.startswith("Block"):  # "Blocks 0, 1" where several read one place
                blocks = [int(b) for b in re.findall(r"\d+", line)]
            cells = line.split(",")
            if not cells[0].isdigit():
                continue
            for column, cell in enumerate(cells[1:]):
                at = re.match(r"v(?:(\d+)|\[\d+:(\d+)\])\{(\d+)\}(?:\.\[\d+:(\d+)\])?$", cell)
                for block in blocks:
                    places[block, int(cells[0]), column] = (32 * int(at.group(1) or at.group(2)) + int(at.group(4) or 0),
                                                            int(at.group(3)))
        return places


class Rule:
    """The layouts of a shape that the calculator does not know."""

    def __init__(self, shape):
        self.name, self.m, self.k, self.run_a, self.run_b = shape

    def layout(self, name, matrix, modifiers=()):
        sparse, groups, size = "smfmac" in name, 64 // self.m, BITS[name.split("_")[-1]]
        places = {}
        if matrix == "-D":
            for i in range(self.m):
                for j in range(self.m):
                    reg, group = (i % 4, i // 4) if self.m == 16 else (i // 8 * 4 + i % 4, i // 4 % 2)
                    places[0, i, j] = (32 * reg, group * self.m + j)
            return places
        for i in range(self.m):
            for k in range(self.k):
                c = k // 4 * 2 if sparse and matrix != "-B" else k
                run = self.run_b if matrix == "-B" else self.run_a
                element, lane = c // (run * groups) * run + c % run, c // run % groups * self.m + i
                bit = element * (2 if matrix == "-k" else size)
                if matrix == "-k":
                    bits = 2 * self.run_a
                    abid = dict(modifiers).get("abid", 0) if not dict(modifiers).get("cbsz") else 0
                    bit += abid * bits
                places[(0, k, i) if matrix == "-B" else (0, i, k)] = (bit, lane)
        return places


def put(state, first, place, bits, value):
    bit, lane = place
    for word in range(max(1, bits // 32)):
        shift = bit % 32
        mask = (0xffffffff if bits >= 32 else (1 << bits) - 1) << shift
        old = int(state[first + bit // 32 + word, lane])
        state[first + bit // 32 + word, lane] = old & ~mask & 0xffffffff | (value >> (32 * word) & 0xffffffff) << shift & mask


def get(state, first, place, bits):
    bit, lane = place
    return sum(int(state[first + bit // 32 + word, lane]) << (32 * word) for word in range(bits // 32))


def span(first, count):
    return "v%d" % first if count == 1 else "v[%d:%d]" % (first, first + count - 1)


def probe(ours, chip, source, name, modifiers, rng):
    """The number of wrong elements of D, and how many there are."""
    types, sparse = [p for p in name.split("_") if p in BITS], "smfmac" in name
    out, in_a, in_b = types[0], types[1], types[-1]
    heeded = {"-A": () if sparse else ("cbsz", "abid"), "-B": ("blgp",), "-k": ("cbsz", "abid"), "-D": ()}
    where = {m: source.layout(name, m, [item for item in modifiers if item[0] in heeded[m]])
             for m in ("-A", "-B", "-D", "-k")[:4 if sparse else 3]}
    state = rng.integers(0, 1 << 32, (80, 64), dtype=np.uint32) if sparse else np.zeros((80, 64), np.uint32)
    rows, depth = 1 + max(i for _, i, _ in where["-A"]), 1 + max(k for _, _, k in where["-A"])
    columns, blocks = 1 + max(j for _, _, j in where["-B"]), 1 + max(b for b, _, _ in where["-D"])
    a, b, c = (rng.integers(-4, 5, (blocks,) + s) for s in ((rows, depth), (depth, columns), (rows, columns)))
    if sparse:
        kept = np.zeros_like(a)
        for i in range(rows):
            for q in range(0, depth, 4):
                first, second = sorted(rng.choice(4, 2, replace=False))
                bit, lane = where["-A"][0, i, q]
                for e, position in enumerate((first, second)):
                    kept[0, i, q + position] = a[0, i, q + position]
                    put(state, A, (bit + e * BITS[in_a], lane), BITS[in_a], encode(in_a, chip, a[0, i, q + position]))
                put(state, C, where["-k"][0, i, q], 4, int(first) | int(second) << 2)
        a = kept
    else:
        held = {}  # with CBSZ several blocks read one place
        for key, place in where["-A"].items():
            held.setdefault(place, a[key])
            a[key] = held[place]
            put(state, A, place, BITS[in_a], encode(in_a, chip, a[key]))
    held = {}
    for key, place in where["-B"].items():
        held.setdefault(place, b[key])
        b[key] = held[place]
        put(state, B, place, BITS[in_b], encode(in_b, chip, b[key]))
    for key, place in where["-D"].items():
        put(state, D if sparse else C, place, BITS[out], encode(out, chip, c[key]))
    count = lambda m, bits: (max(bit for bit, _ in where[m].values()) + (2 if sparse and m == "-A" else 1) * bits + 31) // 32
    regs = count("-A", BITS[in_a]), count("-B", BITS[in_b]), count("-D", BITS[out])
    text = "%s %s, %s, %s, %s" % (name, span(D, regs[2]), span(A, regs[0]), span(B, regs[1]), "v%d" % C if sparse else span(C, regs[2]))
    text += "".join(" %s:%d" % item for item in modifiers if item[1])
    case = pc.Case(b"", text, "matrix", "")
    if ours.load([case]):
        return None, 0
    scalars = np.full((1, len(pc.SCALARS)), 0xffffffff, np.uint32)
    after = ours.run(case, state[None], scalars, np.zeros((1, pc.MEM_WORDS), np.uint32))[0][0]
    want = np.einsum("bik,bkj->bij", a, b) + c
    wrong = sum(decode(out, get(after, D, place, BITS[out])) != want[key] for key, place in where["-D"].items())
    return int(wrong), want.size


def settings(name, info):
    """Modifiers to try: all index sets of a sparse instruction, all broadcasts of a dense one."""
    if "smfmac" in name:
        sets = 32 // (info["k"] * info["m"] // 64)
        return [()] + [(("abid", k),) for k in range(1, sets)] + [(("cbsz", 1), ("abid", 1))]
    result = [()]
    if info.get("cbsz_abid") and info["blocks"] > 1:
        for cbsz in range(1, int(np.log2(info["blocks"])) + 1):
            result += [(("cbsz", cbsz), ("abid", abid)) for abid in range(1 << cbsz)]
    if info.get("blgp") and "f64" not in name:  # where these bits negate
        result += [(("blgp", k),) for k in range(1, 8)]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("calculator")
    parser.add_argument("--chip", default="gfx942", choices=("gfx942", "gfx950"))
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    calculator = Calculator(os.path.abspath(options.calculator))
    ours = peer.Ours(os.path.abspath(options.library), options.chip)
    rng = np.random.default_rng(1)
    shapes = [(name, info, calculator) for name, info in calculator.info.items()
              if not (options.chip == "gfx950" and "xf32" in name)]
    if options.chip == "gfx950":
        shapes += [(s[0], {"m": s[1], "k": s[2], "blocks": 1}, Rule(s)) for s in ONLY_950]
    failed = False
    for name, info, source in shapes:
        if not re.search(options.match, name):
            continue
        good, notes, elements = 0, [], 0
        for modifiers in settings(name, info):
            label = " ".join("%s:%d" % item for item in modifiers)
            try:
                wrong, size = probe(ours, options.chip, source, name, modifiers, rng)
            except (RuntimeError, AttributeError, SystemExit) as error:
                notes.append("%s: %s" % (label or "plain", error or type(error).__name__))
                continue
            if wrong is None:
                notes.append(label + ": refused")
            elif wrong:
                notes.append("%s: %d of %d WRONG" % (label or "plain", wrong, size))
                failed = True
            else:
                good += 1
                elements += size
        print("%s %s: %d settings agree (%d elements)%s%s" % (options.chip, name, good, elements, " by composable_kernel"
              if isinstance(source, Rule) else "", "; " + "; ".join(notes) if notes else ""), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
