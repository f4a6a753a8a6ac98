"""Whole graphs of norms, activations and pointwise modules against NumPy formulas of
what the module is for: written from its description, not from its graph."""

import numpy as np

from formulas import (codes, compare, erf, f32, finish, gelu, gelu_tanh, halves, mxfp4, normal, padded,
                      positive, quantised, rms, rng, sigmoid, silu, softmax, swiglu_oai, to)


def rows(dtype, *shape):
    """One row that the epsilon decides and one of zeros among them."""
    x = normal(dtype, *shape)
    x[1] = to(dtype, x[1] * 1e-3)
    x[2] = 0
    return x


# rmsnorm.
for name, dtype, n, epsilon in [("f32_4", "f32", 4, 1e-5), ("bf16_10", "bf16", 10, 1e-6), ("f16_409", "f16", 409, 1e-5),
                                ("bf16_1245", "bf16", 1245, 1e-6), ("f32_2048", "f32", 2048, 1e-6)]:
    x, w = rows(dtype, 4, n), normal(dtype, n)
    compare("rmsnorm", name, [x, w], rms(x, w, epsilon))
for name, dtype, n in [("add_bf16_2880", "bf16", 2880), ("add_f16_3571", "f16", 3571)]:
    x, r, w = normal(dtype, 3, n), normal(dtype, 3, n), normal(dtype, n)
    s = to(dtype, x + r)
    compare("rmsnorm", name, [x, r, w], [rms(s, w), s])
x, w, v = rows("bf16", 4, 1536), normal("bf16", 1536), normal("bf16", 1536)
compare("rmsnorm", "dual_1536", [x, w, v], [rms(x, w), rms(x, v, 1e-5)])
r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
compare("rmsnorm", "training_1536", [x, w], [x * r * w, r])
x, w, v = normal("bf16", 4, 2112), normal("bf16", 1536), normal("bf16", 512)
compare("rmsnorm", "latents", [x, w, v], [rms(x[:, :1536], w), rms(x[:, 1536:2048], v)])
x, z, w = normal("bf16", 3, 8, 128), normal("bf16", 3, 8, 128, scale=4.0), normal("f32", 128)
compare("rmsnorm", "gated_heads", [x, z, w], rms(x, w) * silu(z))
x, w = rows("bf16", 4, 640), normal("bf16", 640)
compare("rmsnorm", "one_plus_weight", [x, w], rms(x, 1 + w))
compare("rmsnorm", "rounded_before_weight", [x, w], to("bf16", rms(x, 1)) * w)
x, w = normal("bf16", 2, 10240), normal("bf16", 5120)
compare("rmsnorm", "strided_5120", [x, w], rms(x[:, ::2], w))
x, r, w = normal("bf16", 5, 409), normal("bf16", 5, 409), normal("f32", 409)
s = to("bf16", x + r)
q = 1 / np.sqrt((s * s).mean(-1, keepdims=True) + 1e-6)
compare("rmsnorm", "add_training_409", [x, r, w], [s * q * w, s, q])

# Its gradients: dx = r g dy - r^3 x sum(g dy x) / N, dg = sum of dy x r over the rows.
for name, dtype, n in [("f32_10", "f32", 10), ("f16_409", "f16", 409)]:
    x, w, dy = normal(dtype, 6, n), normal(dtype, n), normal(dtype, 6, n)
    r = f32(1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))
    dx = r * w * dy - r**3 * x * (w * dy * x).sum(-1, keepdims=True) / n
    compare("rmsnorm_backward", name, [x, w, r, dy], [dx, (dy * x * r).sum(0)[:, None]])

