"""The variants that docs/variants.md lists, as far as modules_*.py do not have them:
graphs of test/Modules, evaluated by the interpreter and compared with NumPy formulas
written from what the variant is, not from its graph."""

import math

import numpy as np

from formulas import at, best, compare, rms, sigmoid, silu
from oracle import f32, finish, to

rng = np.random.default_rng(31)


def normal(dtype, *shape, scale=1.0):
    return to(dtype, rng.normal(size=shape) * scale)


def ints(low, high, *shape, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def per_row(x, largest, kind, floor=0.0):
    """Scale and codes of rows, or of whatever lies along the last axis."""
    s = f32(np.maximum(np.abs(x).max(-1, keepdims=True), f32(floor)) / f32(largest))
    s = np.where(s == 0, 1, s)
    ratio = np.clip(f32(x / s), -largest, largest)
    return (np.rint(ratio) if kind == "i8" else to(kind, ratio)), s


# Norms.
compare("rmsnorm", "zero_rows_2880", [normal("bf16", 3, 2880), normal("bf16", 2880)], np.zeros((3, 2880)))
x = normal("bf16", 4, 409)
compare("rmsnorm", "no_weight_409", [x], rms(x, 1))
x, w = normal("f16", 3, 5, 64), normal("f16", 64)
compare("rmsnorm", "heads_64", [x, w], rms(x, w))

# The gradient of the norm is that of sum(dy * norm(s)) by finite differences.
x, w, dy, ds = normal("f32", 3, 173), normal("f32", 173), normal("f32", 3, 173), normal("f32", 3, 173)
r = f32(1 / np.sqrt((x * x).mean(-1, keepdims=True)))
slope = np.empty_like(x)
for i in range(173):
    step = np.zeros(173)
    step[i] = 1e-6
    slope[:, i] = ((rms(x + step, w, 0) - rms(x - step, w, 0)) * dy).sum(-1) / 2e-6
g = dy * w
dx = r * (g - x * r * r * (g * x).mean(-1, keepdims=True)) + ds
assert np.abs(slope + ds - dx).max() < 1e-4, "the formula is not the gradient"
compare("rmsnorm_backward", "add_f32_173", [x, w, r, dy, ds], [dx, (dy * x * r).sum(0)[:, None]])

x, r, w, b = normal("f16", 4, 359), normal("f16", 4, 359), normal("f16", 359), normal("f16", 359)
s = to("f16", x + r)
m = s.mean(-1, keepdims=True)
q = 1 / np.sqrt(((s - m) ** 2).mean(-1, keepdims=True) + 1e-5)
compare("layernorm", "add_training_359", [x, r, w, b], [(s - m) * q * w + b, s, m, q])

x, r, w = normal("bf16", 4, 700), normal("bf16", 4, 960), normal("bf16", 320)
s = f32(x[:, 17:337] + r[:, 2::3])
compare("fused_add_rmsnorm_pad", "add_strided_320", [x, r, w], [np.pad(rms(s, w), ((0, 0), (0, 192))), to("bf16", s)])

# Activations.
x, bias, expert = normal("bf16", 7, 90), normal("f32", 4, 90), np.array([0, 3, -1, 2, 4, 1, 1], np.int32)
erf = np.vectorize(math.erf)
s = x + bias[np.clip(expert, 0, 3)]
y = s[:, :45] * (1 + erf(s[:, :45] / np.sqrt(2))) / 2 * s[:, 45:]
compare("activation", "bias_f32_gelu", [x, bias, expert], np.where(((expert >= 0) & (expert < 4))[:, None], y, 0))
x = normal("f32", 7, 90, scale=3.0)
g, u = np.minimum(x[:, :45], 2.5), np.clip(x[:, 45:], -2.5, 2.5)
compare("activation", "gelu_and_mul_limit", [x], g * (1 + erf(g / np.sqrt(2))) / 2 * u)
x, scale = normal("bf16", 7, 90, scale=40.0), np.array([f32(0.7)])
compare("activation", "scaled_silu_and_mul_inverse", [x, scale],
        to("f8E4M3FN", np.clip(f32(f32(silu(x[:, :45]) * x[:, 45:]) * f32(1 / scale)), -448, 448)))

# In place.
x, r, w = normal("bf16", 1, 6, 1, 640), normal("bf16", 1, 6, 1, 640), normal("bf16", 640)
s = to("bf16", x + r)
compare("in_place", "add_norm_640", [x, r, w, np.arange(6, dtype=np.int32)], [rms(s, w), s])
x, b, a = normal("f16", 1, 6, 1, 500), normal("f16", 6, 1, 500), np.array([f32(-1.7)])
compare("in_place", "mul_add_500", [x, b, a, np.arange(6, dtype=np.int32)], to("f16", f32(f32(a * x) + b)), exact=True)


# Rotations.
def rotated(x, c, s, neox, own=False, nope_first=False, inverse=False):
    """x [tokens..., heads, D]; c, s [tokens..., R] with an angle per element or
    [tokens..., R / 2] with one per pair, of which the rest of D is not rotated. The
    pair (a, b) is the matrix [[ca, -sa], [sb, cb]], its gradient the transpose."""
    x = x.copy()
    R = c.shape[-1] * (1 if own else 2)
    part = x[..., x.shape[-1] - R :] if nope_first else x[..., :R]
    first = np.arange(R // 2) if neox else np.arange(0, R, 2)
    second = first + (R // 2 if neox else 1)
    c, s = c[..., None, :], s[..., None, :]
    ca, sa, cb, sb = (c[..., first], s[..., first], c[..., second], s[..., second]) if own else (c, s, c, s)
    a, b = part[..., first].copy(), part[..., second].copy()
    part[..., first] = ca * a + sb * b if inverse else ca * a - sa * b
    part[..., second] = cb * b - sa * a if inverse else sb * a + cb * b
    return x


T = 9
pos = rng.permutation(64)[:T].astype(np.int32)
for module, function, style, own, nope, inverse, heads, d, n, kinds in (
        ("rope", "neox_own_angles_partial", True, True, False, False, 3, 96, 40, ("bf16", "bf16")),
        ("rope", "neox_own_angles_nope_first", True, True, True, False, 2, 64, 32, ("bf16", "f32")),
        ("rope", "neox_nope_first", True, False, True, False, 2, 64, 16, ("bf16", "bf16")),
        ("rope", "gptj_own_angles_partial", False, True, False, False, 2, 64, 32, ("f16", "f16")),
        ("rope", "gptj_own_angles_nope_first", False, True, True, False, 2, 96, 24, ("bf16", "f32")),
        ("rope", "gptj_nope_first_own_angles_inverse", False, True, True, True, 3, 40, 16, ("bf16", "bf16")),
        ("rope", "neox_32_of_80", True, False, False, False, 4, 80, 16, ("bf16", "bf16")),
        ("rope", "neox_64_of_256", True, False, False, False, 2, 256, 32, ("bf16", "bf16")),
        ("rope", "gptj_64_of_128", False, False, False, False, 2, 128, 32, ("bf16", "f32")),
        ("rope", "neox_192", True, False, False, False, 2, 192, 96, ("f16", "f32"))):
    x, cos, sin = normal(kinds[0], T, heads, d), normal(kinds[1], 64, n), normal(kinds[1], 64, n)
    p = pos.astype(np.int64) if function == "gptj_own_angles_partial" else pos
    compare(module, function, [x, cos, sin, p], rotated(x, cos[pos], sin[pos], style, own, nope, inverse))

x, freqs = normal("bf16", T, 2, 4, 64), normal("f32", 64, 32, scale=9.0)
a = np.repeat(freqs[:T, None], 2, 1)
compare("rope", "neox_from_angles_inverse", [x, freqs], rotated(x, np.cos(a), np.sin(a), True, inverse=True))
compare("rope", "gptj_from_angles_inverse", [x, freqs], rotated(x, np.cos(a), np.sin(a), False, inverse=True))
x, freqs = normal("bf16", T, 2, 3, 48), normal("bf16", 64, 12)
a = np.repeat(freqs[:T, None], 2, 1)
compare("rope", "gptj_from_angles_nope_first", [x, freqs], rotated(x, np.cos(a), np.sin(a), False, nope_first=True))

bounds = np.array([0, 0, 3, 4, 20, 26], np.int32)  # of 30 tokens; an empty sequence, one of one token
x, freqs = normal("bf16", 30, 2, 64), normal("f32", 64, 64)
place = np.array([t - bounds[bounds <= t].max() for t in range(26)])
y = x.copy()
y[:26] = rotated(x[:26], np.cos(freqs[place]), np.sin(freqs[place]), False, own=True)
compare("rope", "ragged_many", [x, freqs, bounds], y)

x, cos, sin = normal("bf16", T, 4, 64), normal("bf16", 64, 32), normal("bf16", 64, 32)
c, s = cos[pos][:, None], sin[pos][:, None]
a, b = x[..., :32], x[..., 32:]


def half(v):
    return to("bf16", v)


compare("rope", "bf16_arithmetic", [x, cos, sin, pos],
        np.concatenate([half(half(a * c) - half(b * s)), half(half(b * c) + half(a * s))], -1), exact=True)

x = normal("bf16", 2, 24, 3, 48)  # 4 rows of 6
tables = [normal("bf16", n, 24) for n in (4, 4, 6, 6)]
y = x.copy()
row, column = np.arange(24) // 6, np.arange(24) % 6
y[..., :24] = rotated(x[..., :24], tables[0][row], tables[1][row], True, own=True)
y[..., 24:] = rotated(x[..., 24:], tables[2][column], tables[3][column], True, own=True)
compare("rope", "image_bf16_4_6", [x, *tables], y)

x, cos, sin = normal("f32", 40, 40, 128), normal("f32", 1024, 64), normal("f32", 1024, 64)
token, grid = np.arange(40, dtype=np.int32), np.repeat(np.array([[3], [3], [4]], np.int32), 40, 1)
y = x.copy()  # 36 tokens; the last four are behind the video
where = np.stack(np.unravel_index(np.arange(36), (3, 3, 4)), -1)


def angle(table):
    return np.concatenate([table[where[:, 0], :22], table[where[:, 1], 22:43], table[where[:, 2], 43:]], -1)


y[:36] = rotated(x[:36], angle(cos), angle(sin), False)
compare("rope_image", "video_tokens", [x, cos, sin, token, grid], y)

# Caches.
q, k, v = normal("bf16", T, 4, 128), normal("bf16", T, 2, 128), normal("bf16", T, 2, 128)
cos, sin, slots = normal("bf16", 64, 64), normal("bf16", 64, 64), rng.permutation(64)[:T]
slots[3] = -1
kscale, vscale = np.array([f32(0.3)]), np.array([f32(0.2)])
kc, vc = np.zeros((2, 2, 8, 32, 16)), np.zeros((2, 2, 2, 128, 16))
qr, kr = (rotated(y, cos[pos], sin[pos], True) for y in (q, k))
for t, slot in enumerate(slots):
    if slot >= 0:
        block, place = divmod(slot, 32)
        kc[block, :, :, place] = to("f8E4M3FN", f32(kr[t] / kscale)).reshape(2, 8, 16)
        vc[block, :, place // 16, :, place % 16] = to("f8E4M3FN", f32(v[t] / vscale))
compare("fused_kv_cache", "fp8_shuffled_values",
        [q, k, v, cos, sin, pos, kscale, vscale, slots, np.zeros(kc.shape), np.zeros(vc.shape)], [qr, kr, kc, vc])

q, k, v = normal("bf16", 4, 8, 64), normal("bf16", 7, 2, 64), normal("bf16", 7, 2, 64)
cos, sin, slots = normal("f32", 64, 32), normal("f32", 64, 32), rng.permutation(64)[:7].astype(np.int32)
qpos, kpos = pos[:4], np.concatenate([pos[:4], [-1, -1, -1]]).astype(np.int32)
kr = np.concatenate([rotated(k[:4], cos[qpos], sin[qpos], True), k[4:]])
kc, vc = np.zeros((64, 2, 64)), np.zeros((64, 2, 64))
kc[slots], vc[slots] = kr, v
empty = np.zeros((4, 16, 2, 64))
compare("fused_kv_cache_tail", "more_keys_than_queries", [q, k, v, cos, sin, qpos, kpos, slots, empty, empty],
        [rotated(q, cos[qpos], sin[qpos], True), kr, kc.reshape(4, 16, 2, 64), vc.reshape(4, 16, 2, 64)])

q, qp, k, kp = (normal("bf16", 6, h, d) for h, d in ((16, 512), (16, 64), (1, 512), (1, 64)))
cos, sin, slots = normal("bf16", 64, 32), normal("bf16", 64, 32), rng.permutation(64)[:6].astype(np.int32)
qr, kr = rotated(qp, cos[pos[:6]], sin[pos[:6]], False), rotated(kp, cos[pos[:6]], sin[pos[:6]], False)
cache = np.zeros((64, 1, 576))
cache[slots] = to("bf16", np.concatenate([k, kr], -1))
compare("fused_kv_cache_tail", "first_tokens_decoded",
        [q, qp, k, kp, cos, sin, pos[:6], slots, np.zeros(2, np.int32), np.zeros((4, 16, 1, 576))],
        [np.concatenate([q, qr], -1), kr, qr[:2], np.zeros((2, 16, 512)), cache.reshape(4, 16, 1, 576)])


# Convolutions: state and sequence after each other, W at a time.
def convolved(old, x, w, b=0.0):
    """old [W - 1, C], x [L, C], w [C, W]."""
    inputs, width = np.concatenate([old, x]), w.shape[1]
    return np.array([(inputs[t : t + width].T * w).sum(-1) + b for t in range(len(x))]).reshape(x.shape)


x, w, s = normal("bf16", 3, 2, 70), normal("f32", 70, 4), normal("bf16", 3, 3, 70)
compare("causal_conv1d", "states_of_2_tokens", [x, w, s],
        [silu(np.stack([convolved(s[i], x[i], w) for i in range(3)])), np.concatenate([s[:, 2:], x], 1)])
x, w, b, s = normal("f32", 3, 30, 5), normal("f32", 30, 3), normal("f32", 30), normal("f32", 3, 30, 2)
compare("causal_conv1d", "states_channel_first", [x, w, b, s],
        [np.stack([convolved(s[i].T, x[i].T, w, b).T for i in range(3)]), x[..., 3:]])
x, w, s, first = normal("f16", 3, 2, 64), normal("f16", 64, 4), normal("f16", 3, 3, 64), np.array([False, True, False])
old = np.where(first[:, None, None], s, 0)
compare("causal_conv1d", "final_states_only", [x, w, s, first],
        [np.stack([convolved(old[i], x[i], w) for i in range(3)]), np.concatenate([old[:, 2:], x], 1)])

cu = np.array([0, 5, 5, 6, 14], np.int32)
x, w, b = normal("bf16", 14, 70), normal("f32", 70, 4), normal("f32", 70)
y = np.concatenate([convolved(np.zeros((3, 70)), x[i:j], w, b) for i, j in zip(cu, cu[1:])])
compare("causal_conv1d_varlen", "no_states", [x, w, b, cu], silu(y))

x, w, b, s = normal("f16", 3, 8, 130), normal("f32", 130, 3), normal("f32", 130), normal("f16", 8, 2, 130)
lines = np.array([5, -1, 2], np.int32)
y, after = np.zeros((3, 8, 130)), s.copy()
for i, line in enumerate(lines):
    if line >= 0:
        y[i], after[line] = silu(convolved(s[line], x[i], w, b)), x[i, 6:]
compare("causal_conv1d_split_qkv", "eight_tokens", [x, w, b, s, lines], [*np.split(y, [33, 66], -1), after])

cu, computed = np.array([0, 20, 23, 23], np.int32), np.array([0, 21, 4], np.int32)
x, w, s = normal("f16", 23, 96), normal("f16", 96, 4), normal("f16", 50, 3, 96)
table = rng.permutation(50)[:18].astype(np.int32).reshape(3, 6)
y, after = np.zeros((23, 96)), s.copy()
for i in range(3):
    own = x[cu[i] : cu[i + 1]]
    old = s[table[i, (computed[i] - 1) // 16]] if computed[i] else np.zeros((3, 96))
    y[cu[i] : cu[i + 1]] = silu(convolved(old, own, w))
    inputs = np.concatenate([old, own])
    for t in range(len(own)):  # the last token of a block leaves its state
        after[table[i, (computed[i] + t) // 16]] = inputs[t + 1 : t + 4]
compare("causal_conv1d_fwd_split_qkv", "blocks_16", [x, w, cu, s, table, computed],
        [*np.split(y, [24, 48], -1), after])

qkvz, ba, s = normal("bf16", 5, 384), normal("bf16", 5, 8), normal("bf16", 8, 3, 256)
w, b = normal("bf16", 256, 4), normal("bf16", 256)
lines = np.array([3, -1, 0, 7, 9], np.int32)
y, after = np.zeros((5, 1, 256)), s.copy()
for i, line in enumerate(lines):
    if 0 <= line < 8:
        y[i] = silu(convolved(s[line], qkvz[i : i + 1, :256], w, b))
        after[line] = np.concatenate([s[line, 1:], qkvz[i : i + 1, :256]])
compare("causal_conv1d_reshape", "single_token_flat", [qkvz, ba, w, b, s, lines],
        [y, qkvz[:, 256:].reshape(5, 4, 32), ba[:, :4], ba[:, 4:], after])

# Quantisation.
x = normal("bf16", 5, 4096)
x[1] *= 2.0**-20  # below the floor
compare("quant", "token_fnuz_224", [x], per_row(x, 224, "f8E4M3FNUZ", floor=224 / (224 * 512)), exact=True)
x = normal("bf16", 5, 400)
x[1] = 0
s = f32(np.abs(x).max(-1, keepdims=True) * f32(1 / 448))
s[1] = 1
compare("quant", "token_fp8_by_reciprocal", [x],
        [to("f8E4M3FN", np.clip(f32(x * f32(1 / s)), -448, 448)), s], exact=True)
x = normal("bf16", 3, 1024)
x[1, 128:256] = 0
g = x.reshape(3, 8, 128)
s = f32(np.maximum(np.abs(g).max(-1, keepdims=True), f32(1e-10)) * f32(1 / 448))
compare("quant", "group_fp8_by_reciprocal", [x],
        [to("f8E4M3FN", np.clip(f32(g * f32(1 / s)), -448, 448)).reshape(x.shape), s[..., 0]], exact=True)
x, s = normal("f32", 5, 75, scale=300.0), np.array([f32(1.3)])
compare("quant", "static_int8_truncated", [x, s], np.clip(np.trunc(f32(x / s)), -128, 127), exact=True)
x = normal("f16", 4, 384)
codes, s = per_row(x.reshape(4, 3, 128), 224, "f8E4M3FNUZ", floor=1 / 512)
compare("quant", "group_fnuz_224", [x], [codes.reshape(4, 384), s[..., 0].T], exact=True)
x = normal("bf16", 3, 130)
compare("quant", "zero_rows", [x],
        [0 * x, np.ones((3, 1)), 0 * x, np.full((3, 2), f32(f32(1e-10) / 448))], exact=True)

x, w, xs, bound = normal("f16", 4, 512), normal("f16", 512), f32(np.exp(rng.normal(size=512))), np.array([f32(2.5)])
m = rms(x, w) * xs
s = f32(np.minimum(np.abs(m).max(-1, keepdims=True), bound) / 127)
compare("fused_fp8_quant", "smooth_upper_bound", [x, w, xs, bound], [np.clip(np.rint(m / s), -127, 127), s])
x, z, w = normal("bf16", 4, 3, 128), normal("bf16", 4, 3, 128), normal("f32", 128)
x[2] = 0
y = rms(x, w) * silu(z)
s = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(y).max(-1, keepdims=True), 1 / 512) / 448))
compare("fused_fp8_quant", "gated_ue8m0", [x, z, w], [to("f8E4M3FN", y / s).reshape(4, 384), s[..., 0]])
x, r, w = normal("bf16", 4, 128), normal("bf16", 4, 128), normal("bf16", 128)
k, v = normal("bf16", 4, 7168), normal("bf16", 7168)
y = rms(f32(x + r), w)
codes, s = per_row(y, 448, "f8E4M3FN", floor=1e-10)
compare("fused_fp8_quant", "add_two_inputs_and_norm", [x, k, r, w, v],
        [codes, s.T, y, to("bf16", x + r), rms(k, v, 1e-5)[:, None]])


def mx_scales(x, exponent):
    """Scales of blocks of 32; exponent(amax) is that of the scale."""
    amax = np.abs(x.reshape(x.shape[:-1] + (-1, 32))).max(-1)
    with np.errstate(divide="ignore"):
        return 2.0 ** np.where(amax == 0, -127, np.clip(exponent(amax), -127, 127))


def even(amax):
    e = np.floor(np.log2(amax))
    return e + (amax / 2.0**e >= 1.75) - 2


def ceil(amax):
    return np.ceil(np.log2(f32(amax / 6)))


x = normal("bf16", 5, 320)
x[1, 32:64] = 0
x[2, :32] = 2.0**-40
scales = mx_scales(np.maximum(np.abs(x), f32(1e-10)), ceil)
assert scales[1, 1] == 2.0 ** (92 - 127)
compare("fused_mxfp4_quant", "ceil_with_floor", [x],
        [to("f4E2M1FN", x / np.repeat(scales, 32, -1)), scales], exact=True)
x = normal("bf16", 1, 256, 4096)
scales = mx_scales(x[0, :, :2048], even)
places = np.empty(256 * 64)
for r in range(256):
    for c in range(64):
        tile = r // 32 * 32 * 64 + c // 8 * 256
        places[tile + c % 4 * 64 + r % 16 * 4 + c % 8 // 4 * 2 + r % 32 // 16] = scales[r, c]
compare("fused_mxfp4_quant", "all_shuffled_tiles", [x],
        [to("f4E2M1FN", x[..., :2048] / np.repeat(scales, 32, -1)), places[None]], exact=True)

VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
x = rng.choice(np.arange(-24, 25) / 4, (5, 320))  # quarters up to 6: every tie occurs
x[:, ::32] = 6
x *= 2.0 ** rng.integers(-9, 9, (5, 10)).repeat(32, -1)
scales = mx_scales(x, ceil)
y = x / np.repeat(scales, 32, -1)
near = np.abs(np.abs(y)[..., None] - VALUES)
codes = VALUES[near.shape[-1] - 1 - near[..., ::-1].argmin(-1)] * np.sign(y)
assert (codes != to("f4E2M1FN", y)).any(), "no tie among the data"
compare("quant_moe", "fp4_up_ties_away", [x], [codes, scales], exact=True)
x, xs, expert = normal("f16", 6, 50), f32(np.exp(rng.normal(size=(4, 50)))), ints(0, 4, 6)
m = f32(x * xs[expert])
s = f32(f32(np.abs(m).max(-1, keepdims=True) / 127) + f32(1e-12))
ratio = np.clip(f32(m / s), -127, 127)
compare("quant_moe", "smooth_of_expert_half_away", [x, xs, expert],
        [np.trunc(ratio + np.sign(ratio) / 2), s], exact=True)

# Scans and indices.
g = normal("f32", 5, 3, 130)
sums = np.concatenate([part[..., ::-1].cumsum(-1)[..., ::-1] for part in np.split(g, [64, 128], -1)], -1)
compare("cumsum", "head_first_reverse", [g], sums * f32(1.44269502))
g = normal("f16", 2, 3, 130, 5)
sums = np.concatenate([part[:, :, ::-1].cumsum(2)[:, :, ::-1] for part in np.split(g, [64, 128], 2)], 2)
compare("cumsum", "vector_head_first_reverse", [g], sums * f32(1.44269502))

cu = np.array([0, 0, 70, 134, 135, 200], np.int32)
compare("index", "lens_dynamic", [cu], np.diff(cu), exact=True)
lens = np.array([3 * 10**9, 0, 5])
compare("index", "bounds_from_lens_64", [lens], np.concatenate([[0], lens.cumsum()]), exact=True)
tokens = [(t, s) for s in range(5) for t in range(cu[s + 1] - cu[s])]
compare("index", "position_ids_64", [cu.astype(np.int64), normal("bf16", 200, 2)], list(np.array(tokens).T), exact=True)
lens = np.array([33, 0, 16, 1], np.int32)
chunks = [(s, c) for s in range(4) for c in range(-(-lens[s] // 16))]
size = -(-(50 + 4 * 15) // 16)
padded = np.array((chunks + [(-1, -1)] * size)[:size]).T
compare("index", "chunks_of_lens", [lens, normal("bf16", 50, 2)], [*padded, np.array([0, 3, 3, 4, 5])], exact=True)


# Selection and routing.


x = normal("f32", 4, 200)
compare("topk", "zeros_of_both_signs", [x], [np.zeros((4, 8)), np.tile(np.arange(8), (4, 1))], exact=True)

x, bias = normal("f32", 9, 64), normal("f32", 64)
ids = np.sort(best(sigmoid(x) + bias, 6, highest=True), -1)
compare("moe_topk", "sigmoid_scaled", [x, bias], [at(sigmoid(x), ids) * 2.5, ids])
x = normal("bf16", 9, 160)
p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
kept = np.repeat([[g in row for g in range(8)] for row in best(p.reshape(9, 8, 20).max(-1), 3)], 20, -1)
ids = best(np.where(kept, p, -np.inf), 6)
compare("moe_topk", "grouped_softmax", [x], [at(p, ids) * 16, ids])
x, bias, group = normal("f32", 9, 64), normal("f32", 64), rng.permutation(np.arange(64) % 4).astype(np.int32)
y = sigmoid(x) + bias
score = np.stack([np.sort(y[:, group == g], -1)[:, -2:].sum(-1) for g in range(4)], -1)
kept = np.array([[g in row for g in group] for row in best(score, 2)])
ids = best(np.where(kept, y, -np.inf), 4)
compare("moe_topk", "grouped_by_table_bias", [x, bias, group], [at(sigmoid(x), ids), ids])


def aligned(keys, bins, block):
    """Order, experts of the blocks and places in use of moe_align_block_size."""
    size, order, experts = len(keys) + bins * (block - 1), [], []
    for e in range(bins):
        own = list(np.flatnonzero(keys == e))
        blocks = -(-len(own) // block)
        order += own + [len(keys)] * (blocks * block - len(own))
        experts += [e] * blocks
    used, blocks = len(order), -(-size // block)
    order += [len(keys)] * (size - used)
    return np.array(order), np.array((experts + [-1] * blocks)[:blocks]), np.array([used])


ids = ints(0, 10, 11, 3)
compare("moe_align_block_size", "shared_experts", [ids], aligned(ids.reshape(-1), 10, 16), exact=True)
ids, own = ints(0, 16, 21, 2), np.full(16, -1, np.int32)
own[rng.choice(16, 8, replace=False)] = np.arange(8)
order, experts, used = aligned(ids.reshape(-1), 16, 16)
compare("moe_align_block_size", "map_of_blocks", [ids, own],
        [order, np.where(experts < 0, -1, own[experts]), used], exact=True)

x = normal("f16", 20, 128)
ids = np.sort(best(x, 6, highest=True), -1)
weights = np.exp(at(x, ids)) / np.exp(at(x, ids)).sum(-1, keepdims=True)
order = np.argsort(ids.reshape(-1), kind="stable")
hist = np.bincount(ids.reshape(-1), minlength=128)
tiles = [(i << 16) | e for e in range(128) for i in range(-(-hist[e] // 64))]
size = -(-(120 + 128 * 63) // 64)
compare("moe_routing", "e128_k6_block64", [x],
        [order, np.argsort(order), weights.reshape(-1)[order], hist, np.concatenate([[0], hist.cumsum()]),
         np.concatenate([[0], (-(-hist // 64)).cumsum()]), np.array((tiles + [-1] * size)[:size])])


# What is a combination of the variants above with operators that others have.
def gate(kind, x):
    g, u = np.split(x, 2, -1)
    tanh = np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g**3))
    return {"silu": silu(g), "gelu": g * (1 + erf(g / np.sqrt(2))) / 2, "gelu_tanh": g * (1 + tanh) / 2,
            "relu": np.maximum(g, 0)}[kind] * u


def groups(x, kind, size=128, floor=1e-10):
    """Codes and scales of groups, the last one of what is left."""
    parts = [per_row(x[..., i : i + size], LARGEST[kind], kind, floor) for i in range(0, x.shape[-1], size)]
    return [np.concatenate([part[i] for part in parts], -1) for i in (0, 1)]


def mx(x, exponent=even):
    """fp4 codes and scales, the last block filled with zeros."""
    filled = np.concatenate([x, np.zeros(x.shape[:-1] + (-x.shape[-1] % 32,))], -1)
    scales = mx_scales(filled, exponent)
    return [to("f4E2M1FN", filled / np.repeat(scales, 32, -1))[..., : x.shape[-1]], scales]


LARGEST = {"f8E4M3FN": 448, "f8E4M3FNUZ": 240}
for module, function, kind, dtype, n, rule in (
        ("fused_mxfp4_quant", "gelu_mul_34", "gelu", "f32", 34, even),
        ("fused_mxfp4_quant", "gelu_mul_512", "gelu", "bf16", 512, even),
        ("fused_mxfp4_quant", "relu_mul_32", "relu", "f16", 32, even),
        ("fused_mxfp4_quant", "silu_mul_14", "silu", "bf16", 14, even),
        ("fused_mxfp4_quant", "silu_mul_4096_ceil", "silu", "f16", 4096, ceil)):
    x = normal(dtype, 3, 2 * n)
    compare(module, function, [x], mx(gate(kind, x), rule))
for module, function, kind, dtype, n, code in (
        ("fused_fp8_quant", "gelu_mul_group", "gelu", "f16", 200, "f8E4M3FNUZ"),
        ("fused_fp8_quant", "gelu_tanh_mul_group", "gelu_tanh", "bf16", 512, "f8E4M3FN")):
    x = normal(dtype, 3, 2 * n)
    compare(module, function, [x], groups(gate(kind, x), code))
p = normal("f32", 1, 4, 300)
compare("fused_fp8_quant", "slices_1", [p], groups(gate("gelu_tanh", p[0]), "f8E4M3FN"))
p = normal("f32", 1, 4, 128)
compare("fused_mxfp4_quant", "slices_1_gelu", [p], mx(gate("gelu_tanh", p[0])))
compare("fused_mxfp4_quant", "zero_blocks", [normal("f16", 3, 70)],
        [np.zeros((3, 70)), np.full((3, 3), 2.0**-127)], exact=True)
x, w = normal("bf16", 3, 2112), normal("bf16", 256)
compare("fused_mxfp4_quant", "strided_2112", [x, w], mx(rms(x[:, 1792:2048], w)))
x, k, r, w, v = (normal("f16", *shape) for shape in ((3, 256), (3, 200), (3, 256), (256,), (200,)))
y = rms(f32(x + r), w)
compare("fused_mxfp4_quant", "add_two_inputs_and_norm", [x, k, r, w, v],
        [*mx(y), y, to("f16", x + r), rms(k, v, 1e-5)[:, None]])
x = normal("bf16", 3, 3, 70)
codes, scales = mx(x, ceil)
compare("quant_moe", "fp4_there_and_back", [x], to("bf16", codes * np.repeat(scales, 32, -1)[..., :70]), exact=True)

x, r, w, scale = normal("f16", 3, 640), normal("f16", 3, 640), normal("f16", 640), np.array([f32(0.03)])
compare("fused_fp8_quant", "per_tensor_unrounded", [x, r, w, scale],
        [to("f8E4M3FN", np.clip(rms(f32(x + r), w) / scale, -448, 448)), to("f16", x + r)])
x, r, w = normal("f16", 3, 1245), normal("f16", 3, 1245), normal("f16", 1245)
s = to("f16", x + r)
compare("fused_fp8_quant", "per_token_and_norm", [x, r, w], [*per_row(rms(s, w), 240, "f8E4M3FNUZ"), rms(s, w), s])
x, w, xs = normal("bf16", 3, 409), normal("bf16", 409), normal("f32", 409)
compare("fused_fp8_quant", "per_token_smooth_fp8", [x, w, xs], per_row(rms(x, w) * xs, 448, "f8E4M3FN"))
x, k, w, v = (normal("f16", *shape) for shape in ((3, 128), (3, 128), (128,), (128,)))
compare("fused_fp8_quant", "two_inputs_128", [x, k, w, v],
        [*per_row(rms(x, w), 240, "f8E4M3FNUZ", 1e-10), rms(k, v)[:, None]])

x, w, b = normal("bf16", 3, 768), normal("bf16", 768), normal("bf16", 768)
n = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b
compare("layernorm", "dynamic_quant_768", [x, w, b], per_row(n, 127, "i8"))
compare("l2norm", "zero_rows", [normal("bf16", 3, 4, 128)], np.zeros((3, 4, 128)), exact=True)
x = normal("f32", 23, 190)
compare("gdr_utils", "max_reduce_matrix", [x], x.max(keepdims=True), exact=True)
x = normal("bf16", 3, 77)
compare("op", "safe_exp_bf16", [x], np.where(x <= 0, np.exp(x), 0))
a, b, decay, bias = normal("f16", 6, 5, scale=9.0), normal("f16", 6, 5), normal("f16", 5), normal("f16", 5)
z = a + bias
compare("fused_gdn_gating_prefill", "f16_own_biases", [a, b, decay, bias],
        [-np.exp(decay) * np.where(z <= 20, np.log1p(np.exp(z)), z), sigmoid(b)[:, None]])
g = normal("f32", 2, 130, 3, 64)
sums = np.concatenate([part.cumsum(1) for part in np.split(g, [64, 128], 1)], 1)
compare("cumsum", "vector_scaled", [g], sums * f32(1.44269502))

# Rotations of what other operators cut out or put together.
x, k, cos, sin = normal("bf16", T, 2, 4, 64), normal("bf16", T, 2, 1, 64), normal("bf16", 64, 16), normal("bf16", 64,
        16)
p = ints(0, 64, T, 2)
compare("rope", "sbhd_positions", [x, k, cos, sin, p],
        [rotated(y, cos[p], sin[p], True, nope_first=True) for y in (x, k)])
x, cos, sin = normal("f16", T, 2, 8, 64), normal("f16", 64, 64), normal("f16", 64, 64)
c, s = (np.repeat(table[:T, None], 2, 1) for table in (cos, sin))
compare("rope", "sbhd_two_channels_cached", [x, cos, sin],
        [rotated(y, c, s, False, own=True) for y in (x[:, :, :4], x[:, :, 4:6])])
off = np.where(pos < 60, 3, -3).astype(np.int32)
for module, function, heads, own_heads, d1, d2, angles, dtype, table, neox, own, nope, more in (
        ("fused_qk_concat", "rope_neox", 16, 1, 512, 64, 32, "bf16", "bf16", True, False, False, []),
        ("fused_qk_concat", "rope_gptj_own_angles", 8, 4, 512, 64, 64, "bf16", "f32", False, True, False, []),
        ("fused_qk_concat", "rope_offsets_nope_first", 2, 2, 40, 24, 6, "f32", "f32", False, False, True, [off])):
    q1, q2, k1, k2 = (normal(dtype, T, h, d) for h in (heads, own_heads) for d in (d1, d2))
    cos, sin = normal(table, 64, angles), normal(table, 64, angles)
    row = pos + sum(more)
    q, k = (rotated(y, cos[row], sin[row], neox, own, nope) for y in (q2, k2))
    compare(module, function, [q1, q2, k1.reshape(T, -1), k2.reshape(T, -1), cos, sin, pos, *more],
            [np.concatenate([q1, q], -1), np.concatenate([k1, k], -1)])
for module, function, heads, own_heads, d, angles, dtype, table, neox, own, nope, more, wide in (
        ("fused_qkv_split_qk_rope", "neox_own_angles", 16, 1, 64, 64, "bf16", "bf16", True, True, False, [], np.int64),
        ("fused_qkv_split_qk_rope", "neox_own_angles_nope_first_offsets", 4, 2, 128, 64, "f16", "f32", True, True,
         True, [off], np.int32),
        ("fused_qkv_split_qk_rope", "gptj_nope_first", 8, 4, 64, 16, "bf16", "bf16", False, False, True, [], np.int32),
        ("fused_qkv_split_qk_rope", "gptj_own_angles_nope_first_offsets", 1, 1, 128, 64, "bf16", "bf16", False, True,
         True, [off], np.int32)):
    qkv, cos, sin = normal(dtype, T, (heads + 2 * own_heads) * d), normal(table, 64, angles), normal(table, 64, angles)
    q, k, v = np.split(qkv.reshape(T, -1, d), [heads, heads + own_heads], 1)
    row = pos + sum(more)
    compare(module, function, [qkv, cos, sin, pos.astype(wide), *more],
            [rotated(q, cos[row], sin[row], neox, own, nope), rotated(k, cos[row], sin[row], neox, own, nope), v])
for module, function, heads, own_heads, d, angles, dtype, shape, code, neox, own, nope, scaled in (
        ("fused_kv_cache", "fp8_unscaled_own_angles", 4, 4, 64, 64, "bf16", (4, 16), "f8E4M3FN", False, True, False,
         False),
        ("fused_kv_cache", "gpt_oss_64_8", 64, 8, 64, 32, "bf16", (4, 16), "f8E4M3FNUZ", True, False, False, True),
        ("fused_kv_cache", "fp8_half_rotated", 4, 1, 128, 32, "f16", (2, 32), "f8E4M3FN", True, False, True, True)):
    q, k, v = (normal(dtype, T, h, d) for h in (heads, own_heads, own_heads))
    cos, sin, slots = normal("bf16", 64, angles), normal("bf16", 64, angles), rng.permutation(64)[:T]
    factors = [np.array([f32(0.3)]), np.array([f32(0.2)])] if scaled else []
    qr, kr = (rotated(y, cos[pos], sin[pos], neox, own, nope) for y in (q, k))
    kc, vc = np.zeros((64, own_heads, d)), np.zeros((64, own_heads, d))
    kc[slots], vc[slots] = (to(code, f32(y / (factors[i] if scaled else 1))) for i, y in enumerate((kr, v)))
    full = (*shape, own_heads, d)
    compare(module, function, [q, k, v, cos, sin, pos, *factors, slots, np.zeros(full), np.zeros(full)],
            [qr, kr, kc.reshape(full), vc.reshape(full)])
q, qp, k, kp = (normal("bf16", T, h, d) for h, d in ((16, 512), (16, 64), (8, 512), (8, 64)))
cos, sin, slots = normal("bf16", 64, 32), normal("bf16", 64, 32), rng.permutation(32)[:T]
qr, kr = rotated(qp, cos[pos], sin[pos], False), rotated(kp, cos[pos], sin[pos], False)
cache = np.zeros((32, 8, 576))
cache[slots] = to("bf16", np.concatenate([k, kr], -1))
compare("fused_kv_cache", "latent_8_heads", [q, qp, k, kp, cos, sin, pos, slots, np.zeros((2, 16, 8, 576))],
        [np.concatenate([q, qr], -1), kr, cache.reshape(2, 16, 8, 576)])

# Latents of which the last four were rotated before.
q, qp, k, kp = (normal("bf16", T, h, d) for h, d in ((16, 512), (16, 64), (1, 512), (1, 64)))
tail = np.concatenate([pos[:5], np.full(4, -1)]).astype(np.int32)
scale, slots = np.array([f32(0.3)]), rng.permutation(64)[:T].astype(np.int32)
qr, kr = (np.concatenate([rotated(y[:5], cos[tail[:5]], sin[tail[:5]], True), y[5:]]) for y in (qp, kp))
cache = np.zeros((2, 1, 32, 576))
for latent, slot in zip(np.concatenate([k, kr], -1)[:, 0], slots):
    cache[slot // 32, 0, slot % 32] = to("f8E4M3FN", f32(latent / scale))
compare("fused_kv_cache", "latent_tail", [q, qp, k, kp, cos, sin, tail, scale, slots, np.zeros(cache.shape)],
        [np.concatenate([q, qr], -1), kr, cache])

# The other convolutions: sequences x[i] after the states of their lines.
x, w = normal("bf16", 2, 7, 64), normal("f32", 64, 3)
compare("causal_conv1d", "width_3_silu", [x, w], silu(np.stack([convolved(np.zeros((2, 64)), row, w) for row in x])))
cu, lines = np.array([0, 5, 5, 6, 14], np.int32), np.array([3, 0, -1, 1], np.int32)
for module, function, width, channels, dtype, slots, biased, new, activated, cuts in (
        ("causal_conv1d_varlen", "width_2_f16", 2, 100, "f16", 8, False, True, False, []),
        ("causal_conv1d_varlen", "old_states_count", 4, 64, "bf16", 1030, True, False, False, []),
        ("causal_conv1d_fwd_split_qkv", "qwen3_next_tp1", 4, 8192, "bf16", 4, True, True, True, [2048, 4096])):
    x, w, s = normal(dtype, 14, channels), normal(dtype, channels, width), normal(dtype, slots, width - 1, channels)
    b = [normal(dtype, channels)] if biased else []
    first = [np.array([True, False, True, False])] if new else []
    y, after = np.zeros((14, channels)), s.copy()
    for i, line in enumerate(lines):
        if line >= 0:
            own = x[cu[i] : cu[i + 1]]
            old = s[line] if not new or first[0][i] else np.zeros((width - 1, channels))
            y[cu[i] : cu[i + 1]] = convolved(old, own, w, *b)
            after[line] = np.concatenate([old, own])[len(own) :]
    y = silu(y) if activated else y
    compare(module, function, [x, w, *b, cu, s, lines, *first], [*np.split(y, cuts, -1), after])
x, w = normal("f32", 14, 50), normal("f32", 50, 3)
y = np.concatenate([convolved(np.zeros((2, 50)), x[i:j], w) for i, j in zip(cu, cu[1:])])
compare("causal_conv1d_fwd_split_qkv", "width_3_no_states", [x, w, cu], np.split(y, [13, 26], -1))
for module, function, tokens, width, channels, dtype, slots, biased, activated, cuts, last, wide in (
        ("causal_conv1d_split_qkv", "channel_first_8_tokens", 8, 4, 64, "bf16", 8, True, False, [16, 32], True,
         np.int64),
        ("causal_conv1d_split_qkv", "many_sequences", 1, 4, 64, "bf16", 600, True, True, [16, 32], False, np.int32),
        ("causal_conv1d_split_qkv", "one_token_4096", 1, 2, 4096, "f32", 8, False, False, [1024, 2048], False,
         np.int32)):
    x, w, s = normal(dtype, 4, tokens, channels), normal(dtype, channels, width), normal(dtype, slots, width - 1,
            channels)
    b = [normal(dtype, channels)] if biased else []
    y, after = np.zeros(x.shape), s.copy()
    for i, line in enumerate(lines):
        if line >= 0:
            y[i] = convolved(s[line], x[i], w, *b)
            after[line] = np.concatenate([s[line], x[i]])[tokens:]
    y = silu(y) if activated else y
    if last:  # time innermost
        x, y, s, after = (v.swapaxes(-1, -2) for v in (x, y, s, after))
        parts = np.split(y, cuts, 1)
    else:
        x, parts = x[:, 0], np.split(y[:, 0], cuts, -1)
    compare(module, function, [x, w, *b, s, lines.astype(wide)], [*parts, after])


# Routers.
def bits(ids, experts):
    members = np.zeros((len(ids), -(-experts // 32) * 32), bool)
    members[np.arange(len(ids))[:, None], ids] = True
    words = members.reshape(len(ids), -1, 32) @ (1 << np.arange(32, dtype=np.int64))
    return words.astype(np.uint32).view(np.int32).T


x = normal("bf16", 9, 128)
p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
ids = np.sort(best(p, 4, highest=True), -1)
compare("moe_topk", "softmax_first_e128", [x], [at(p, ids), ids, bits(ids, 128)])
x = normal("f16", 9, 128)
ids = np.sort(best(x, 8, highest=True), -1)
w = at(sigmoid(x), ids)
compare("moe_topk", "sigmoid_plain", [x], [w / w.sum(-1, keepdims=True), ids, bits(ids, 128)])
x, bias = normal("bf16", 9, 128), normal("bf16", 128)
ids = best(sigmoid(x) + bias, 6)
compare("moe_topk", "bias_bf16", [x, bias], [at(sigmoid(x), ids), ids])
x = normal("bf16", 9, 64)
ids = best(x, 6)
w = np.exp(at(x, ids)) / np.exp(at(x, ids)).sum(-1, keepdims=True)
compare("moe_topk", "shared_expert", [x],
        [np.pad(w, ((0, 0), (0, 1)), constant_values=1), np.pad(ids, ((0, 0), (0, 1)), constant_values=64)])
ids = np.tile(np.arange(122, 128), (9, 1))
compare("moe_topk", "all_nan_rows", [normal("f32", 9, 128)], [np.full((9, 6), np.nan), ids, bits(ids, 128)])

finish()
