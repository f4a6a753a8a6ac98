"""Whole graphs of quantisation against NumPy formulas of what the module is for: written
from its description, not from its graph. Codes and scales of exact inputs are equal bit
for bit."""

import numpy as np

from formulas import (codes, compare, down, even, f32, finish, gelu_tanh, halves, mx, mxfp4, normal, ocp, padded,
                      positive, quantised, rms, rng, shuffled, silu, swiglu_oai, to, up)


def rows(dtype, *shape):
    """Rows of several magnitudes, and one of zeros."""
    x = to(dtype, normal("f32", *shape) * positive(*shape[:-1], 1) ** 2)
    x[1] = 0
    return x


# quant.
for name, dtype, n, kind, options in [
        ("token_int8_13", "f32", 13, "i8", {}), ("token_int8_96", "f16", 96, "i8", {}),
        ("token_int8_400", "bf16", 400, "i8", {}), ("token_fp8_4096", "bf16", 4096, "f8E4M3FN", {}),
        ("token_fp8_odd", "f32", 13, "f8E4M3FNUZ", {}), ("token_e5m2", "f16", 400, "f8E5M2", {}),
        # vLLM: no scale is below 1 / (224 * 512).
        ("token_fnuz_224", "bf16", 4096, "f8E4M3FNUZ", {"largest": 224, "floor": 1 / 512}),
        ("group_fp8", "bf16", 1024, "f8E4M3FN", {"group": 128, "floor": 1e-10}),
        ("group_fp8_tail", "f16", 200, "f8E4M3FN", {"group": 128, "floor": 1e-10}),
        ("group_64_e5m2_fnuz", "f32", 192, "f8E5M2FNUZ", {"group": 64}),
        ("group_ue8m0", "bf16", 1024, "f8E4M3FN", {"group": 128, "floor": 1e-10, "power_of_two": True}),
        ("token_ue8m0", "f32", 193, "f8E4M3FN", {"power_of_two": True})]:
    x = rows(dtype, 5, n)
    compare("quant", name, [x], quantised(x, kind, **options), exact=True)
for name, dtype, n, kind, largest in [
        ("static_int8", "f32", 32, "i8", None), ("static_fp8", "bf16", 1024, "f8E4M3FN", None),
        ("static_fnuz_75", "f16", 75, "f8E4M3FNUZ", 224)]:
    x, s = rows(dtype, 5, n), f32(positive(1) / 64)
    compare("quant", name, [x, s], codes(x, s, kind, largest), exact=True)
x, bound = rows("bf16", 5, 4096), np.array([2.0])
amax = np.clip(np.abs(x).max(-1, keepdims=True), f32(1e-12), bound)
s = f32(amax / 448)
compare("quant", "token_upper_bound", [x, bound], [codes(x, s, "f8E4M3FN"), s], exact=True)
x, xs = rows("f16", 5, 400), normal("f32", 400)
m = f32(x * xs)
s = f32(f32(np.abs(m).max(-1, keepdims=True) / 127) + f32(1e-12))
compare("quant", "token_smooth_additive", [x, xs], [codes(m, s, "i8"), s], exact=True)
x = rows("bf16", 5, 96)
_, s = quantised(x, "i8")
compare("quant", "token_int8_truncated", [x], [np.trunc(f32(x / s)), s], exact=True)
x, xs = rows("f16", 5, 50), normal("f32", 50)
m = f32(x * xs)
s = f32(f32(np.abs(m).max(-1, keepdims=True) / 127) + f32(1e-12))
ratio = np.clip(f32(m / s), -127, 127)
compare("quant", "token_smooth_half_away", [x, xs], [np.trunc(ratio + np.sign(ratio) / 2), s], exact=True)
for name, dtype, kind in [("fp8", "bf16", "f8E4M3FN"), ("int8", "f32", "i8")]:
    x = rows(dtype, 5, 400)
    q, s = quantised(x.reshape(1, -1), kind)
    compare("quant_per_tensor", name, [x], [q.reshape(5, 400), s], exact=True)
    x = np.zeros((3, 400))
    compare("quant_per_tensor", name, [x], [x, np.ones((1, 1))], exact=True)

# fused_fp8_quant: groups of 128 whose amax is at least 1e-10.
def groups(x, kind="f8E4M3FN", **options):
    return quantised(x, kind, 128, 1e-10, **options)