# fused_add_rmsnorm_pad: the sum is not rounded before the norm.
x, w = rows("f32", 5, 4), normal("f32", 4)
compare("fused_add_rmsnorm_pad", "f32_4", [x, w], padded(rms(x, w), 256))
for name, dtype, n, width in [("add_f16_16", "f16", 16, 256), ("add_bf16_640", "bf16", 640, 768),
                              ("add_f32_2880", "f32", 2880, 2880)]:
    x, r, w = rows(dtype, 4, n), rows(dtype, 4, n), normal(dtype, n)
    s = f32(x + r)
    compare("fused_add_rmsnorm_pad", name, [x, r, w], [padded(rms(s, w), width), to(dtype, s)])
x, r, w = rows("bf16", 4, 2880), rows("bf16", 4, 2880), normal("bf16", 2880)
s = f32(x + r)
y = padded(rms(s, w), 3072)
compare("fused_add_rmsnorm_pad", "quantised", [x, r, w], quantised(y, "f8E4M3FN", 128, 1e-10) + [to("bf16", s)])
compare("fused_add_rmsnorm_pad", "mxfp4", [x, r, w], mxfp4(y) + [to("bf16", s)])
x, w = normal("f16", 4, 640), normal("f16", 320)
compare("fused_add_rmsnorm_pad", "strided_320", [x, w], padded(rms(x[:, 1::2], w), 512))
x = normal("bf16", 4, 37)
compare("fused_add_rmsnorm_pad", "padded_rows_of_ones", [x], padded(x, 50, 1.0), exact=True)


# layernorm.
def layer_norm(x, w, b, epsilon=1e-5):
    m = x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + epsilon)
    return [(x - m) * rstd * w + b, m, rstd]


for name, dtype, n in [("bf16_1", "bf16", 1), ("f32_2", "f32", 2), ("f16_128", "f16", 128), ("f32_359", "f32", 359),
                       ("bf16_8192", "bf16", 8192)]:
    x, w, b = rows(dtype, 4, n), normal(dtype, n), normal(dtype, n)
    compare("layernorm", name, [x, w, b], layer_norm(x, w, b)[0])
for name, dtype, n in [("add_f32_359", "f32", 359), ("add_f16_781", "f16", 781)]:
    x, r, w, b = normal(dtype, 4, n), normal(dtype, 4, n), normal(dtype, n), normal(dtype, n)
    s = to(dtype, x + r)
    compare("layernorm", name, [x, r, w, b], [layer_norm(s, w, b)[0], s])
x, w, b, xs = rows("bf16", 4, 1024), normal("bf16", 1024), normal("bf16", 1024), positive(1024)
compare("layernorm", "smooth_quant", [x, w, b, xs], quantised(layer_norm(x, w, b)[0] * xs, "i8"))
x, r, w, b = normal("bf16", 4, 359), normal("bf16", 4, 359), normal("bf16", 359), normal("bf16", 359)
s, xs = to("bf16", x + r), positive(359)
compare("layernorm", "add_smooth_quant", [x, r, w, b, xs], quantised(layer_norm(s, w, b)[0] * xs, "i8") + [s])
x, r, w, b = normal("f16", 4, 1245), normal("f16", 4, 1245), normal("f16", 1245), normal("f16", 1245)
s = to("f16", x + r)
compare("layernorm", "dynamic_quant_1245", [x, r, w, b], quantised(layer_norm(s, w, b)[0], "i8") + [s])
x, w, b = rows("bf16", 4, 781), normal("bf16", 781), normal("bf16", 781)
compare("layernorm", "training_781", [x, w, b], layer_norm(x, w, b))
x, w, b = normal("f32", 4, 1), normal("f32", 1), normal("f32", 1)
compare("layernorm", "training_1", [x, w, b], layer_norm(x, w, b))

# l2norm.
for name, dtype, shape in [("forward_128", "bf16", (4, 4, 128)), ("forward_60", "f32", (4, 60)),
                           ("forward_1024_to_f32", "bf16", (3, 5, 1024))]:
    x = rows(dtype, *shape)
    compare("l2norm", name, [x], x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6))
