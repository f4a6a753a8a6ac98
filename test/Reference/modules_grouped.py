"""Whole graphs of products of groups and of mixtures of experts against NumPy formulas of
what the module is for: written from its description, not from its graph."""

import re

import numpy as np

from formulas import codes, compare, f32, finish, functions, gelu_tanh, normal, positive, rng, sigmoid, silu, swiglu_oai, to
import formulas

TOKENS = 5


def powers(*shape):
    """e8m0 scales around 1."""
    return 2.0 ** rng.integers(-3, 4, shape)


def arguments(module, function, sizes):
    """Shape and element type of every argument; `sizes` are those of dynamic first dims."""
    head = functions(module)[function].split(") ->")[0]
    found = {}
    for m in re.finditer(r"%(\w+): tensor<([\w?]+)>", head):
        *shape, dtype = m[2].split("x")
        rows = sizes.get(m[1], TOKENS)
        found[m[1]] = (tuple(rows if d == "?" else int(d) for d in shape), dtype)
    return found


def scaled(x, s, of_rows):
    """Elements times their scales: one, per row, per block of 128, or e8m0 per 32 of k."""
    if s is None:
        return x
    if s.size == 1:
        return x * s
    if s.shape[-1] == 1:
        return x * s
    block = 32 if s.shape[-1] == -(-x.shape[-1] // 32) and s.shape[-1] > -(-x.shape[-1] // 128) else 128
    if not of_rows and block == 128:
        s = np.repeat(s, 128, -2)[..., : x.shape[-2], :]
    return x * np.repeat(s, block, -1)[..., : x.shape[-1]]


def draw(shape, dtype):
    if dtype == "i8":
        return rng.integers(-127, 128, shape).astype(np.float64)
    if dtype == "f8E8M0FNU":
        return powers(*shape)
    return normal(dtype, *shape)


def placed(x, w, places, rows, results):
    """Row r of x with matrix g (rows along k) for each (result, r, g); zeros elsewhere."""
    y = np.zeros((results, w.shape[1]))
    real = np.zeros(results, bool)
    for result, row, group in places:
        if 0 <= row < rows and 0 <= group < len(w):
            y[result] = w[group] @ x[row]
            real[result] = True
    return y, real


def sorted_ids(tokens, top_k, experts, block):
    """Flat ids in blocks of one expert, empty places at the end of each, one block of an
    expert of another device; and (result, row, group)."""
    ids = rng.permutation(tokens * top_k)
    count = max(1, block // 2 + 1) if block > 1 else 1
    order, groups, places = [], [], []
    while len(ids):
        part, ids = ids[:count], ids[count:]
        group = int(rng.integers(-1, experts))
        groups.append(group)
        order += list(part) + [-1 if len(groups) % 2 else tokens * top_k] * (block - len(part))
        places += [(f, f // top_k, group) for f in part]
    return np.array(order, np.int32), np.array(groups, np.int32), places


def bounds_of(experts, places):
    return np.sort(np.append(rng.integers(0, places + 1, experts), 0)).astype(np.int32)


def attribute(module, function, name, default):
    m = re.search(rf"\b{name} (\d+)", functions(module)[function])
    return int(m[1]) if m else default


def experts(module, function, finishing):
    """A product by sorted ids: `finishing(y, weights)` is what follows."""
    top_k, block = attribute(module, function, "top_k", 1), attribute(module, function, "block", 1)
    shapes = arguments(module, function, {})
    w, dtype = shapes["w"]
    order, groups, places = sorted_ids(TOKENS, top_k, w[0], block)
    values, inputs = {}, []
    for name, (shape, dtype) in shapes.items():
        if name in ("sorted", "experts"):
            values[name] = order if name == "sorted" else groups
        elif name in ("xs", "ws", "a", "b") and dtype == "f32":
            values[name] = positive(*shape)
        elif name == "weights":
            values[name] = f32(rng.uniform(0.1, 1, shape))
        else:
            values[name] = draw(shape, dtype)
        inputs.append(values[name])
    by_k = w[1] == shapes["x"][0][1] and w[2] != w[1] and "transpose_b" not in functions(module)[function]
    b = values["w"].swapaxes(1, 2) if by_k else values["w"]
    ws = values.get("ws")
    if shapes["w"][1] == "i8":  # read as bf16, a scale per column or per group of k
        b = to("bf16", b * (ws if ws.shape[-1] == 1 else np.repeat(ws, b.shape[-1] // ws.shape[-1], -1)))
    elif ws is not None and ws.ndim > 1:
        b = scaled(b, ws, False)
    x = scaled(values["x"], values.get("xs"), True)
    y, real = placed(x, b, places, TOKENS, TOKENS * top_k)
    if ws is not None and ws.ndim == 1:
        y *= [[ws[dict((f, g) for f, _, g in places)[f]] if real[f] else 0] for f in range(len(y))]
    if "b" in values:
        y *= [[values["b"][dict((f, g) for f, _, g in places)[f]] if real[f] else 0] for f in range(len(y))]
    compare(module, function, inputs, finishing(y, values))


def finishing_of(module, function):
    dtype = arguments(module, function, {})["x"][1]
    result = {"f16": "f16", "f32": "f32"}.get(dtype, "bf16")

    def weighted(y, values):
        return y * values["weights"].reshape(-1, 1) if "weights" in values else y

    def finish_(y, values):
        if "a" in values:
            y = f32(y) * values["a"]
        if module == "moe_op_gelu" and "weights" not in values:
            y = gelu_tanh(f32(y))
        elif module in ("moe_op_silu_fused", "moe_op_mxfp4_silu_fused"):
            g, u = np.split(to(result, weighted(y, values)), 2, -1)
            return to(result, silu(g) * u)
        return to(result, weighted(y, values))
    return finish_


for module in ["moe_op", "moe_op_gelu", "moe_op_silu_fused", "moe_op_mxfp4", "moe_op_mxfp4_silu_fused"]:
    for function in functions(module):
        experts(module, function, finishing_of(module, function))


def grouped_rows(module, function):
    """Rows in the order of their experts, gathered or as they are."""
    top_k = attribute(module, function, "top_k", 1)
    count = TOKENS * top_k
    shapes = arguments(module, function, {"gather": count, "gammas": count, "rows": count})
    values, inputs = {}, []
    for name, (shape, dtype) in shapes.items():
        if name == "offsets":
            values[name] = bounds_of(shapes["w"][0][0], count)
        elif name == "gather":
            values[name] = rng.permutation(count).astype(np.int32)
        elif dtype == "f32" and name != "bias":
            values[name] = positive(*shape)
        else:
            values[name] = draw(shape, dtype)
        inputs.append(values[name])
    rows = values["gather"] // top_k if "gather" in values else np.arange(count)
    offsets = values["offsets"]
    places = [(j, rows[j], g) for g in range(len(offsets) - 1) for j in range(offsets[g], offsets[g + 1])]
    x = scaled(values.get("x", values.get("rows")), values.get("xs"), True)
    w = scaled(values["w"], values.get("ws"), False)
    y, real = placed(x, w, places, len(x), count)
    if "bias" in values:
        for j, _, g in places:
            y[j] += values["bias"][g]
    if "swiglu" in function or function == "static_quantised":
        y = swiglu_oai(f32(y)[:, 0::2], f32(y)[:, 1::2])
    elif "silu" in function:
        g, u = np.split(f32(y), 2, -1)
        y = silu(g) * u
    if "gammas" in values:
        y = f32(y) * values["gammas"]
    if "qs" in values:
        return compare(module, function, inputs, codes(f32(y), values["qs"], "f8E4M3FN"))
    compare(module, function, inputs, to("bf16", y))


for module in ["moe_op_gemm_a8w8", "moe_op_gemm_a8w8_blockscale", "moe_op_gemm_a8w4", "moe_op_gemm_a4w4"]:
    for function in functions(module):
        grouped_rows(module, function)

# Groups of rows, some empty, the last rows in none; and the gradient of the matrices.
ROWS = 11
for function in functions("gmm"):
    shapes = arguments("gmm", function, dict.fromkeys(["x", "dy", "ones", "order"], ROWS))
    values = {}
    for name, (shape, dtype) in shapes.items():
        if function == "any_sizes" and name in ("x", "w"):
            shape = (ROWS, 24) if name == "x" else (4, 40, 24)
        values[name] = (np.ones(shape) if name == "ones" else None if name in ("sizes", "offsets")
                        else rng.permutation(2 * ROWS)[:ROWS].astype(np.int32) if name == "order" else draw(shape, dtype))
    groups = shapes["sizes"][0][0] if "sizes" in shapes else shapes["offsets"][0][0] - 1
    offsets = np.sort(rng.integers(0, ROWS + 1, groups + 1)) if groups > 4 else np.array([0, 3, 3, 9, 10][: groups + 1])
    offsets[0] = 0
    values["sizes" if "sizes" in values else "offsets"] = (
        np.diff(offsets) if "sizes" in values else offsets).astype(np.int32)
    dtype = shapes["x" if "x" in shapes else "dy"][1]
    parts = list(zip(offsets[:-1], offsets[1:]))
    if function.startswith("gradient"):
        a = values["x"] if "x" in values else values["dy"]
        b = values["ones"] if "ones" in values else values["dy"]
        a = a.T if a.shape[0] != ROWS else a
        b = b.T if b.shape[0] != ROWS else b
        want = np.stack([a[i:j].T @ b[i:j] for i, j in parts])
        want = to("f32" if function in ("gradient_both", "gradient_of_bias") else dtype, want)
        if "old" in values:
            want = to(dtype, values["old"] + want)
    else:
        x, matrices = values["x"], values["w"]
        if function == "turned":
            x, matrices = x.T, matrices.transpose(1, 2, 0)
        elif function == "turned_in_order":
            x, matrices, dtype = x.T[values["order"] // 2], matrices.transpose(0, 2, 1), "f32"
        elif function in ("transposed", "bounds", "any_sizes"):
            matrices = matrices.transpose(0, 2, 1)
        want = np.zeros((ROWS, matrices.shape[2]))
        for g, (i, j) in enumerate(parts):
            want[i:j] = x[i:j] @ matrices[g] + (values["b"][g] if "b" in values else 0)
        want = to(dtype, want)
    compare("gmm", function, list(values.values()), want)

# The router of Llama 4: the best expert (the first of equal ones) and its weight.
for function in functions("moe_routing_sigmoid_top1_fused"):
    shapes = arguments("moe_routing_sigmoid_top1_fused", function, {})
    x, w = (normal(shapes[n][1], *shapes[n][0], scale=0.3) for n in ("x", "w"))
    s = f32(sigmoid(x @ w))
    ids, weights = s.argmax(-1)[:, None], s.max(-1)[:, None]
    if function == "shared_expert":
        ids, weights = np.hstack([ids, np.full_like(ids, 16)]), np.hstack([weights, np.ones_like(weights)])
    compare("moe_routing_sigmoid_top1_fused", function, [x, w], [ids, weights])


# A layer: gate between the products, the weighted sum over a token's experts.
def layer(x, w1, w2, chosen, weights, dtype):
    out = np.zeros((len(x), w2.shape[1]))
    for t, slots in enumerate(chosen):
        for slot, e in enumerate(slots):
            if e < 0:
                continue
            g, u = np.split(to(dtype, w1[e] @ x[t]), 2)
            out[t] += weights[t, slot] * (w2[e] @ to(dtype, silu(g) * u))
    return to(dtype, out)


for function, dtype in [("bf16", "bf16"), ("f32", "f32")]:
    shapes = arguments("moe_op_e2e", function, {})
    x, w1, w2 = (normal(dtype, *shapes[n][0], scale=0.3) for n in ("x", "w1", "w2"))
    weights = f32(rng.uniform(0.1, 1, (TOKENS, 2)))
    order, groups, places = sorted_ids(TOKENS, 2, len(w1), 16)
    chosen = np.full((TOKENS, 2), -1)
    for f, row, g in places:
        chosen[f // 2, f % 2] = g
    compare("moe_op_e2e", function, [x, weights, w1, w2, order, groups], layer(x, w1, w2, chosen, weights, dtype))
shapes = arguments("moe_op_e2e", "routed", {})
x, logits, w1, w2 = (normal(shapes[n][1], *shapes[n][0], scale=1 if n == "logits" else 0.3) for n in ("x", "logits", "w1", "w2"))
chosen = np.argsort(-logits, -1, kind="stable")[:, :2]
weights = formulas.softmax(np.take_along_axis(logits, chosen, -1))
compare("moe_op_e2e", "routed", [x, logits, w1, w2], layer(x, w1, w2, chosen, weights, "bf16"))


def summed(function, dtype, top_k, gate):
    """As models are imported: the experts' weighted sum and the residual, and their norm."""
    shapes = arguments("moe_op_e2e", function, {})
    values = {name: normal(dtype, *shape, scale=1 if name in ("logits", "r") else 0.3)
              for name, (shape, dtype) in shapes.items()}
    chosen = np.argsort(-values["logits"], -1, kind="stable")[:, :top_k]
    weights = formulas.softmax(np.take_along_axis(values["logits"], chosen, -1))
    out = np.zeros((TOKENS, values["w2"].shape[1]))
    for t, slots in enumerate(chosen):
        for slot, e in enumerate(slots):
            h = values["w1"][e] @ values["x"][t] + (values["b1"][e] if "b1" in values else 0)
            y = values["w2"][e] @ to(dtype, gate(to(dtype, h))) + (values["b2"][e] if "b2" in values else 0)
            out[t] += weights[t, slot] * f32(y)
    u = to(dtype, to(dtype, out) + values["r"])
    norm = u / np.sqrt((u * u).mean(-1, keepdims=True) + 1e-5) * values["nw"]
    compare("moe_op_e2e", function, list(values.values()), [u, to(dtype, norm)])


summed("summed", "bf16", 2, lambda h: silu(np.split(h, 2)[0]) * np.split(h, 2)[1])
summed("summed_biased", "f16", 4, lambda h: swiglu_oai(h[0::2], h[1::2]))

finish("gmm", "moe_op", "moe_op_gelu", "moe_op_silu_fused", "moe_op_mxfp4", "moe_op_mxfp4_silu_fused",
       "moe_op_gemm_a8w8", "moe_op_gemm_a8w8_blockscale", "moe_op_gemm_a8w4", "moe_op_gemm_a4w4", "moe_op_e2e",
       "moe_routing_sigmoid_top1_fused")