x, r, w = rows("bf16", 3, 7168), normal("bf16", 3, 7168), normal("bf16", 7168)
s = f32(x + r)
compare("fused_fp8_quant", "group_7168", [x, r, w], groups(rms(s, w)) + [to("bf16", s)])
x, r, w = rows("bf16", 4, 1536), normal("bf16", 4, 1536), normal("bf16", 1536)
s = to("bf16", x + r)
y = to("bf16", rms(s, w))
compare("fused_fp8_quant", "rounded_group_ue8m0", [x, r, w], groups(y, power_of_two=True) + [s, y])
x, k, w, v = rows("f16", 4, 1536), rows("f16", 4, 512), normal("f16", 1536), normal("f16", 512)
compare("fused_fp8_quant", "two_inputs", [x, k, w, v], groups(rms(x, w)) + [rms(k, v, 1e-5)[:, None]])
x, w = rows("bf16", 4, 512), normal("bf16", 512)
compare("fused_fp8_quant", "per_token", [x, w], quantised(rms(x, w), "f8E4M3FN"))
bound = np.array([1.5])
s = f32(np.clip(np.abs(rms(x, w)).max(-1, keepdims=True), 1e-12, bound) / 127)
compare("fused_fp8_quant", "upper_bound", [x, w, bound], [codes(rms(x, w), s, "i8"), s])
x, r, w, xs = rows("bf16", 4, 4096), normal("bf16", 4, 4096), normal("bf16", 4096), positive(4096)
s = to("bf16", x + r)
compare("fused_fp8_quant", "per_token_smooth_int8", [x, r, w, xs], quantised(rms(s, w) * xs, "i8") + [s])
x, w, s = rows("bf16", 4, 2880), normal("bf16", 2880), f32(positive(1) / 64)
compare("fused_fp8_quant", "per_tensor_fnuz", [x, w, s], codes(to("bf16", rms(x, w)), s, "f8E4M3FNUZ"))
x, z, w = rows("bf16", 4, 8, 128), normal("bf16", 4, 8, 128, scale=4.0), normal("bf16", 128)
compare("fused_fp8_quant", "gated", [x, z, w], groups((rms(x, w) * silu(z)).reshape(4, 1024)))
x = rows("bf16", 4, 2816)
g, u = halves(x)
compare("fused_fp8_quant", "silu_mul_group", [x], groups(silu(g) * u))
x, w = rows("bf16", 4, 1536), normal("bf16", 1536)
q, s = groups(rms(x, w))
compare("fused_fp8_quant", "transposed_scales", [x, w], [q, s.T, rms(x, w)])
x, w = rows("f16", 4, 200), normal("f16", 200)
compare("fused_fp8_quant", "tail_200", [x, w], groups(rms(x, w)))
x = rows("bf16", 4, 3, 200)
q, s = groups(x, "f8E4M3FNUZ")
compare("fused_fp8_quant", "flattened", [x], [q.reshape(4, 600), s.reshape(4, 6)], exact=True)
p = normal("f32", 4, 3, 1024)
g, u = halves(p.sum(0))
compare("fused_fp8_quant", "slices_act_mul", [p], groups(silu(g) * u))
p, w, v = normal("f32", 14, 3, 2112), normal("bf16", 1536), normal("bf16", 512)
x = to("bf16", p.sum(0))
compare("fused_fp8_quant", "slices_norm", [p, w, v],
        groups(rms(x[:, :1536], w)) + [rms(x[:, 1536:2048], v), x[:, 2048:]])
x, s = rows("bf16", 4, 1408), f32(positive(1) / 64)
g, u = halves(x)
compare("fused_fp8_quant", "silu_mul_static", [x, s], codes(silu(g) * u, s, "f8E4M3FNUZ"))

# fused_mxfp4_quant.
for name, dtype, n in [("norm_256", "bf16", 256), ("norm_200", "f16", 200)]:
    x, w = rows(dtype, 5, n), normal(dtype, n)
    compare("fused_mxfp4_quant", name, [x, w], mxfp4(rms(x, w)))
x, r, w = rows("bf16", 3, 7168), rows("bf16", 3, 7168), normal("bf16", 7168)
s = f32(x + r)
compare("fused_mxfp4_quant", "add_norm_7168", [x, r, w], mxfp4(rms(s, w)) + [rms(s, w), to("bf16", s)])
for name, dtype, n, rule in [("quant_4", "bf16", 4, even), ("quant_40", "f16", 40, even),
                             ("quant_68", "bf16", 68, even), ("quant_28", "f32", 28, up),
                             ("quant_1024", "f32", 1024, down)]:
    x = rows(dtype, 6, n)
    compare("fused_mxfp4_quant", name, [x], mx(x, "f4E2M1FN", rule("f4E2M1FN")), exact=True)