x = rows("bf16", 4, 4, 100)
rstd = 1 / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)
compare("l2norm", "forward_rstd", [x], [x * rstd, rstd])
for name, dtype, shape in [("backward", "bf16", (4, 4, 128)), ("backward_60", "f32", (4, 3, 60))]:
    x, dy = rows(dtype, *shape), normal(dtype, *shape)
    rstd = f32(1 / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6))
    y = to(dtype, x * rstd)
    compare("l2norm", name, [y, rstd, dy], to(dtype, rstd * (dy - y * (dy * y).sum(-1, keepdims=True))))
x = rows("bf16", 6, 2, 128)
compare("l2norm", "divided_by_root", [x], x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6))
x = rows("f32", 6, 60)
compare("l2norm", "divided_by_root_and_epsilon", [x], x / (np.sqrt((x * x).sum(-1, keepdims=True)) + 1e-6))

# softmax.
for name, dtype, n in [("f16_1", "f16", 1), ("f32_359", "f32", 359), ("bf16_781", "bf16", 781),
                       ("f32_20000", "f32", 20000)]:
    x = normal(dtype, 3, n, scale=4.0)
    compare("softmax", name, [x], softmax(x))
x = normal("bf16", 2, 40000)
compare("softmax", "first_block_masked", [x], np.concatenate([np.zeros((2, 33000)), softmax(x[:, 33000:])], -1))
compare("softmax", "all_masked", [normal("f32", 2, 781)], np.full((2, 781), np.nan))

# activation.
for name, dtype, n, formula in [
        ("silu", "bf16", 96, silu), ("gelu", "f32", 96, gelu), ("gelu_tanh", "f16", 37, gelu_tanh),
        ("relu", "bf16", 96, lambda v: np.maximum(v, 0)), ("tanh", "f32", 96, np.tanh),
        ("relu6", "f16", 50, lambda v: np.clip(v, 0, 6)),
        ("gelu_fast", "bf16", 96, lambda v: v / 2 * (1 + np.tanh(0.79788456 * v + 0.035677408 * v**3)))]:
    x = normal(dtype, 5, n, scale=4.0)
    compare("activation", name, [x], formula(x), exact=name[:4] == "relu")
for name, dtype, n, formula in [
        ("silu_and_mul", "bf16", 704, lambda g, u: silu(g) * u), ("gelu_and_mul", "f16", 500, lambda g, u: gelu(g) * u),
        ("gelu_tanh_and_mul", "bf16", 1024, lambda g, u: gelu_tanh(g) * u),
        ("relu_and_mul", "f32", 33, lambda g, u: np.maximum(g, 0) * u),
        ("silu_and_mul_limit", "bf16", 64, lambda g, u: silu(np.minimum(g, 7)) * np.clip(u, -7, 7)),
        ("swiglu_oai", "bf16", 64, swiglu_oai),
        ("silu_rounded_gate", "bf16", 384, lambda g, u: to("bf16", silu(g)) * u),
        ("silu_rounded_mul", "bf16", 384, lambda g, u: to("bf16", silu(g)) * u)]:
    x = normal(dtype, 5, 2 * n, scale=4.0)
    compare("activation", name, [x], formula(*halves(x)))
x = normal("bf16", 7, 90, scale=4.0)
for name in ["swiglu_interleaved", "swiglu_alternating"]:
    compare("activation", name, [x], swiglu_oai(x[:, 0::2], x[:, 1::2]))
expert = np.array([2, 0, -1, 3, 4, 1], np.int32)
for name, dtype, n, formula in [("bias_of_expert", "bf16", 128, lambda g, u: silu(g) * u),
                                ("bias_swiglu_oai", "bf16", 90, swiglu_oai),
                                ("bias_gelu_tanh", "f16", 64, lambda g, u: gelu_tanh(g) * u)]:
    x, bias = normal(dtype, 6, 2 * n, scale=4.0), normal(dtype, 4, 2 * n)
    of_token = np.array([bias[e] if 0 <= e < 4 else np.zeros(2 * n) for e in expert])
    y = formula(*halves(to(dtype, x + of_token)))
    compare("activation", name, [x, bias, expert], np.where(((expert >= 0) & (expert < 4))[:, None], y, 0))
