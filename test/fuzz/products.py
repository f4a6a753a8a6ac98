# ===- products.py - Matrix products, compiled, run and compared -----------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every orientation, element type, scale and epilogue of a matrix product, on sizes
# that are no multiple of a tile, against the reference interpreter's bounds. All
# products are functions of one module. --rows sets the dynamic number of rows, --k the
# length of most sums, --slices cuts k wherever possible.
import argparse
import re
import sys
import tempfile

import runs


def function(name, args, results, body):
    """args: types; body uses %a0... and defines %r0..."""
    list_of_args = ", ".join(f"%a{i}: {t}" for i, t in enumerate(args))
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    body = re.sub(r"\$(\d)", lambda m: args[int(m[1])], body)
    body = re.sub(r"!(\d)", lambda m: results[int(m[1])], body)
    return (f"func.func @{name}({list_of_args}) -> ({', '.join(results)}) {{\n{body}\n"
            f"return {names} : {', '.join(results)}\n}}\n")


def tensor(*parts):
    return "tensor<" + "x".join(str(p) for p in parts) + ">"


def products(own_fp8, k):
    n = 200
    for element, out in (("bf16", "bf16"), ("f32", "f32"), ("f16", "f32"), (own_fp8, "bf16"), ("i8", "i32"), ("i8", "f32")):
        for ta, tb in ((0, 1), (0, 0), (1, 0), (1, 1)):
            words = " ".join(["transpose_a"] * ta + ["transpose_b"] * tb)
            yield ([tensor(k, "?", element) if ta else tensor("?", k, element),
                    tensor(n, k, element) if tb else tensor(k, n, element)], [tensor("?", n, out)],
                   f"%r0 = hk.matmul %a0, %a1 {words} : $0, $1 -> !0")
    # Odd rows: nothing is aligned.
    yield ([tensor("?", 13, "bf16"), tensor(37, 13, "bf16")], [tensor("?", 37, "bf16")],
           "%r0 = hk.matmul %a0, %a1 transpose_b : $0, $1 -> !0")
    # Batches, and a right operand that they share.
    yield ([tensor(2, 3, "?", 72, "bf16"), tensor(2, 3, 40, 72, "bf16")], [tensor(2, 3, "?", 40, "bf16")],
           "%r0 = hk.matmul %a0, %a1 transpose_b : $0, $1 -> !0")
    yield ([tensor("?", 1, 72, "bf16"), tensor(72, 40, "bf16")], [tensor("?", 1, 40, "bf16")],
           "%r0 = hk.matmul %a0, %a1 : $0, $1 -> !0")
    # Epilogues: broadcasts and two results, a gate, quantisation in groups.
    wide = tensor("?", n, "bf16")
    yield ([tensor("?", k, "bf16"), tensor(n, k, "bf16"), tensor(n, "bf16"), tensor("?", 1, "bf16"), wide],
           [wide, tensor("?", n, "f32")],
           f"""%0 = hk.matmul %a0, %a1 transpose_b : $0, $1 -> {wide}
%1 = hk.add %0, %a2 : {wide}, $2
%2 = hk.gelu %1 : {wide}
%3 = hk.mul %2, %a3 : {wide}, $3
%r0 = hk.add %3, %a4 : {wide}, $4 -> !0
%r1 = hk.cast %2 : {wide} -> !1""")
    pair, half = tensor("?", 512, "bf16"), tensor("?", 256, "bf16")
    gate = f"""%0 = hk.matmul %a0, %a1 transpose_b : $0, $1 -> {pair}
%1 = hk.gated_activation gelu_tanh %0 : {pair} -> {half}
"""
    operands = [tensor("?", k, "bf16"), tensor(512, k, "bf16")]
    yield operands, [half], gate + f"%r0 = hk.relu %1 : {half} -> !0"
    yield (operands, [tensor("?", 256, "i8"), tensor("?", 2, "f32")],
           gate + f"%r0, %r1 = hk.quantize per_group %1 group 128 : {half} -> !0, !1")
    # Scales of either operand: of one element, per row, per 128 of k.
    for element in (own_fp8, "i8"):
        for lhs in (tensor(1, "f32"), tensor("?", 1, "f32"), tensor("?", 3, "f32")):
            for rhs in (tensor(1, "f32"), tensor(n, 1, "f32"), tensor(2, 3, "f32")):
                yield ([tensor("?", 300, element), tensor(n, 300, element), lhs, rhs], [tensor("?", n, "f32")],
                       "%r0 = hk.matmul %a0, %a1 scales (%a2, %a3) transpose_b : $0, $1 scales ($2, $3) -> !0")
    # Integer weights with zero points, k no multiple of a group.
    groups = -(-k // 48)
    for code, scale, zero in (("ui4", "f16", "i8"), ("i4", "f32", "f32"), ("i8", "bf16", "i8")):
        wide = tensor(n, k, "bf16")
        yield ([tensor("?", k, "bf16"), tensor(n, k, code), tensor(n, groups, scale), tensor(n, groups, zero)],
               [tensor("?", n, "f32")],
               f"%w = hk.dequantize %a1, %a2, %a3 group 48 : $1, $2, $3 -> {wide}\n"
               f"%r0 = hk.matmul %a0, %w transpose_b : $0, {wide} -> !0")


def call(name, args, rows):
    """The options of a call: its rows, and all numbers of 8 bits (of 4: their low halves)."""
    words = [f"--function={name}"]
    for i, kind in enumerate(args):
        sizes = kind[len("tensor<"):-1].split("x")
        words += [f"--dim=a{i}.{dim}={rows}" for dim, size in enumerate(sizes) if size == "?"]
        words += [f"--range=a{i}=-128:127"] * (sizes[-1] in ("i8", "i4", "ui4"))
    return " ".join(words)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--k", type=int, default=136)
    parser.add_argument("--slices", type=int, default=0)
    parser.add_argument("--target", default="host")
    parser.add_argument("--device", default="hip:0")
    parser.add_argument("--fp8", default="f8E4M3FN")
    options = parser.parse_args()
    made = list(products(options.fp8, options.k))
    text = "".join(function(f"f{i}", *product) for i, product in enumerate(made))
    calls = [call(f"f{i}", args, options.rows) for i, (args, _, _) in enumerate(made)]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, why in runs.problems(folder, text, calls, options.target, options.device,
                                       f"--split-k={options.slices}"):
            failures += 1
            print(f"{made[int(name[1:])] if name else ''} {why}")
    print(f"{len(made)} products, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
