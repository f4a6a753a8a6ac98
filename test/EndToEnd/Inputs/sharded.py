"""Models that hk-shard cuts, under mpirun: what the ranks compute is what the cut module means, and that is
what one rank computes, each within its bound.

usage: sharded.py FOLDER EXAMPLES [CASE...]; compiled modules and arrays go to FOLDER."""

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from verdict import fail, finish

folder, examples = Path(sys.argv[1]), Path(sys.argv[2])
os.chdir(folder)
rng = np.random.default_rng(5)


def to_bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_weights(path, tensors):
    """safetensors; {name: (array, "BF16" or "F32")}."""
    header, data = {}, b""
    for name, (array, dtype) in tensors.items():
        raw = (to_bf16(array) if dtype == "BF16" else np.asarray(array, np.float32)).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    array = np.load(path)
    return (array.astype(np.uint32) << 16).view(np.float32) if array.dtype == np.uint16 else array.astype(np.float64)


def mpirun(ranks, command):
    return subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
                           *map(str, command)], capture_output=True, text=True, timeout=500)


def check(name, source, weights, function, mesh, inputs, cut=None, fold=False, whole=None, explained=""):
    """`inputs` are arrays by name; `cut` says along which dim and axis arguments and results are cut, and in segments of
    which sizes, each by itself, where it is not as a whole; `fold` lets
    products be merged and weights be computed, whose parts are then read from the module's own file; `whole` is the
    source of one rank, where it is another one; `explained` is something that --explain says of the cut module."""
    cut, one = cut or {}, whole or source
    folding = [] if fold else ["--no-fold-weights"]
    sizes = dict((a, int(n)) for a, n in (part.split("=") for part in mesh.split(",")))
    ranks = int(np.prod(list(sizes.values())))
    module = re.sub("[ =]", "_", name)
    for text, flags, output in [(one, [], "whole"), (source, [f"--mesh={mesh}"], "cut")]:
        made = subprocess.run(["hk-compile", text, "--target=host", *folding, f"--weights={weights}", *flags,
                               "--explain", "-o", f"{module}.{output}.so"], capture_output=True, text=True)
        if made.returncode:
            return fail(f"{name}: {made.stderr}")
    if explained not in made.stdout + made.stderr:
        return fail(f"{name}: --explain does not say '{explained}'")
    places = [dict(zip(sizes, np.unravel_index(r, list(sizes.values())))) for r in range(ranks)]

    def part(array, key, r):
        if key not in cut:
            return array
        dim, axis, *segments = cut[key]
        pieces = np.split(array, np.cumsum(segments)[:-1], dim) if segments else [array]
        return np.concatenate([np.split(piece, sizes[axis], dim)[places[r][axis]] for piece in pieces], dim)

    common = [f"--function={function}", "--threads=1", f"--check-weights={weights}"]
    whole, parts = list(common), list(common)
    for key, array in inputs.items():
        np.save(f"{module}.{key}.npy", np.ascontiguousarray(array))
        whole.append(f"--input={key}={module}.{key}.npy")
        for r in range(ranks):
            np.save(f"{module}.{key}.{r}.npy", np.ascontiguousarray(part(array, key, r)))
        parts.append(f"--input={key}={module}.{key}.{{rank}}.npy")
    subprocess.run(["hk-run", f"{module}.whole.so", f"--check={one}", f"--write-expected={module}.whole", *whole], check=True)
    for r in range(ranks):
        subprocess.run(["hk-run", f"{module}.cut.so", f"--check={source}", f"--rank={r}",
                        f"--write-expected={module}.cut.{r}", *parts], check=True)
    ran = mpirun(ranks, ["hk-run", f"{module}.cut.so", f"--check={source}", "--timeout=120000", "--poison",
                         f"--output={module}.out.{{rank}}", *parts])
    if ran.returncode or len(re.findall("all within their bounds", ran.stdout)) != ranks:
        return fail(f"{name}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    worst = 0.0
    for path in sorted(Path(f"{module}.whole/values").glob("*.npy")):
        want, bound = read(path), read(f"{module}.whole/bounds/{path.name}")
        for r in range(ranks):
            result = read(f"{module}.out.{r}/{path.name}")
            key = path.stem
            allowed = part(bound, key, r) + read(f"{module}.cut.{r}/bounds/{path.name}")
            expected = part(want, key, r)
            if result.shape != expected.shape:
                return fail(f"{name}: {key} of rank {r} is {result.shape}, not {expected.shape}")
            off = np.abs(result.astype(np.float64) - expected)
            if np.any(off > allowed):
                return fail(f"{name}: {key} of rank {r} is {np.max(off - allowed)} outside of both bounds")
            known = np.isfinite(allowed) & (allowed > 0)
            if known.any():
                worst = max(worst, float(np.max(off[known] / allowed[known])))
            # Another part would be noticed.
            if key in cut and places[r][cut[key][1]] and want.size and not np.any(np.abs(part(want, key, 0) - expected) > 4 * allowed):
                fail(f"{name}: {key} says nothing about which part a rank has")
    print(f"{name}: as one rank, {worst:.2f} of the bounds at most")


def mlp():
    text = """
hk.weight @norm "norm" : tensor<64xbf16>
hk.weight @gate_up "gate_up" : tensor<96x64xbf16>
hk.weight @down "down" : tensor<64x48xbf16>
func.func @mlp(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16> {hk.name = "y"}) {
  %n = hk.weight_ref @norm : tensor<64xbf16>
  %w = hk.weight_ref @gate_up : tensor<96x64xbf16>
  %v = hk.weight_ref @down : tensor<64x48xbf16>
  %0 = hk.rms_norm %x, %n epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %1 = hk.matmul %0, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %2 = hk.gated_activation silu %1 : tensor<?x96xbf16> -> tensor<?x48xbf16>
  %3 = hk.matmul %2, %v transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %4 = hk.add %x, %3 : tensor<?x64xbf16>
  return %4 : tensor<?x64xbf16>
}
"""
    Path("mlp.mlir").write_text(text)
    # So many rows that each rank computes the residual for its own only.
    Path("rows.mlir").write_text(text.replace("?", "2048"))
    write_weights("mlp.safetensors", {"norm": (rng.normal(size=64), "BF16"), "gate_up": (rng.normal(size=(96, 64)) / 8, "BF16"),
                                      "down": (rng.normal(size=(64, 48)) / 8, "BF16")})
    for rows in [5, 1, 0]:
        check(f"mlp of {rows} rows", "mlp.mlir", "mlp.safetensors", "mlp", "tp=2",
              {"x": rng.normal(size=(rows, 64)).astype(np.float32)})
    check("mlp by rows", "rows.mlir", "mlp.safetensors", "mlp", "tp=2", {"x": rng.normal(size=(2048, 64)).astype(np.float32)},
          explained="by parts of its rows, ")


def tinylm():
    inputs = {"ids": np.array([84, 104, 101, 32, 99], np.int32), "positions": np.arange(5, dtype=np.int32),
              "kv_len": np.array([5], np.int32)}
    for kind in ["keys", "values"]:
        for layer in range(6):
            inputs[f"{kind}{layer}"] = rng.normal(size=(1, 512, 2, 64)).astype(np.float32)
    check("tinylm", examples / "tinylm/tinylm.mlir", examples / "tinylm/model.safetensors", "prefill", "tp=2", inputs,
          {key: (2, "tp") for key in inputs if key[-1].isdigit()})


MOE = """
hk.weight @w1 "w1" : tensor<4x64x24xf32>
hk.weight @w2 "w2" : tensor<4x24x32xf32>
func.func @bounds(%x: tensor<?x24xf32> {hk.dims = ["T", "_"]}, %logits: tensor<?x4xf32> {hk.dims = ["T", "_"]}) -> (tensor<?x24xf32> {hk.name = "y"}) {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %v, %ids = hk.topk %logits : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights = hk.softmax %v : tensor<?x2xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<4xi32>
  %order, %place = hk.sort_by_key %keys bins 4 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %hist : tensor<4xi32> -> tensor<5xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x24xf32>
  %places = tensor.expand_shape %place [[0, 1]] output_shape [%t, 2] : tensor<?xi32> into tensor<?x2xi32>
  %p0 = tensor.extract_slice %places[0, 0] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %s0 = tensor.extract_slice %weights[0, 0] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %y0 = hk.gather_rows %y, %p0 : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  %m0 = hk.mul %y0, %s0 : tensor<?x24xf32>, tensor<?x1xf32>
  %p1 = tensor.extract_slice %places[0, 1] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %s1 = tensor.extract_slice %weights[0, 1] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %y1 = hk.gather_rows %y, %p1 : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  %m1 = hk.mul %y1, %s1 : tensor<?x24xf32>, tensor<?x1xf32>
  %a1 = hk.add %m0, %m1 : tensor<?x24xf32>
  %u = hk.add %a1, %x : tensor<?x24xf32>
  return %u : tensor<?x24xf32>
}
func.func @blocks(%x: tensor<?x24xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> (tensor<?x24xf32> {hk.name = "y"}) {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %h = hk.grouped_matmul %x, %w1 blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 blocks %experts order %sorted transpose_b block 16 : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
"""


def with_slices(text):
    """Gates as imported models have them: halves of the columns, whose rows are counted from those of the tokens."""
    gate = "  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>\n"
    half = "[%rows, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>"
    return text.replace(gate, f"""  %first = arith.constant 0 : index
  %tokens = tensor.dim %x, %first : tensor<?x24xf32>
  %top = arith.constant 2 : index
  %rows = arith.muli %top, %tokens : index
  %gate = tensor.extract_slice %h[0, 0] {half}
  %up = tensor.extract_slice %h[0, 32] {half}
  %silu = hk.silu %gate : tensor<?x32xf32>
  %g = hk.mul %silu, %up : tensor<?x32xf32>
""", 1)


def moe():
    Path("moe.mlir").write_text(MOE)
    write_weights("moe.safetensors", {"w1": (rng.normal(size=(4, 64, 24)) / 5, "F32"), "w2": (rng.normal(size=(4, 24, 32)) / 5, "F32")})
    # On four ranks two have the same experts, and parts of each of them.
    Path("slices.mlir").write_text(with_slices(MOE))
    for mesh in ["ep=2", "ep=2,tp=2"]:
        check(f"experts with slices {mesh}", "slices.mlir", "moe.safetensors", "bounds", mesh,
              {"x": rng.normal(size=(7, 24)).astype(np.float32), "logits": rng.normal(size=(7, 4)).astype(np.float32)})
    for mesh, counts in [("ep=2", [7, 1, 0]), ("tp=2", [7, 1, 0]), ("ep=2,tp=2", [7])]:
        for rows in counts:
            x = rng.normal(size=(rows, 24)).astype(np.float32)
            check(f"experts by bounds {mesh} {rows}", "moe.mlir", "moe.safetensors", "bounds", mesh,
                  {"x": x, "logits": rng.normal(size=(rows, 4)).astype(np.float32)})
        order = np.full(64, 14, np.int32)  # 7 tokens with 2 experts each, in blocks of 16
        places = rng.permutation(14)
        for block in range(4):
            mine = places[block::4]
            order[16 * block:16 * block + len(mine)] = mine
        check(f"experts by blocks {mesh}", "moe.mlir", "moe.safetensors", "blocks", mesh,
              {"x": rng.normal(size=(7, 24)).astype(np.float32), "sorted": order, "experts": np.array([2, 0, 3, 1], np.int32)})


def dispatch():
    """Ranks with tokens of their own, whose rows go to the ranks that have their experts and come back."""
    one = MOE[:MOE.index("func.func @blocks")]
    biased = one
    for number, columns, end in [(1, 64, "transpose_b top_k"), (2, 24, "transpose_b :")]:
        line = next(l for l in one.splitlines() if "grouped_matmul" in l and end in l)
        new = line.replace(" transpose_b", f" bias %b{number} transpose_b").replace(" ->", f" bias tensor<4x{columns}xf32> ->")
        biased = (f'hk.weight @b{number} "b{number}" : tensor<4x{columns}xf32>\n' +
                  biased.replace(line, f"  %b{number} = hk.weight_ref @b{number} : tensor<4x{columns}xf32>\n{new}"))
    weights = {"w1": (rng.normal(size=(4, 64, 24)) / 5, "F32"), "w2": (rng.normal(size=(4, 24, 32)) / 5, "F32")}
    biases = {"b1": (rng.normal(size=(4, 64)), "F32"), "b2": (rng.normal(size=(4, 24)), "F32")}
    for text, more, mesh, shape, counts in [(one, {}, "ep=2", "2", [8, 2, 0]), (one, {}, "ep=2,tp=2", "2x2", [6]),
                                            (with_slices(one), {}, "ep=2", "2", [8]),
                                            (biased, biases, "ep=2", "2", [8, 2])]:
        Path("moe.mlir").write_text(text)
        write_weights("moe.safetensors", weights | more)
        text = text.replace("hk.grouped_matmul %x,", "hk.grouped_matmul %mine,").replace(
            "  %w1 = ", "  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding\n"
            "  %mine = shard.shard %x to %s : tensor<?x24xf32>\n  %w1 = ")
        Path("tokens.mlir").write_text(f"shard.grid @mesh(shape = {shape})\n" + text)
        for rows in counts:
            logits = rng.normal(size=(rows, 4)).astype(np.float32)
            logits[:rows // 4, :2] += 9  # these tokens need experts of one rank only
            form = ", with biases," * bool(more) + ", with slices," * ("%gate" in text)
            check(f"experts of own tokens{form} {mesh} {rows}", "tokens.mlir", "moe.safetensors", "bounds", mesh,
                  {"x": rng.normal(size=(rows, 24)).astype(np.float32), "logits": logits},
                  {"x": (0, "ep"), "logits": (0, "ep"), "y": (0, "ep")}, whole="moe.mlir")


def smollm2():
    """One layer and the head of SmolLM2-135M: 9 heads over 3 key heads on 3 ranks."""
    hidden, heads, keys, size, inner, vocabulary = 576, 9, 3, 64, 1536, 4096
    text = Path("smollm2.mlir")
    q, kv = heads * size, keys * size
    text.write_text(f"""
hk.weight @norm1 "norm1" : tensor<{hidden}xbf16>
hk.weight @norm2 "norm2" : tensor<{hidden}xbf16>
hk.weight @wq "wq" : tensor<{q}x{hidden}xbf16>
hk.weight @wk "wk" : tensor<{kv}x{hidden}xbf16>
hk.weight @wv "wv" : tensor<{kv}x{hidden}xbf16>
hk.weight @wo "wo" : tensor<{hidden}x{q}xbf16>
hk.weight @gate "gate" : tensor<{inner}x{hidden}xbf16>
hk.weight @up "up" : tensor<{inner}x{hidden}xbf16>
hk.weight @down "down" : tensor<{hidden}x{inner}xbf16>
hk.weight @head "head" : tensor<{vocabulary}x{hidden}xbf16>
hk.weight @cos "cos" : tensor<32x{size // 2}xf32>
hk.weight @sin "sin" : tensor<32x{size // 2}xf32>
func.func @layer(%x: tensor<?x{hidden}xbf16> {{hk.dims = ["T", "_"]}}, %slots: tensor<?xi32> {{hk.dims = ["T"]}}, %len: tensor<1xi32>,
    %kc: tensor<1x32x{keys}x{size}xbf16> {{hk.state, hk.name = "kc"}}, %vc: tensor<1x32x{keys}x{size}xbf16> {{hk.state, hk.name = "vc"}})
    -> (tensor<?x{vocabulary}xf32> {{hk.name = "logits"}}, tensor<1x32x{keys}x{size}xbf16>, tensor<1x32x{keys}x{size}xbf16>) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x{hidden}xbf16>
  %n1 = hk.weight_ref @norm1 : tensor<{hidden}xbf16>
  %n2 = hk.weight_ref @norm2 : tensor<{hidden}xbf16>
  %wq = hk.weight_ref @wq : tensor<{q}x{hidden}xbf16>
  %wk = hk.weight_ref @wk : tensor<{kv}x{hidden}xbf16>
  %wv = hk.weight_ref @wv : tensor<{kv}x{hidden}xbf16>
  %wo = hk.weight_ref @wo : tensor<{hidden}x{q}xbf16>
  %wg = hk.weight_ref @gate : tensor<{inner}x{hidden}xbf16>
  %wu = hk.weight_ref @up : tensor<{inner}x{hidden}xbf16>
  %wd = hk.weight_ref @down : tensor<{hidden}x{inner}xbf16>
  %wh = hk.weight_ref @head : tensor<{vocabulary}x{hidden}xbf16>
  %cos = hk.weight_ref @cos : tensor<32x{size // 2}xf32>
  %sin = hk.weight_ref @sin : tensor<32x{size // 2}xf32>
  %i = hk.rms_norm %x, %n1 epsilon 1.0e-05 : tensor<?x{hidden}xbf16>, tensor<{hidden}xbf16>
  %q2 = hk.matmul %i, %wq transpose_b : tensor<?x{hidden}xbf16>, tensor<{q}x{hidden}xbf16> -> tensor<?x{q}xbf16>
  %k2 = hk.matmul %i, %wk transpose_b : tensor<?x{hidden}xbf16>, tensor<{kv}x{hidden}xbf16> -> tensor<?x{kv}xbf16>
  %v2 = hk.matmul %i, %wv transpose_b : tensor<?x{hidden}xbf16>, tensor<{kv}x{hidden}xbf16> -> tensor<?x{kv}xbf16>
  %q = tensor.expand_shape %q2 [[0], [1, 2]] output_shape [%t, {heads}, {size}] : tensor<?x{q}xbf16> into tensor<?x{heads}x{size}xbf16>
  %k = tensor.expand_shape %k2 [[0], [1, 2]] output_shape [%t, {keys}, {size}] : tensor<?x{kv}xbf16> into tensor<?x{keys}x{size}xbf16>
  %v = tensor.expand_shape %v2 [[0], [1, 2]] output_shape [%t, {keys}, {size}] : tensor<?x{kv}xbf16> into tensor<?x{keys}x{size}xbf16>
  %qr = hk.rope neox %q, %cos, %sin positions %slots : tensor<?x{heads}x{size}xbf16>, tensor<32x{size // 2}xf32>, tensor<32x{size // 2}xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %slots : tensor<?x{keys}x{size}xbf16>, tensor<32x{size // 2}xf32>, tensor<32x{size // 2}xf32> positions tensor<?xi32>
  %kn = hk.kv_cache_write %kr, %slots into %kc : tensor<?x{keys}x{size}xbf16>, tensor<?xi32>, tensor<1x32x{keys}x{size}xbf16>
  %vn = hk.kv_cache_write %v, %slots into %vc : tensor<?x{keys}x{size}xbf16>, tensor<?xi32>, tensor<1x32x{keys}x{size}xbf16>
  %o = hk.attention %qr, %kn, %vn kv_lens %len scale 0.125 causal : tensor<?x{heads}x{size}xbf16>, tensor<1x32x{keys}x{size}xbf16>, tensor<1x32x{keys}x{size}xbf16> kv_lens tensor<1xi32> -> tensor<?x{heads}x{size}xbf16>
  %f = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x{heads}x{size}xbf16> into tensor<?x{q}xbf16>
  %p = hk.matmul %f, %wo transpose_b : tensor<?x{q}xbf16>, tensor<{hidden}x{q}xbf16> -> tensor<?x{hidden}xbf16>
  %m = hk.add %x, %p : tensor<?x{hidden}xbf16>
  %j = hk.rms_norm %m, %n2 epsilon 1.0e-05 : tensor<?x{hidden}xbf16>, tensor<{hidden}xbf16>
  %g = hk.matmul %j, %wg transpose_b : tensor<?x{hidden}xbf16>, tensor<{inner}x{hidden}xbf16> -> tensor<?x{inner}xbf16>
  %u = hk.matmul %j, %wu transpose_b : tensor<?x{hidden}xbf16>, tensor<{inner}x{hidden}xbf16> -> tensor<?x{inner}xbf16>
  %s = hk.silu %g : tensor<?x{inner}xbf16>
  %h = hk.mul %s, %u : tensor<?x{inner}xbf16>
  %d = hk.matmul %h, %wd transpose_b : tensor<?x{inner}xbf16>, tensor<{hidden}x{inner}xbf16> -> tensor<?x{hidden}xbf16>
  %e = hk.add %m, %d : tensor<?x{hidden}xbf16>
  %l = hk.matmul %e, %wh transpose_b : tensor<?x{hidden}xbf16>, tensor<{vocabulary}x{hidden}xbf16> -> tensor<?x{vocabulary}xf32>
  return %l, %kn, %vn : tensor<?x{vocabulary}xf32>, tensor<1x32x{keys}x{size}xbf16>, tensor<1x32x{keys}x{size}xbf16>
}}
""")
    angles = np.outer(np.arange(32), 10000.0 ** (-np.arange(size // 2) / (size // 2)))
    shapes = {"wq": (q, hidden), "wk": (kv, hidden), "wv": (kv, hidden), "wo": (hidden, q), "gate": (inner, hidden),
              "up": (inner, hidden), "down": (hidden, inner), "head": (vocabulary, hidden)}
    write_weights("smollm2.safetensors",
                  {**{n: (rng.normal(size=s) / np.sqrt(s[1]), "BF16") for n, s in shapes.items()},
                   "norm1": (1 + rng.normal(size=hidden) / 8, "BF16"), "norm2": (1 + rng.normal(size=hidden) / 8, "BF16"),
                   "cos": (np.cos(angles), "F32"), "sin": (np.sin(angles), "F32")})
    two = subprocess.run(["hk-compile", text, "--target=host", "--mesh=tp=2", "-o", "two.so"], capture_output=True, text=True)
    if "its 3 key heads, each with 3 of the queries', cannot be shared by 2 ranks of axis \"tp\"; 3 or 9 can" not in two.stderr:
        fail("nine heads on two ranks: " + two.stderr)
    cache = lambda: rng.normal(size=(1, 32, keys, size)).astype(np.float32)
    check("SmolLM2", text, "smollm2.safetensors", "layer", "tp=3",
          {"x": rng.normal(size=(3, hidden)).astype(np.float32), "slots": np.array([4, 5, 6], np.int32),
           "len": np.array([7], np.int32), "kc": cache(), "vc": cache()}, {"kc": (2, "tp"), "vc": (2, "tp")}, fold=True)


def recurrent():
    """A layer with a convolution and the gated delta rule, from states that it finds: three sequences, of which one has
    no line, and one no token."""
    weights = {"in": (320, 64), "gates": (8, 64), "conv": (192, 4), "out": (64, 128), "up": (128, 64)}
    write_weights("recurrent.safetensors",
                  {**{n: (rng.normal(size=s) / np.sqrt(s[1]), "BF16") for n, s in weights.items()},
                   "norm": (1 + rng.normal(size=32) / 8, "BF16"), "decay": (-np.exp(rng.normal(size=4) / 4), "F32")})
    for offsets, lines in [([0, 5, 5, 7], [2, 0, 3]), ([0, 1, 2], [1, 2])]:
        check(f"recurrent layer of {offsets[-1]} rows", Path(__file__).parents[2] / "Passes/Shard/recurrent.mlir",
              "recurrent.safetensors", "layer", "tp=2",
              {"x": rng.normal(size=(offsets[-1], 64)).astype(np.float32), "offsets": np.array(offsets, np.int32),
               "lines": np.array(lines, np.int32), "cs": rng.normal(size=(3, 3, 192)).astype(np.float32),
               "ss": rng.normal(size=(3, 4, 16, 32)).astype(np.float32)},
              {"cs": (2, "tp", 32, 32, 128), "ss": (1, "tp")})


def norms():
    """Queries and keys that are normalised over the heads of all ranks, in bf16; the keys' rows are so small that their
    norm is made by epsilon, too."""
    shapes = {"wq": (64, 64), "wk": (32, 64), "wv": (32, 64), "wo": (64, 64), "up": (96, 64), "down": (64, 96)}
    scales = {name: 1 / np.sqrt(shape[1]) for name, shape in shapes.items()} | {"wk": 1e-3}
    write_weights("norms.safetensors",
                  {**{n: (rng.normal(size=s) * scales[n], "BF16") for n, s in shapes.items()},
                   **{n: (1 + rng.normal(size=s) / 8, "BF16") for n, s in (("qn", 64), ("kn", 32), ("latent", 64))}})
    cache = lambda: rng.normal(size=(1, 32, 2, 16)).astype(np.float32)
    for rows in (1, 5):
        check(f"norms over heads of {rows} rows", Path(__file__).parents[2] / "Passes/Shard/norms.mlir", "norms.safetensors",
              "layer", "tp=2", {"x": rng.normal(size=(rows, 64)).astype(np.float32),
                                "slots": np.arange(4, 4 + rows, dtype=np.int32),
                                "len": np.array([4 + rows], np.int32), "kc": cache(), "vc": cache()},
              {"kc": (2, "tp"), "vc": (2, "tp")})


slow = ["smollm2"] if os.environ.get("HK_TEST_ALL") else []
for case in sys.argv[3:] or ["mlp", "moe", "dispatch", "recurrent", "norms", "tinylm", *slow]:
    globals()[case]()
finish()