x, scale = normal("bf16", 5, 1024, scale=4.0), positive(1)
g, u = halves(x)
compare("activation", "scaled_silu_and_mul", [x, scale], codes(silu(g) * u, scale, "f8E4M3FN"))
x, scale = normal("f16", 5, 200, scale=4.0), f32(positive(1) / 16)
g, u = halves(x)
compare("activation", "scaled_gelu_and_mul_int8", [x, scale], codes(gelu(g) * u, scale, "i8"))
x = normal("bf16", 7, 256)
g, u = halves(x)
compare("activation", "silu_and_mul_per_token", [x], quantised(silu(g) * u, "f8E4M3FN"))

# fused_mul_add: a x + b, every operation in f32.
for name, dtype, shape, a, b in [
        ("f32_flat", "f32", (77,), "full", "full"), ("bf16_500", "bf16", (5, 500), "full", "full"),
        ("bf16_4096", "bf16", (2, 4096), 2.5, "full"), ("f16_scalars", "f16", (5, 64), normal("f32", 1), 0.25),
        ("bf16_7168_device_scalars", "bf16", (2, 7168), normal("f32", 1), normal("bf16", 1)),
        ("f32_8", "f32", (5, 8), 2.5, 0.25), ("f16_16_50_418", "f16", (2, 50, 418), "full", normal("f16", 1))]:
    x = normal(dtype, *shape)
    a, b = (normal(dtype, *shape) if isinstance(v, str) else v for v in (a, b))
    tensors = [v for v in (a, b) if not isinstance(v, float)]
    compare("fused_mul_add", name, [x] + tensors, to(dtype, f32(f32(a * x) + b)), exact=True)

# gdr_utils.
a, b = normal("f32", 37, 129), normal("f32", 37, 129)
compare("gdr_utils", "abs_diff", [a, b], f32(np.abs(a - b)), exact=True)
a, b = normal("f32", 1000), normal("f32", 1000)
compare("gdr_utils", "squared_diff", [a, b], f32(f32(a - b) ** 2), exact=True)
a = normal("f32", 4099)
compare("gdr_utils", "max_reduce", [a], np.array([a.max()]), exact=True)
a = normal("f32", 7, 1000)
compare("gdr_utils", "sum_reduce", [a], a.sum())
a = normal("bf16", 3, 5, 64)
compare("gdr_utils", "min_reduce_bf16", [a], a.min((1, 2), keepdims=True), exact=True)
a, b = normal("f32", 16, 300), normal("bf16", 16, 300)
compare("gdr_utils", "max_abs_diff", [a, b], np.abs(f32(a - b)).max(keepdims=True), exact=True)
a, b = normal("f32", 777), normal("f32", 777)
most = np.abs(f32(a - b)).max(keepdims=True)
compare("gdr_utils", "rank_1", [a, b], [most, f32(f32(a - b) + most)], exact=True)
a = normal("f32", 1001)
compare("gdr_utils", "bf16_to_float", [to("bf16", a)], to("bf16", a), exact=True)
compare("gdr_utils", "float_to_bf16", [a], to("bf16", a), exact=True)
a = rows("f32", 9, 128)
compare("gdr_utils", "l2_normalize", [a], a / np.sqrt((a * a).sum(-1, keepdims=True) + 1e-6))
a = normal("bf16", 11, 500)
compare("gdr_utils", "row_sum", [a], a.sum(-1, keepdims=True))
a, b = normal("f32", 16, 300), normal("f32", 16, 300)
ratio = np.sqrt(((a - b) ** 2).mean()) / (np.sqrt((a * a).mean()) + 1e-8)
compare("gdr_utils", "error_ratio", [a, b], ratio.reshape(1, 1))
x = normal("bf16", 5, 520)
compare("reduce_large", "sum", [x], x.sum().reshape(1, 1))
x, y = normal("f32", 5, 520), normal("f32", 520)
compare("reduce_large", "max_diff", [x, y], to("bf16", np.abs(f32(x - y)).max(keepdims=True)), exact=True)

