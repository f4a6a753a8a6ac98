"""Whole graphs of test/Modules, evaluated by the interpreter and compared with NumPy
formulas of what the module is for: written from its description, not from its graph."""

import os
import re

import numpy as np

from oracle import Case, check, f32, finish, to

rng = np.random.default_rng(23)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Modules")


def graph(module, function, *inputs):
    """Results of a function of test/Modules/<module>.mlir."""
    with open(f"{FOLDER}/{module}.mlir") as file:
        text = file.read()
    body = re.search(rf"func\.func @{function}\(.*?\n}}\n", text, re.S)[0]
    return Case(body.replace(f"@{function}(", "@main(", 1), inputs)


def compare(module, function, inputs, expected, exact=False):
    check(f"{module} {function}", graph(module, function, *inputs), expected, exact=exact)


def normal(dtype, *shape, scale=1.0):
    return to(dtype, rng.normal(size=shape) * scale)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rms(x, w, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w


def quantised(x, largest, kind):
    """Scale and codes per row."""
    amax = np.abs(x).max(-1, keepdims=True)
    s = f32(np.where(amax == 0, 1, amax / largest))
    ratio = f32(x / s)
    return (np.rint(ratio) if kind == "i8" else to(kind, ratio)), s


# Norms and gates.
x, r, w = normal("bf16", 5, 409), normal("bf16", 5, 409), normal("f32", 409)
s = to("bf16", x + r)
q = 1 / np.sqrt((s * s).mean(-1, keepdims=True) + 1e-6)
compare("rmsnorm", "add_training_409", [x, r, w], [s * q * w, s, q])

x, r, w, b = normal("bf16", 4, 359), normal("bf16", 4, 359), normal("bf16", 359), normal("bf16", 359)
xs = f32(np.exp(rng.normal(size=359)))
s = to("bf16", x + r)
m = s.mean(-1, keepdims=True)
n = (s - m) / np.sqrt(((s - m) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b
codes, scale = quantised(n * xs, 127, "i8")
compare("layernorm", "add_smooth_quant", [x, r, w, b, xs], [codes, scale, s])

x = normal("bf16", 6, 2, 128)
compare("l2norm", "divided_by_root", [x], x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6))
x = normal("f32", 6, 60)
compare("l2norm", "divided_by_root_and_epsilon", [x], x / (np.sqrt((x * x).sum(-1, keepdims=True)) + 1e-6))

x = normal("bf16", 7, 90, scale=4.0)
g, u = np.minimum(x[:, 0::2], 7), np.clip(x[:, 1::2], -7, 7)
compare("activation", "swiglu_interleaved", [x], g * sigmoid(1.702 * g) * (u + 1))
x = normal("bf16", 7, 256)
y = x[:, :128] * sigmoid(x[:, :128]) * x[:, 128:]
compare("activation", "silu_and_mul_per_token", [x], quantised(y, 448, "f8E4M3FN"))

a, b = normal("bf16", 6, 8, scale=4.0), normal("bf16", 6, 8)
decay, bias = normal("f32", 8), normal("f32", 8)
z = a + bias
softplus = np.where(2 * z <= 10, np.log1p(np.exp(2 * z)) / 2, z)
compare("fused_gdn_gating_prefill", "slope_2", [a, b, decay, bias],
        [-np.exp(decay) * softplus, sigmoid(b).reshape(6, 2, 4)])


# Quantisation.
def mx(x, dtype, exponent):
    """Blocks of 32; exponent(amax) is that of the scale."""
    n = x.shape[-1]
    padded = np.concatenate([x, np.zeros(x.shape[:-1] + (-n % 32,))], -1)
    blocks = padded.reshape(x.shape[:-1] + (-1, 32))
    amax = np.abs(blocks).max(-1)
    with np.errstate(divide="ignore"):
        e = np.where(amax == 0, -127, np.clip(exponent(amax), -127, 127))
    codes = to(dtype, blocks * 2.0 ** -e[..., None])
    return [codes.reshape(padded.shape)[..., :n], 2.0**e]


def even_fp4(amax):
    """The power of two nearest to amax, from a mantissa of 1.75 up the next one."""
    e = np.floor(np.log2(amax))
    return e + (amax / 2.0**e >= 1.75) - 2


x = normal("bf16", 5, 70)
x[1] = 0
compare("quant_moe", "fp4_ocp", [x], mx(x, "f4E2M1FN", lambda a: np.floor(np.log2(a)) - 2), exact=True)
x = normal("f16", 5, 64)
compare("quant_moe", "e4m3_ocp_ceil", [x], mx(x, "f8E4M3FN", lambda a: np.ceil(np.log2(a)) - 8), exact=True)
x = normal("f32", 5, 33)
compare("quant_moe", "e5m2_ocp", [x], mx(x, "f8E5M2", lambda a: np.floor(np.log2(a)) - 15), exact=True)

x, xs, expert = normal("bf16", 6, 200), f32(np.exp(rng.normal(size=(4, 200)))), np.array([2, 0, 3, 3, 1, 0], np.int32)
compare("quant_moe", "smooth_of_expert", [x, xs, expert], quantised(f32(x * xs[expert]), 127, "i8"), exact=True)

x = normal("bf16", 5, 96)
x[2] = 0
s = f32(np.abs(x).max(-1, keepdims=True) / f32(127))
s[2] = 1
compare("quant", "token_int8_truncated", [x], [np.trunc(f32(x / s)), s], exact=True)
x, xs = normal("f16", 5, 50), normal("f32", 50)
m = f32(x * xs)
s = f32(f32(np.abs(m).max(-1, keepdims=True) / f32(127)) + f32(1e-12))
ratio = np.clip(f32(m / s), -127, 127)
compare("quant", "token_smooth_half_away", [x, xs], [np.trunc(ratio + np.sign(ratio) / 2), s], exact=True)

p, w, v = normal("f32", 3, 4, 192), normal("bf16", 96), normal("bf16", 64)
x = to("bf16", f32(f32(p[0] + p[1]) + p[2]))
codes, scales = mx(rms(x[:, :96], w, 1e-6), "f4E2M1FN", even_fp4)
compare("fused_mxfp4_quant", "slices_norm", [p, w, v], [codes, scales, rms(x[:, 96:160], v, 1e-6), x[:, 160:]])


def shuffled(scales):
    """[rows, columns], multiples of 32 and 8, in the order of the scaled instructions of
    gfx950: 32 rows after each other, of them 8 columns."""
    rows, columns = scales.shape
    out = np.empty(rows * columns)
    for r in range(rows):
        for c in range(columns):
            out[r // 32 * 32 * columns + c // 8 * 256 + c % 4 * 64 + r % 16 * 4 + c % 8 // 4 * 2 + r % 32 // 16] = scales[r, c]
    return out


x = normal("bf16", 2, 32, 160)
codes, scales = mx(x, "f4E2M1FN", lambda a: np.floor(np.log2(a)) - 2)
padded = np.ones((64, 8))
padded[:, :5] = scales.reshape(64, 5)
compare("fused_mxfp4_quant", "shuffled_padded_scales", [x], [codes, shuffled(padded).reshape(2, 256)], exact=True)

x = normal("bf16", 6, 320)  # two copies of every token; copy 12 is padding
order = rng.permutation(np.concatenate([np.arange(12), np.full(52, 12)])).reshape(2, 32).astype(np.int32)
codes, scales = mx(x, "f4E2M1FN", even_fp4)
sorted_scales = np.full((64, 16), 2.0**-127)
for place, copy in enumerate(order.reshape(-1)):
    if copy < 12:
        sorted_scales[place, :10] = scales[copy // 2]
compare("quant_moe_sorted", "stage_1", [x, order], [codes, shuffled(sorted_scales).reshape(2, 512)], exact=True)


place = np.full(64, -1, np.int32)  # 41 tokens in two tiles of 32
place[:41] = np.arange(41)
x = normal("bf16", 41, 320)
codes, scales = mx(x, "f4E2M1FN", even_fp4)
padded = np.ones((64, 16))
padded[:41, :10] = scales
compare("quant_moe_sorted", "padded_rows", [x, place.reshape(2, 32)], [codes, shuffled(padded).reshape(2, 512)], exact=True)


# Selection and routing.
def best(scores, k, highest=False):
    """The k best of each row; of equal ones the lowest, or highest, places."""
    places = np.arange(scores.shape[1]) * (-1 if highest else 1)
    return np.array([np.lexsort((places, -row))[:k] for row in scores])


def at(x, ids):
    return np.take_along_axis(x, ids, -1)


def placed(keys, bins, block=1):
    """moe_align_block_size: order with the number of keys as padding, places, experts of
    the blocks and how many places are in use."""
    size = len(keys) + bins * (block - 1)
    order, position, experts = [], np.full(len(keys), -1), []
    for e in range(bins):
        own = [i for i, key in enumerate(keys) if key == e]
        for rank, i in enumerate(own):
            position[i] = len(order) + rank
        blocks = -(-len(own) // block)
        order += own + [len(keys)] * (blocks * block - len(own))
        experts += [e] * blocks
    used = len(order)
    order += [len(keys)] * (size - used)
    experts += [-1] * (-(-size // block) - len(experts))
    return np.array(order), position, np.array(experts), used


ids = rng.integers(0, 8, (11, 2)).astype(np.int32)
order, _, experts, used = placed(ids.reshape(-1), 8, 16)
compare("moe_align_block_size", "few", [ids], [order, experts, np.array([used])], exact=True)
ids = rng.integers(0, 32, (9, 2))
table = np.full(32, -1, np.int32)
table[rng.choice(32, 8, replace=False)] = np.arange(8)
order, _, experts, used = placed(table[ids.reshape(-1)], 8, 16)
compare("moe_align_block_size", "expert_map", [ids, table], [order, experts, np.array([used])], exact=True)

members = rng.random((16, 128)) < 0.04
words = np.zeros((4, 16), np.uint32)
for c in range(128):
    words[c // 32] |= members[:, c].astype(np.uint32) << np.uint32(c % 32)
hist = members.sum(0)
used = [e for e in range(128) if hist[e]]
compare("moe_expt_data", "from_bits_one_tile", [words.view(np.int32)],
        [hist, np.concatenate([[0], np.cumsum(hist)]), np.concatenate([[0], np.cumsum(hist > 0)]),
         np.array((used + [-1] * 64)[:64])], exact=True)
few = words[:1].view(np.int32)
before = np.array([members[: 5 * t, :8].sum(0) for t in range(4)])
compare("moe_bitmatrix", "partials_8_block_5", [few], [hist[:8], before], exact=True)


def by_id(scores, k):
    """AITER's router: of equal scores the last ones, in the order of their places."""
    return np.sort(best(scores, k, highest=True), -1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


x = normal("bf16", 9, 128)
ids = by_id(x, 4)
bits = np.zeros((4, 9), np.uint32)
for row, own in enumerate(ids):
    for c in own:
        bits[c // 32, row] |= np.uint32(1) << np.uint32(c % 32)
compare("moe_topk", "ids_i16", [x], [softmax(at(x, ids)), ids, bits.view(np.int32)])

bias = normal("f32", 128)
scores = np.sqrt(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
ids = by_id(scores + bias, 6)
weights = at(scores, ids)
compare("moe_topk", "sqrt_softplus_bias", [x, bias], [weights / (weights.sum(-1, keepdims=True) + 1e-20) * 1.5, ids])

x, group = normal("f32", 9, 64), rng.integers(0, 4, 64).astype(np.int32)
of_group = np.stack([np.where(group == g, x, -np.inf).max(-1) for g in range(4)], -1)
kept = best(of_group, 2)
open_ = np.array([[g in row for g in group] for row in kept])
limited = np.where(open_, x, -np.inf)
ids = best(limited, 4)
compare("moe_topk", "grouped_by_table", [x, group], [at(limited, ids), ids], exact=True)

x = normal("bf16", 20, 128)
ids = by_id(x, 4)
flat = ids.reshape(-1)
gather, scatter, _, _ = placed(flat, 128)
members = np.zeros((20, 128), bool)
members[np.arange(20)[:, None], ids] = True
compare("moe_routing", "partials_and_u16", [x],
        [gather, scatter, members.sum(0), np.zeros((1, 128)), np.concatenate([[0], np.cumsum(members.sum(0))])], exact=True)

x, bias = normal("bf16", 9, 64), normal("f32", 64)
scores = sigmoid(x)
biased = scores + bias
groups = np.sort(biased.reshape(9, 8, 8), -1)[..., -2:].sum(-1)
open_ = np.repeat([[g in row for g in range(8)] for row in best(groups, 4)], 8, -1)
ids = best(np.where(open_, biased, -np.inf), 6)
weights = at(scores, ids)
weights = weights / weights.sum(-1, keepdims=True) * 2.5
gather, scatter, _, _ = placed(ids.reshape(-1), 64)
hist = np.bincount(ids.reshape(-1), minlength=64)
compare("moe_routing", "grouped_sigmoid", [x, bias],
        [gather, scatter, weights.reshape(-1)[gather], hist, np.concatenate([[0], np.cumsum(hist)])])

x = normal("bf16", 16, 64)  # the least popular of five is dropped
five = best(x, 5)
popular = np.bincount(five.reshape(-1), minlength=64)[five]
dropped = [min(range(5), key=lambda j: (row[j], -j)) for row in popular]
ids = np.array([np.delete(row, j) for row, j in zip(five, dropped)])
gather, scatter, _, _ = placed(ids.reshape(-1), 64)
compare("moe_routing_herd", "main", [x],
        [softmax(at(x, ids)), ids, gather, scatter, np.bincount(ids.reshape(-1), minlength=64)])

cu = np.array([0, 0, 70, 134, 135, 200])
pairs = [(s, c) for s in range(5) for c in range(-(-(cu[s + 1] - cu[s]) // 64))]
size = -(-(200 + 5 * 63) // 64)
compare("index", "chunk_indices", [cu, normal("bf16", 200, 2)],
        np.array((pairs + [(-1, -1)] * size)[:size]), exact=True)

# Heads, rotated, and caches.
def rotated(x, angles_cos, angles_sin, neox=True):
    """[T, heads, D] with the angles [T, D / 2] of its tokens."""
    c, s = angles_cos[:, None], angles_sin[:, None]
    half = x.shape[-1] // 2
    a, b = (x[..., :half], x[..., half:]) if neox else (x[..., 0::2], x[..., 1::2])
    first, second = a * c - b * s, b * c + a * s
    return np.concatenate([first, second], -1) if neox else np.stack([first, second], -1).reshape(x.shape)


def written(cache, rows, slots):
    """Rows in a cache [blocks, block, heads, D]; a negative slot is none."""
    flat = cache.reshape((-1,) + cache.shape[2:]).copy()
    for row, slot in zip(rows, slots):
        if slot >= 0:
            flat[slot] = row
    return flat.reshape(cache.shape)


T = 9
cos, sin = normal("f32", 64, 32), normal("f32", 64, 32)
pos, slots = rng.permutation(64)[:T].astype(np.int32), rng.permutation(64)[:T].astype(np.int32)
slots[[2, 5]] = -1
q, k, v = normal("bf16", T, 8, 64), normal("bf16", T, 2, 64), normal("bf16", T, 2, 64)
kept, kc, vc = normal("bf16", 1, T, 2, 64), normal("bf16", 4, 16, 2, 64), normal("bf16", 4, 16, 2, 64)
kr = rotated(k, cos[pos], sin[pos])
compare("fused_kv_cache", "skipped_tokens", [q, k, v, cos, sin, pos, np.arange(T, dtype=np.int32), slots, kept, kc, vc],
        [rotated(q, cos[pos], sin[pos]), np.where(slots[None, :, None, None] >= 0, kr[None], kept),
         written(kc, kr, slots), written(vc, v, slots)])

q, qp, k, kp = (normal("bf16", T, h, d) for h, d in ((16, 512), (16, 64), (1, 512), (1, 64)))
cache = normal("bf16", 64, 1, 1, 576)
qr, kr = rotated(qp, cos[pos], sin[pos], neox=False), rotated(kp, cos[pos], sin[pos], neox=False)
compare("fused_kv_cache", "latent_zeros", [q, qp, k, kp, cos, sin, pos, slots, cache],
        [np.concatenate([q, qr], -1), qr, kr, np.zeros(q.shape), written(cache, np.concatenate([k, kr], -1), slots)])

qkv, cos, sin = normal("bf16", T, 960), normal("bf16", 64, 40), normal("bf16", 64, 40)
groups = qkv.reshape(T, 2, 6, 80)
compare("fused_qkv_split_qk_rope", "interleaved_groups", [qkv, cos, sin, pos],
        [rotated(groups[:, :, :4].reshape(T, 8, 80), cos[pos], sin[pos]), rotated(groups[:, :, 4], cos[pos], sin[pos]),
         groups[:, :, 5]])

# Convolutions with a state.
T, HK, D, R = 5, 2, 32, 2
qkvz, ba = normal("bf16", T, HK * (2 * D + 2 * R * D)), normal("bf16", T, HK * 2 * R)
w, state, lines = normal("bf16", 256, 4), normal("bf16", 8, 3, 256), np.array([3, -1, 0, 7, 9], np.int32)
heads = qkvz.reshape(T, HK, -1)
q, k, v, z = np.split(heads, [D, 2 * D, 2 * D + R * D], -1)
packed = np.concatenate([part.reshape(T, -1) for part in (q, k, v)], -1)
b, a = np.split(ba.reshape(T, HK, -1), 2, -1)
y, after = np.zeros((T, 1, 256)), state.copy()
for t, line in enumerate(lines):
    if 0 <= line < 8:
        window = np.concatenate([state[line], packed[t : t + 1]])
        sums = (window * w.T).sum(0)
        y[t, 0] = sums * sigmoid(sums)
        after[line] = window[1:]
compare("causal_conv1d_reshape", "single_token", [qkvz, ba, w, state, lines],
        [y, z.reshape(T, 4, 32), b.reshape(T, 4), a.reshape(T, 4), after])

x, w, state = normal("f32", 4, 70, 4), normal("f32", 70, 3), normal("f32", 8, 70, 5)
lines, accepted = np.array([6, 1, -1, 2], np.int32), np.array([1, 3, 2, 4], np.int32)
y, after, windows = np.zeros((4, 70, 4)), state.copy(), np.zeros((4, 4, 70, 2))
for i, line in enumerate(lines):
    if line < 0:
        continue
    n = accepted[i]  # the line holds two entries before the last step's tokens, of which n were right
    inputs = np.concatenate([state[line][:, n - 1 : n + 1], x[i]], -1)
    for t in range(4):
        y[i, :, t] = (inputs[:, t : t + 3] * w).sum(-1)
        windows[i, t] = inputs[:, t + 1 : t + 3]
    after[line] = np.concatenate([state[line][:, n : n + 1], x[i]], -1)
compare("causal_conv1d_split_qkv", "windows_accepted", [x, w, state, lines, accepted], [y, after, windows])

finish()
