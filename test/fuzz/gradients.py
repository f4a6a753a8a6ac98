# ===- gradients.py - Gradients of attention at awkward shapes ------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random forms of hk.attention_backward: dense or ragged, any head sizes and groups,
# masks, a sink, slopes, biases with their gradients, dropout, results that nobody wants; no
# normaliser, with a region for the slope; sizes around the edges of tiles. All are functions
# of one module, each called with its own sizes and checked against the reference
# interpreter's bounds.
import argparse
import random
import sys
import tempfile

import regions
import runs
from regions import tensor

SIZES = (0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 97, 128, 130)


def regions_of(rng, form, lead, heads):
    """Operands of regions, with their types, the regions' text, and the type of dbias."""
    reads, score, weight, dbias = [], [], [], None
    kind = rng.choice(("", "", "", "slopes", "bias", "mask"))
    if kind == "slopes":
        reads.append(("slopes", tensor(heads, "f32")))
        score = regions.slopes("slopes", reads[-1][1])
    elif kind == "bias":
        reads.append(("bias", tensor(heads, rng.choice((5, 40)), 64, "f32")))
        score = ["%x = hk.gather_elements %bias [%h, %i, %j] : " + reads[-1][1] +
                 " [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>", "%t = hk.add %s, %x : tensor<f32>"]
    elif kind == "mask":
        score = regions.MASK
    if score and form == "dense" and rng.random() < 0.7:
        dbias = tensor(rng.choice((1, lead[0])), heads, "?", "?", rng.choice(("f32", "bf16")))
    elif score and form != "dense" and rng.random() < 0.7:
        dbias = tensor(1, heads, rng.choice((1, 5, 40)), rng.choice((3, 64)), rng.choice(("f32", "bf16")))
    if rng.random() < 0.3:
        reads.append(("seed", "tensor<i64>"))
        weight = regions.dropout("seed", "mul")
    return reads, regions.text(reads, score, weight), dbias


def plain_regions(rng):
    """The same without a normaliser."""
    reads, weight, kind = [], [], rng.choice(("", "silu", "silu", "masked"))
    score, slope = (regions.SILU, regions.SILU_SLOPE) if kind else ([], [])
    if kind == "masked":
        score, slope = (regions.masked(lines, hidden) for lines, hidden in ((score, rng.choice(("0.0", "0xFF800000"))), (slope, "0.0")))
    if rng.random() < 0.3:
        reads.append(("seed", "tensor<i64>"))
        weight = regions.dropout("seed", "mul")
    return reads, regions.text(reads, score, weight, slope), None


def case(rng, name):
    """The text of a function and the options of a call."""
    element, out = rng.choice(("bf16", "f16", "f32")), rng.choice(("f32", None))
    out = out or element
    kv_heads, group = rng.choice((1, 2, 3)), rng.choice((1, 1, 2, 3, 5))
    size, value = rng.choice((8, 16, 33, 40, 64, 72, 96)), rng.choice((7, 16, 32, 48, 64))
    heads = kv_heads * group
    form = rng.choice(("dense", "ragged", "one"))
    lead = [rng.choice((1, 2)), "?"] if form == "dense" else ["?"]
    q, k = tensor(*lead, heads, size, element), tensor(*lead, kv_heads, size, element)
    v, do = tensor(*lead, kv_heads, value, element), tensor(*lead, heads, value, element)
    lse = tensor(*lead, heads, "f32")
    softmax = rng.random() < 0.75
    args = [("q", q), ("k", k), ("v", v), ("do", do)] + [("lse", lse), ("delta", lse)] * softmax
    words, types = "", ""
    if form == "ragged":
        offsets = tensor(rng.choice((1, 2, 4, 9)), "i32")
        args += [("a", offsets), ("b", offsets)]
        words, types = " q_offsets %a kv_offsets %b", f" q_offsets {offsets} kv_offsets {offsets}"
    results = [("dq", tensor(*lead, heads, size, out)), ("dk", tensor(*lead, kv_heads, size, out)),
               ("dv", tensor(*lead, kv_heads, value, out))]
    if softmax and rng.random() < 0.4:
        sink = tensor(heads, "f32")
        args.append(("sink", sink))
        words, types = f"{words} sink %sink", f"{types} sink {sink}"
        results.append(("dsink", sink))
    reads, region, dbias = regions_of(rng, form, lead, heads) if softmax else plain_regions(rng)
    args += reads
    if reads:
        words += f" reads ({', '.join('%' + n for n, _ in reads)})"
        types += f" reads ({', '.join(t for _, t in reads)})"
    made = ", ".join(t for _, t in results)
    if dbias:
        results.append(("dbias", dbias))
        made += f" dbias {dbias}"
    words += f" scale {size ** -0.5:.4f}"
    words += " causal" if rng.random() < 0.6 else ""
    for side in ("left", "right"):
        words += f" window_{side} {rng.choice((0, 1, 5, 40))}" if rng.random() < 0.25 else ""
    words += " softcap 2.5" if rng.random() < 0.25 else ""
    words += "" if softmax else " normalizer none"
    numbers = ", %lse, %delta" if softmax else ""
    wanted = rng.sample(results, rng.randint(1, len(results))) if rng.random() < 0.3 else results
    text = (f"func.func @{name}({', '.join(f'%{n}: {t}' for n, t in args)}) -> ({', '.join(t for _, t in wanted)}) {{\n"
            f"  {', '.join('%' + n for n, _ in results)} = hk.attention_backward %q, %k, %v, %do{numbers}{words} :"
            f" {q}, {k}, {v}, {do}{f', {lse}' if softmax else ''}{types} -> {made}{region}\n"
            f"  return {', '.join('%' + n for n, _ in wanted)} : {', '.join(t for _, t in wanted)}\n}}\n")
    dim = len(lead) - 1
    return text, [f"--function={name} --dim=q.{dim}={rng.choice(SIZES)} --dim=k.{dim}={rng.choice(SIZES)}"
                  f" --data={rng.choice(('normal', 'normal', 'equal', 'tiny'))}" for _ in range(2)]


parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, default=24)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--target", default="host")
parser.add_argument("--device", default="hip:0")
options = parser.parse_args()
texts, calls = [], []
for seed in range(options.first, options.first + options.seeds):
    text, listed = case(random.Random(seed), f"seed{seed}")
    texts.append(text)
    calls += listed
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for function, said in runs.problems(folder, "".join(texts), calls, options.target, options.device):
        failures += 1
        print(f"FAIL {function}:\n{said}\n{''.join(t for t in texts if f'@{function}(' in t)}")
print(f"{len(calls)} calls of {len(texts)} functions, {failures} wrong")
sys.exit(failures != 0)