# op.
for name, dtype, n, formula in [
        ("exp", "f32", 100, np.exp), ("exp2", "bf16", 128, np.exp2), ("log", "f32", 100, np.log),
        ("log2", "f16", 128, np.log2),
        ("safe_exp", "f32", 100, lambda v: np.where(v <= 0, np.exp(v), 0)),
        ("sigmoid", "bf16", 128, sigmoid), ("silu", "f16", 100, silu),
        ("softplus", "f32", 100, lambda v: np.where(2 * v <= 20, np.log1p(np.exp(2 * v)) / 2, v)),
        ("sqrt", "f32", 100, np.sqrt), ("rsqrt", "bf16", 128, lambda v: 1 / np.sqrt(v)),
        ("reciprocal", "f16", 100, lambda v: 1 / v), ("erf", "f32", 64, np.vectorize(erf)),
        ("round", "f32", 64, np.rint)]:
    x = normal(dtype, 5, n, scale=6.0)
    with np.errstate(invalid="ignore"):
        y = f32(formula(x))
        compare("op", name, [x], to("f16", y) if name == "reciprocal" else y)
x, ids = normal("bf16", 7, 36), np.array([3, -1, 6, 7, 0, 3, 8, 1, 2, -2, 5], np.int32)
inside = (ids >= 0) & (ids < 7)
compare("op", "gather", [x, ids], np.where(inside[:, None], x[ids % 7], 0), exact=True)
x, ids = normal("f32", 7), rng.integers(-1, 8, (5, 9))
compare("op", "gather_elements", [x, ids], np.where((ids >= 0) & (ids < 7), x[ids % 7], 0), exact=True)
x, where = normal("f32", 5, 40), rng.integers(-3, 42, (5, 12)).astype(np.int32)
inside = (where >= 0) & (where < 40)
compare("op", "gather_along_row", [x, where], np.where(inside, np.take_along_axis(x, where % 40, 1), 0), exact=True)


# fused_gdn_gating_prefill: g = -e^A softplus(a + bias), beta = sigmoid(b).
def gating(a, b, decay, bias, slope=1.0, threshold=20.0):
    z = a + bias
    softplus = np.where(slope * z <= threshold, np.log1p(np.exp(slope * z)) / slope, z)
    return [-np.exp(decay) * softplus, sigmoid(b)]


ba, decay, bias = normal("bf16", 5, 64, scale=9.0), normal("f32", 32), normal("bf16", 32)
b, a = halves(ba)
compare("fused_gdn_gating_prefill", "bf16_32", [ba, decay, bias], gating(a, b, decay, bias))
a, b = normal("bf16", 13, 6, scale=9.0), normal("bf16", 13, 6)
decay, bias = normal("bf16", 6), normal("f32", 6)
compare("fused_gdn_gating_prefill", "odd_13", [a, b, decay, bias], gating(a, b, decay, bias))
a, b = normal("bf16", 6, 8, scale=4.0), normal("bf16", 6, 8)
decay, bias = normal("f32", 8), normal("f32", 8)
g, beta = gating(a, b, decay, bias, 2.0, 10.0)
compare("fused_gdn_gating_prefill", "slope_2", [a, b, decay, bias], [g, beta.reshape(6, 2, 4)])

finish("rmsnorm", "rmsnorm_backward", "fused_add_rmsnorm_pad", "layernorm", "l2norm", "softmax", "activation",
       "fused_mul_add", "gdr_utils", "reduce_large", "op", "fused_gdn_gating_prefill")