# Every boundary: ties of elements (an amax of 4 makes the scale 1), the mantissa of amax
# from which its exponent counts one more, signed zeros, and the smallest numbers.
ties = np.array([4, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, -0.25, -0.75, -1.25, -1.75, -2.5, -3.5, -0.1, -0.0, 0.2500001])
x = to("f16", [padded(ties * factor, 40) for factor in (1, 1.75, 1.7490234375, 2.0**-24)])
compare("fused_mxfp4_quant", "quant_40", [x], mxfp4(x), exact=True)
for name, dtype, n, formula in [("silu_mul_704", "bf16", 704, lambda g, u: silu(g) * u),
                                ("gelu_tanh_mul_40", "f16", 40, lambda g, u: gelu_tanh(g) * u),
                                ("swiglu_oai_mul_2880", "bf16", 2880, swiglu_oai)]:
    x = rows(dtype, 5, 2 * n)
    compare("fused_mxfp4_quant", name, [x], mxfp4(formula(*halves(x))))
x, k, w, v = rows("bf16", 4, 1536), rows("bf16", 4, 512), normal("bf16", 1536), normal("bf16", 512)
compare("fused_mxfp4_quant", "second_norm", [x, k, w, v], mxfp4(rms(x, w)) + [rms(k, v, 1e-5)[:, None]])
x = rows("bf16", 4, 5, 72)
q, s = mxfp4(x)
compare("fused_mxfp4_quant", "flattened", [x], [q.reshape(4, 360), s.reshape(4, 15)], exact=True)
p = normal("f32", 4, 3, 512)
g, u = halves(p.sum(0))
compare("fused_mxfp4_quant", "slices_act_mul", [p], mxfp4(silu(g) * u))
x = rows("f16", 4, 704)
q, s = mx(x, "f4E2M1FN", up("f4E2M1FN"))
compare("fused_mxfp4_quant", "transposed_scales", [x], [q, s.T], exact=True)
p, w, v = normal("f32", 3, 4, 192), normal("bf16", 96), normal("bf16", 64)
x = to("bf16", f32(f32(p[0] + p[1]) + p[2]))
compare("fused_mxfp4_quant", "slices_norm", [p, w, v], mxfp4(rms(x[:, :96], w)) + [rms(x[:, 96:160], v), x[:, 160:]])
x = normal("bf16", 2, 32, 1024)
g, u = halves(x)
q, s = mxfp4(silu(g) * u)
compare("fused_mxfp4_quant", "shuffled_scales", [x], [q, shuffled(s.reshape(64, 16)).reshape(2, 512)])
x = normal("bf16", 2, 32, 160)
q, s = mx(x, "f4E2M1FN", ocp("f4E2M1FN"))
s = shuffled(padded(s.reshape(64, 5), 8, 1.0))
compare("fused_mxfp4_quant", "shuffled_padded_scales", [x], [q, s.reshape(2, 256)], exact=True)

# quant_moe.
for name, dtype, shape, kind, rule in [
        ("fp4_up", "bf16", (5, 2880), "f4E2M1FN", up), ("fp4_up_3d", "f32", (5, 3, 70), "f4E2M1FN", up),
        ("e4m3_up", "bf16", (5, 704), "f8E4M3FN", up), ("e5m2_up", "f16", (5, 200), "f8E5M2", up),
        ("fp4_down", "f16", (5, 200), "f4E2M1FN", down), ("e4m3_down", "f32", (5, 33), "f8E4M3FN", down),
        ("e5m2_down", "bf16", (5, 2, 64), "f8E5M2", down), ("e5m2_even", "f32", (5, 129), "f8E5M2", even),
        ("fp4_ocp", "bf16", (5, 70), "f4E2M1FN", ocp), ("e5m2_ocp", "f32", (5, 33), "f8E5M2", ocp)]:
    x = rows(dtype, *shape)
    compare("quant_moe", name, [x], mx(x, kind, rule(kind)), exact=True)
