"""Whole graphs of matrix products against NumPy formulas of what the module is for:
written from its description, not from its graph."""

import re

import numpy as np

from formulas import (codes, compare, even, f32, finish, functions, gelu, gelu_tanh, halves, mx, normal, positive,
                      quantised, rng, silu, to, up)


def powers(*shape):
    """e8m0 scales around 1."""
    return 2.0 ** rng.integers(-3, 4, shape)


def integers(*shape):
    return rng.integers(-127, 128, shape).astype(np.float64)


def along(scales, n, block, axis=-1):
    """Scales of blocks as one for each of n elements."""
    return np.repeat(scales, block, axis).take(range(n), axis)


def mx_operand(rows, k, dtype="f4E2M1FN", batch=()):
    """Elements, their scales and what they mean."""
    x, s = normal(dtype, *batch, rows, k, scale=2.0), powers(*batch, rows, -(-k // 32))
    return x, s, x * along(s, k, 32)


def sizes(module, function):
    """Of every static tensor argument; rows that are dynamic are 5."""
    head = functions(module)[function].split("->")[0]
    return {m[1]: (tuple(5 if d == "?" else int(d) for d in m[2].split("x")[:-1]), m[2].split("x")[-1])
            for m in re.finditer(r"%(\w+): tensor<([\w?]+)>", head)}


def transposed(x):
    return x.swapaxes(-1, -2)


# Microscaling products.
for name, kinds in [("whole", ()), ("tail", ()), ("one_block", ()), ("mxfp8", ()), ("mxfp8_e5m2", ()),
                    ("mxfp8_fp4", ())]:
    shape = sizes("gemm_afp4wfp4", name)
    (m, k), ex = shape["x"]
    (n, _), ew = shape["w"]
    x, xs, a = mx_operand(m, k, ex)
    w, ws, b = mx_operand(n, k, ew)
    compare("gemm_afp4wfp4", name, [x, w, xs, ws], a @ b.T)
for name, ta, tb in [("nn", False, False), ("tn", True, False), ("tt", True, True)]:
    shape = sizes("gemm_afp4wfp4", name)
    m, n, k = (5 if name == "nn" else 34), 72, 96
    x, xs, a = mx_operand(m, k)
    w, ws, b = mx_operand(n, k)
    compare("gemm_afp4wfp4", name, [x.T if ta else x, w if tb else w.T, xs, ws], a @ b.T)
x, xs, a = mx_operand(5, 96)
w, ws, b = mx_operand(128, 96)
bias = normal("bf16", 128)
compare("gemm_afp4wfp4", "bias_silu", [x, w, xs, ws, bias], silu(a @ b.T + bias))
x, xs, a = mx_operand(5, 128)
w, ws, b = mx_operand(256, 128)
compare("gemm_afp4wfp4", "quantised", [x, w, xs, ws], quantised(to("bf16", a @ b.T), "f8E4M3FN", 128))
# A scale that is NaN spoils its row, also where K ends within its block.
x, xs, a = mx_operand(5, 200)
w, ws, b = mx_operand(72, 200)
xs[2, 6] = np.nan
compare("gemm_afp4wfp4", "tail", [x, w, xs, ws], (x * along(xs, 200, 32)) @ b.T)
for batch, name, m, n, k in [((3,), "whole", 5, 72, 128), ((2,), "tail", 5, 40, 72), ((2, 2), "two_dims", 3, 24, 96)]:
    x, xs, a = mx_operand(m, k, batch=batch)
    w, ws, b = mx_operand(n, k, batch=batch)
    compare("batched_gemm_afp4wfp4", name, [x, w, xs, ws], a @ transposed(b))

# fp8 rows and microscaling weights.
x, xs = normal("f8E4M3FN", 5, 200), positive(5, 1)
w, ws, b = mx_operand(72, 200)
compare("gemm_a8wfp4", "tail", [x, w, xs, ws], x @ b.T * xs)
x, xs = normal("f8E4M3FN", 5, 392), positive(5, 4)
w, ws, b = mx_operand(136, 392)
compare("gemm_a8wfp4", "blocks_of_rows", [x, w, xs, ws], (x * along(xs, 392, 128)) @ b.T)
x, xs, bias = normal("f8E4M3FN", 5, 96), positive(5, 1), normal("bf16", 128)
w, ws, b = mx_operand(128, 96)
compare("gemm_a8wfp4", "bias_silu", [x, w, xs, ws, bias], silu(x @ b.T * xs + bias))

# 16-bit rows and microscaling weights.
def mx_rows(x, kind="f4E2M1FN", exponent=even):
    q, s = mx(x, kind, exponent(kind))
    return q * along(s, x.shape[-1], 32)


for name, n, k, options in [("quantised", 136, 256, {}), ("quantised_tail", 72, 200, {}),
                            ("quantised_ceil", 72, 96, {"exponent": up}),
                            ("quantised_mxfp8", 72, 200, {"kind": "f8E4M3FN"})]:
    x = normal("bf16", 5, k)
    w, ws, b = mx_operand(n, k)
    compare("gemm_a16wfp4", name, [x, w, ws], mx_rows(x, **options) @ b.T)
x, bias = normal("bf16", 5, 96), normal("bf16", 128)
w, ws, b = mx_operand(128, 96)
compare("gemm_a16wfp4", "bias_silu", [x, w, ws, bias], silu(mx_rows(x) @ b.T + bias))
x = normal("bf16", 5, 200)
w, ws, b = mx_operand(72, 200)
compare("gemm_a16wfp4", "weights_tail", [x, w, ws], x @ b.T)
compare("gemm_a16wfp4", "weights_exact", [x, w, ws], x @ b.T)
# Integer weights of 4 and 8 bits with scales and zero points of groups of k.
CODES = {"ui4": (0, 16), "i4": (-8, 8), "i8": (-128, 128)}
for name, groups in [("awq", 128), ("symmetric", 32), ("whole_256", 256), ("tail_odd", 64), ("short", 32),
                     ("float_zero", 64), ("int8_zero", 128), ("columns", 64), ("f32_rows", 64), ("batched", 32)]:
    arguments = list(sizes("gemm_a16w4", name).values())
    (rows, kind), (weights, code), (scales, real), *zero = arguments
    x, w, s = normal(kind, *rows), rng.integers(*CODES[code], weights), to(real, rng.uniform(0.01, 0.2, scales))
    inputs, z = [x, w, s], 0.0
    if zero:
        shape, dtype = zero[0]
        z = to(dtype, rng.uniform(0, 15, shape)) if dtype not in CODES else rng.integers(*CODES[dtype], shape)
        inputs.append(z)
        z = along(z, weights[-1], groups)
    b = to("f32" if kind == "f32" else kind, f32(f32(w - z) * along(s, weights[-1], groups)))
    compare("gemm_a16w4", name, inputs, x @ (b if name == "columns" else transposed(b)))
x, w, s = normal("bf16", 5, 64), rng.integers(0, 16, (16, 64)), f32(rng.uniform(0.01, 0.2, (16, 1)))
z = np.array([0, 15] * 8).reshape(16, 1)
compare("gemm_a16w4", "zero_ends", [x, w, s, z], x @ to("bf16", (w - z) * s).T)
x, w, s = normal("f16", 5, 128), rng.integers(0, 16, (40, 128)), to("f16", rng.uniform(0.01, 0.2, (40, 4)))
compare("gemm_a16w4", "default_zero", [x, w, s], x @ to("f16", (w - 8) * along(s, 128, 32)).T)
for name, kind, n, k in [("minimum", "f32", 40, 160), ("minimum_tail", "bf16", 33, 86)]:
    shape = (n, -(-k // 32))
    x, w, s, m = (normal(kind, 5, k), rng.integers(0, 16, (n, k)), to("f16", rng.uniform(0.01, 0.2, shape)),
                  to("f16", rng.uniform(-1, 0, shape)))
    compare("gemm_a16w4", name, [x, w, s, m], x @ to(kind, f32(w * along(s, k, 32)) + along(m, k, 32)).T)
x, q, s = normal("bf16", 5, 64), rng.integers(-128, 128, (24, 64)), f32(rng.uniform(0.01, 0.2, (24, 2)))
compare("gemm_a16w4", "minimum_of_all", [x, q, s], x @ to("bf16", f32(q * along(s, 64, 32)) - 0.75).T)
q, s, m = rng.integers(0, 16, (5, 64)), to("f16", rng.uniform(0.01, 0.2, (5, 2))), to("f16", rng.uniform(-1, 0, (5, 2)))
compare("gemm_a16w4", "minimum_alone", [q, s, m], f32(f32(q * along(s, 64, 32)) + along(m, 64, 32)))
q, qs, qz = integers(33, 72), f32(rng.uniform(0.01, 0.2, (33, 1))), rng.integers(-128, 128, (33, 1))
w, s, z = rng.integers(0, 16, (40, 72)), f32(rng.uniform(0.01, 0.2, (40, 2))), rng.integers(0, 16, (40, 2))
compare("gemm_a16w4", "both", [q, qs, qz, w, s, z],
        to("bf16", (q - qz) * qs) @ to("bf16", (w - along(z, 72, 64)) * along(s, 72, 64)).T)
x, w, s, z = (normal("bf16", 5, 96), rng.integers(0, 16, (144, 96)), to("f16", rng.uniform(0.01, 0.1, (144, 4))),
              rng.integers(0, 16, (144, 4)))
y = to("bf16", x @ to("bf16", (w - along(z, 96, 24)) * along(s, 96, 24)).T)
compare("gemm_a16w4", "gated", [x, w, s, z], silu(y[:, :72]) * y[:, 72:])
x, w, s, z = (normal("bf16", 5, 64), rng.integers(0, 16, (3, 40, 64)), to("bf16", rng.uniform(0.01, 0.1, (3, 40, 2))),
              rng.integers(0, 16, (3, 40, 2)))
blocks, order = np.array([2, 0, 2]), np.array([3, 0, 9, 10, 7, 1, 2, 4, 5, 6, 8, -1])
y = np.zeros((10, 40))
for place, entry in enumerate(order):
    if 0 <= entry < 10:
        b = to("bf16", (w - along(z, 64, 32)) * along(s, 64, 32))[blocks[place // 4]]
        y[entry] = x[entry // 2] @ b.T
compare("gemm_a16w4", "experts", [x, blocks, order, w, s, z], y)
x = normal("bf16", 2, 5, 72)
w, ws, b = mx_operand(40, 72, batch=(2,))
compare("batched_gemm_a16wfp4", "tail", [x, w, ws], mx_rows(x) @ transposed(b))
x, s = normal("bf16", 2, 5, 96), np.array([0.5])
w, ws, b = mx_operand(72, 96, batch=(2,))
compare("batched_gemm_a16wfp4", "fp8_result", [x, w, ws, s], codes(f32(mx_rows(x) @ transposed(b)), s, "f8E4M3FN"))

# Scales per row and column, batched.
x, w, xs, ws = integers(3, 5, 136), integers(3, 72, 136), positive(3, 5, 1), positive(3, 72, 1)
compare("batched_gemm_a8w8", "int8", [x, w, xs, ws], x @ transposed(w) * xs * transposed(ws))
x, w, xs, ws, bias = integers(2, 5, 72), integers(2, 40, 72), positive(2, 5, 1), positive(2, 40, 1), normal("bf16", 2, 1, 40)
compare("batched_gemm_a8w8", "int8_bias", [x, w, xs, ws, bias], to("bf16", x @ transposed(w) * xs * transposed(ws)) + bias)
x, w, xs, ws = normal("f8E4M3FN", 5, 256), normal("f8E4M3FN", 136, 256), positive(5, 1), positive(136, 1)
compare("gemm_a8w8_per_token_scale", "fn", [x, w, xs, ws], x @ w.T * xs * ws.T)

# Scales per block.
def blocks(rows, k, dtype="f8E4M3FN"):
    w, s = normal(dtype, rows, k), positive(-(-rows // 128), -(-k // 128))
    return w, s, w * along(along(s, k, 128), rows, 128, 0)


def block_rows(rows, k, dtype="f8E4M3FN"):
    x, s = normal(dtype, rows, k), positive(rows, -(-k // 128))
    return x, s, x * along(s, k, 128)


for name, n, k in [("whole", 256, 256), ("tail", 136, 200)]:
    x, xs, a = block_rows(5, k)
    w, ws, b = blocks(n, k)
    compare("gemm_a8w8_blockscale", name, [x, w, xs, ws], a @ b.T)
x, xs, a = block_rows(5, 256)
w, ws, b = blocks(128, 256)
bias = normal("bf16", 128)
compare("gemm_a8w8_blockscale", "bias_silu", [x, w, xs, ws, bias], silu(a @ b.T + bias))
x = normal("bf16", 5, 200)
w, ws, b = blocks(136, 200)
compare("gemm_a16w8_blockscale", "blocks_tail", [x, w, ws], x @ b.T)
# Weights that are widened first round to the type of the rows.
x, w, ws = normal("bf16", 5, 136), integers(72, 136), positive(72, 1)
compare("gemm_a16w8_blockscale", "rows_int8", [x, w, ws], x @ to("bf16", f32(w * ws)).T)
x, w, ws = normal("bf16", 5, 256), integers(72, 256), positive(72, 4)
compare("gemm_a16w8_blockscale", "groups_int8", [x, w, ws], x @ to("bf16", f32(w * along(ws, 256, 64))).T)
x, w, ws = normal("bf16", 5, 200), normal("f8E4M3FN", 72, 200), positive(72, 2)
compare("gemm_a16w8_blockscale", "groups_fp8", [x, w, ws], x @ to("bf16", f32(w * along(ws, 200, 128))).T)

# Rows quantised on the way, in groups of 128 of at least 1e-10.
def quantised_rows(x, kind, **options):
    q, s = quantised(x, kind, 128, 1e-10, **options)
    return q * along(s, x.shape[-1], 128)


x = normal("bf16", 5, 392)
w, ws, b = blocks(136, 392)
compare("gemm_a16w8_blockscale", "quantised", [x, w, ws], quantised_rows(x, "f8E4M3FN") @ b.T)
ws = np.array([0.0625])
for name, dtype, kind, shape, n, options in [
        ("fp8", "bf16", "f8E4M3FN", (3, 5, 256), 72, {}), ("one_group", "bf16", "f8E4M3FN", (3, 5, 128), 136, {}),
        ("int8", "bf16", "i8", (2, 5, 384), 72, {}), ("int8_bias", "f16", "i8", (2, 5, 136), 40, {}),
        ("power_of_two", "f32", "f8E4M3FN", (2, 5, 256), 40, {"power_of_two": True})]:
    x = normal(dtype, *shape)
    w = integers(shape[0], n, shape[2]) if kind == "i8" else normal(kind, shape[0], n, shape[2])
    y = quantised_rows(x, kind, **options) @ transposed(w) * ws
    if name == "int8_bias":
        bias = normal("bf16", 2, 1, 40)
        compare("batched_gemm_a8w8_ptgq", name, [x, w, ws, bias], to("bf16", y) + bias)
    else:
        compare("batched_gemm_a8w8_ptgq", name, [x, w, ws], y)

# Products times a plus b, plus a times b.
for module, left, right in [("fused_gemm_a8w8_blockscale_mul_add", block_rows, blocks),
                            ("fused_gemm_afp4wfp4_mul_add", mx_operand, mx_operand)]:
    def product(n, k):
        x, xs, a = left(5, k)
        w, ws, b = right(n, k)
        return [x, w, xs, ws], a @ b.T

    def of(n):
        return normal("bf16", 5, n)

    operands, y = product(136, 200)
    a, b = of(136), of(136)
    compare(module, "product_scaled_by_tensor", operands + [a, b], y * a + b)
    compare(module, "tensors_multiplied", operands + [a, b], a * b + y)
    operands, y = product(72, 256)
    a, b = normal("f32", 1), of(72)
    compare(module, "product_scaled_by_element", operands + [a, b], y * a + b)
    operands, y = product(72, 200)
    a, b = of(72), normal("f32", 1)
    compare(module, "element_added", operands + [a, b], y * a + b)
    compare(module, "tensor_times_element", operands + [a, b], a * b + y)
    compare(module, "constant", operands + [a], y * 2.5 + a)

# Two products of the same rows.
for module, left, right, cases in [
        ("fused_gemm_a8w8_blockscale_a16w16", block_rows, blocks,
         [("whole", "bf16", 256, 128, 256), ("tail", "bf16", 136, 72, 200), ("biases", "bf16", 72, 136, 256),
          ("fnuz_f16", "f16", 64, 40, 128)]),
        ("fused_gemm_afp4wfp4_a16w16", mx_operand, mx_operand,
         [("whole", "bf16", 256, 128, 256), ("tail", "bf16", 136, 72, 200), ("biases", "bf16", 72, 136, 96)])]:
    for name, dtype, n, columns, k in cases:
        narrow = {"dtype": "f8E4M3FNUZ"} if name == "fnuz_f16" else {}
        x, xs, a = left(5, k, **narrow)
        w, ws, b = right(n, k, **narrow)
        h, v = normal(dtype, 5, k), normal(dtype, columns, k)
        bias, other = normal(dtype, n), normal(dtype, columns)
        if name == "biases":
            compare(module, name, [x, w, xs, ws, bias, h, v, other], [a @ b.T + bias, h @ v.T + other])
        else:
            compare(module, name, [x, w, xs, ws, h, v], [a @ b.T, h @ v.T])

# Columns in heads, of which the front goes beside another tensor.
for module, left, right, cases in [
        ("fused_gemm_a8w8_blockscale_split_cat", block_rows, blocks,
         [("whole", 256, 4, 32, 32, 64), ("tail", 200, 3, 24, 40, 16), ("odd", 200, 2, 13, 7, 5),
          ("wide_rest", 128, 4, 16, 8, 40), ("shared_by_heads", 256, 4, 32, 32, 16),
          ("f16_gated_values", 128, 2, 32, 64, 32)]),
        ("fused_gemm_afp4wfp4_split_cat", mx_operand, mx_operand,
         [("whole", 256, 4, 32, 32, 64), ("tail", 200, 3, 24, 40, 16), ("odd", 96, 2, 13, 7, 5),
          ("shared_by_heads", 96, 4, 32, 32, 16)])]:
    for name, k, heads, front, back, beside in cases:
        dtype = "f16" if name.startswith("f16") else "bf16"
        x, xs, a = left(5, k)
        w, ws, b = right(heads * (front + back), k)
        columns = to(dtype, a @ b.T).reshape(5, heads, front + back)
        shared = name == "shared_by_heads"
        y = normal(dtype, 5, beside) if shared else normal(dtype, 5, heads, beside)
        every = np.repeat(y[:, None], heads, 1) if shared else y
        keys, values = np.concatenate([columns[..., :front], every], -1), columns[..., front:]
        if name == "f16_gated_values":
            values = silu(values)
        compare(module, name, [x, w, xs, ws, y], [keys, values])

# Halves of the columns, the first through an activation.
def gate(kind, u):
    g, v = halves(u)
    if kind == "swiglu_oai":
        return swiglu_gate(g, v)
    return {"silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh, "relu": lambda x: np.maximum(x, 0)}[kind](g) * v


def swiglu_gate(g, v):
    return g / (1 + np.exp(-1.702 * g)) * (v + 1)


for name, dtype, n, k in [("silu", "bf16", 128, 136), ("gelu", "bf16", 72, 72), ("gelu_tanh", "f16", 64, 40),
                          ("relu", "bf16", 33, 13), ("swiglu_oai", "bf16", 64, 64)]:
    x, w = normal(dtype, 5, k), normal(dtype, 2 * n, k)
    compare("gemm_a16w16_gated", name, [x, w], gate(name, x @ w.T))
x, w = normal("bf16", 5, 48), normal("bf16", 256, 48)
g, u = halves(to("bf16", x @ w.T))
compare("gemm_a16w16_gated", "rounded_gelu", [x, w], to("bf16", gelu(g)) * u)

# Feed-forward layers: what lies between is rounded to 16 bits.
for name, dtype, h, i in [("silu", "bf16", 72, 128), ("gelu_tanh", "f16", 64, 72), ("gelu", "bf16", 40, 64),
                          ("relu", "bf16", 13, 33)]:
    x, down = normal(dtype, 5, h), normal(dtype, i, h)
    wu = normal(dtype, 2 * i, h)
    compare("ff_fused_gated", name, [x, wu, down], to(dtype, gate(name, x @ wu.T)) @ down)
    wu = normal(dtype, i, h)
    act = {"silu": silu, "gelu": gelu, "gelu_tanh": gelu_tanh, "relu": lambda x: np.maximum(x, 0)}[name]
    compare("ff_fused_ungated", name, [x, wu, down], to(dtype, act(x @ wu.T)) @ down)
x, wu, down = normal("bf16", 5, 72), normal("bf16", 64, 72), normal("bf16", 64, 72)
compare("ff_fused_ungated", "no_activation", [x, wu, down], to("bf16", x @ wu.T) @ down)

finish("gemm_a16w4", "gemm_afp4wfp4", "batched_gemm_afp4wfp4", "gemm_a8wfp4", "gemm_a16wfp4", "batched_gemm_a16wfp4",
       "batched_gemm_a8w8", "gemm_a8w8_per_token_scale", "gemm_a8w8_blockscale", "gemm_a16w8_blockscale",
       "batched_gemm_a8w8_ptgq", "fused_gemm_a8w8_blockscale_mul_add", "fused_gemm_afp4wfp4_mul_add", "gemm_a16w16_gated", "ff_fused_gated",
       "ff_fused_ungated", "fused_gemm_a8w8_blockscale_a16w16", "fused_gemm_afp4wfp4_a16w16",
       "fused_gemm_a8w8_blockscale_split_cat", "fused_gemm_afp4wfp4_split_cat")