x = rows("f16", 5, 64)
compare("quant_moe", "e4m3_ocp_ceil", [x], mx(x, "f8E4M3FN", lambda a: np.ceil(np.log2(a)) - 8), exact=True)
x = rows("bf16", 5, 96, 40)
compare("quant_moe", "fp4_up_axis_1", [x], mx(x.swapaxes(1, 2), "f4E2M1FN", up("f4E2M1FN")), exact=True)
x = rows("f16", 5, 50, 24)
compare("quant_moe", "e4m3_down_axis_1", [x], mx(x.swapaxes(1, 2), "f8E4M3FN", down("f8E4M3FN")), exact=True)
for name, kind, shape, out in [
        ("fp4_to_bf16", "f4E2M1FN", (5, 2880), "bf16"), ("fp4_to_f16", "f4E2M1FN", (5, 3, 70), "f16"),
        ("e4m3_to_bf16", "f8E4M3FN", (5, 33), "bf16"), ("e5m2_to_f16", "f8E5M2", (5, 200), "f16")]:
    x, n = normal(kind, *shape, scale=3.0), shape[-1]
    s = 2.0 ** rng.integers(-20, 10, shape[:-1] + (-(-n // 32),))
    s[0, ..., 0] = np.nan
    compare("quant_moe", name, [x, s], to(out, x * np.repeat(s, 32, -1)[..., :n]), exact=True)
x, s = normal("f4E2M1FN", 5, 40, 96, scale=3.0), 2.0 ** rng.integers(-20, 10, (5, 40, 3))
compare("quant_moe", "fp4_to_bf16_axis_1", [x, s], (x * np.repeat(s, 32, -1)).swapaxes(1, 2), exact=True)
for name, dtype, shape, kind in [("static_e4m3", "bf16", (5, 1024), "f8E4M3FN"),
                                 ("static_fnuz_experts", "f32", (5, 7, 50), "f8E4M3FNUZ"),
                                 ("static_e4m3_f16", "f16", (5, 75), "f8E4M3FN")]:
    x, s = rows(dtype, *shape), f32(positive(1) / 64)
    compare("quant_moe", name, [x, s], codes(x, s, kind), exact=True)
x, xs, expert = rows("bf16", 6, 200), positive(4, 200), np.array([2, 0, 3, 3, 1, 0], np.int32)
compare("quant_moe", "smooth_of_expert", [x, xs, expert], quantised(f32(x * xs[expert]), "i8"), exact=True)


# quant_moe_sorted.
x = normal("bf16", 6, 320)  # two copies of every token; copy 12 is padding
order = rng.permutation(np.concatenate([np.arange(12), np.full(52, 12)])).reshape(2, 32).astype(np.int32)
q, s = mxfp4(x)
in_order = np.full((64, 16), 2.0**-127)
for place, copy in enumerate(order.reshape(-1)):
    if copy < 12:
        in_order[place, :10] = s[copy // 2]
compare("quant_moe_sorted", "stage_1", [x, order], [q, shuffled(in_order).reshape(2, 512)], exact=True)
x = normal("bf16", 12, 512)  # a row per copy
g, u = halves(x)
q, s = mxfp4(silu(g) * u)
in_order = np.full((64, 8), 2.0**-127)
for place, copy in enumerate(order.reshape(-1)):
    if copy < 12:
        in_order[place] = s[copy]
compare("quant_moe_sorted", "stage_2", [x, order], [q, in_order.reshape(2, 32, 8)])
place = np.full(64, -1, np.int32)  # 41 tokens in two tiles of 32
place[:41] = np.arange(41)
x = normal("bf16", 41, 320)
q, s = mxfp4(x)
in_order = np.ones((64, 16))
in_order[:41, :10] = s
compare("quant_moe_sorted", "padded_rows", [x, place.reshape(2, 32)], [q, shuffled(in_order).reshape(2, 512)],
        exact=True)


# reencode: the same bits in the other flavour, half or twice the value. FN's -0 is 0
# there; 240 of FNUZ would be 480, more than FN has.
x = normal("f8E4M3FN", 4, 200, scale=100.0)
x[0, :4] = [np.nan, -0.0, 448, -2.0**-9]
compare("reencode", "to_fnuz", [x], x / 2, exact=True)
x = normal("f8E4M3FNUZ", 4, 200, scale=60.0)
x[0, :4] = [np.nan, 240, -224, 2.0**-10]
compare("reencode", "to_fn", [x], np.clip(x * 2, -448, 448), exact=True)
x, w, xs, ws = normal("f8E4M3FNUZ", 3, 128), normal("f8E4M3FN", 64, 128), positive(3, 1), positive(64, 1)
compare("reencode", "product", [x, w, xs, ws], x @ w.T * xs * ws.T)

finish("quant", "quant_per_tensor", "fused_fp8_quant", "fused_mxfp4_quant", "quant_moe", "quant_moe_sorted", "reencode")
