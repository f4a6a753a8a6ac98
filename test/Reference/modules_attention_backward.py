"""Whole graphs of attention's gradients against NumPy. The formula is first held against
finite differences of the attention itself."""

import numpy as np

from attention_formula import dropped
from formulas import compare, finish, normal, rng
from oracle import f32, to


def visible(queries, keys, causal=False, left=None, right=None):
    i, j = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None]
    seen = np.ones((queries, keys), bool)
    if causal:
        seen &= j <= i
    if left is not None:
        seen &= j >= i - left
    if right is not None:
        seen &= j <= i + right
    return seen


def scores(q, k, scale, cap):
    """q [S, H, D], k [L, Hk, D] -> [H, S, L], and its slope by the product times scale."""
    s = np.einsum("ihd,jhd->hij", q, np.repeat(k, q.shape[1] // k.shape[1], 1)) * scale
    return (s, 1.0) if cap is None else (cap * np.tanh(s / cap), 1 - np.tanh(s / cap) ** 2)


def forward(q, k, v, scale, cap=None, sink=None, added=0.0, factor=1.0, **mask):
    """One sequence -> o, lse. To scores is `added`, probabilities are multiplied by `factor`,
    both [H, S, L]."""
    s, _ = scores(q, k, scale, cap)
    s = np.where(visible(len(q), len(k), **mask)[None], s + added, -np.inf)
    if sink is not None:
        s = np.concatenate([s, np.broadcast_to(sink[:, None, None], s.shape[:2] + (1,))], -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = s.max(-1, initial=-np.inf)
        lse = np.where(np.isinf(top), -np.inf, np.log(np.exp(s - np.where(np.isinf(top), 0, top)[..., None]).sum(-1)) + top)
        p = np.nan_to_num(np.exp(s - lse[..., None]))[..., : len(k)]
    return np.einsum("hij,jhd->ihd", p * factor, np.repeat(v, q.shape[1] // k.shape[1], 1)), lse.T


def backward(q, k, v, do, lse, delta, scale, cap=None, sink=None, added=0.0, factor=1.0, **mask):
    """One sequence -> dq, dk, dv, dsink, and the gradient of `added`."""
    group = q.shape[1] // k.shape[1]
    s, slope = scores(q, k, scale, cap)
    seen = visible(len(q), len(k), **mask)
    with np.errstate(invalid="ignore"):
        p = np.where(seen[None], np.nan_to_num(np.exp(s + added - lse.T[..., None]), posinf=0), 0)
    dt = p * (np.einsum("ihd,jhd->hij", do, np.repeat(v, group, 1)) * factor - delta.T[..., None])
    ds = dt * slope * scale

    def shared(x):  # [L, H, ...] -> [L, Hk, ...]
        return x.reshape(len(k), k.shape[1], group, -1).sum(2)

    dsink = 0 if sink is None else -(np.exp(sink - lse) * delta * seen.any(1)[:, None]).sum(0)
    return (np.einsum("hij,jhd->ihd", ds, np.repeat(k, group, 1)), shared(np.einsum("hij,ihd->jhd", ds, q)),
            shared(np.einsum("hij,ihd->jhd", p * factor, do)), dsink, dt)


# The formula is the gradient of sum(do * o).
options = dict(scale=0.7, cap=1.5, causal=True, left=3, factor=rng.integers(0, 2, (4, 6, 7)) * 1.5)
q, k, v, do, sink = (rng.normal(size=n) for n in ((6, 4, 5), (7, 2, 5), (7, 2, 3), (6, 4, 3), 4))
inputs = [q, k, v, sink, rng.normal(size=(4, 6, 7))]
o, lse = forward(q, k, v, sink=sink, added=inputs[4], **options)
slopes = backward(q, k, v, do, lse, (o * do).sum(-1), sink=sink, added=inputs[4], **options)
for number, x in enumerate(inputs):
    found = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [y.copy() for y in inputs]
            moved[number][at] += step
            ends.append((forward(*moved[:3], sink=moved[3], added=moved[4], **options)[0] * do).sum())
        found[at] = (ends[0] - ends[1]) / 2e-6
    assert np.abs(found - slopes[number]).max() < 1e-7, f"the formula is not the gradient of operand {number}"


def data(t, q, k, e):
    return normal(t, *q), normal(t, *k), normal(t, *k[:-1], e), normal(t, *q[:-1], e)


def sequences(q, k, bounds):
    """Slices of the queries and keys of every sequence."""
    if bounds is not None:
        return [tuple(slice(b[n], b[n + 1]) for b in bounds) for n in range(len(bounds[0]) - 1)]
    return [(n, n) for n in range(len(q))] if q.ndim == 4 else [(slice(None), slice(None))]


def check(module, function, t, q, k, e, bounds=None, sink=False, given=False, made=False, reads=(), added=None,
          rate=0.0, dbias=False, **options):
    """`given`: o and lse are arguments, else the graph computes them. `reads`: operands of the
    regions; added(sequence, S, L) is what is added to scores. `rate`: of dropout, whose seed is
    the last operand. dbias: one for "all" sequences, or for "each"."""
    q, k, v, do = data(t, q, k, e)
    sink = f32(rng.normal(size=q.shape[-2])) if sink else None
    cut = sequences(q, k, bounds)
    seed = [np.array(0x123456789ABC, np.int64)] if rate else []
    of = []  # the options of each sequence
    for n, (i, j) in enumerate(cut):
        sizes = len(q[i]), len(k[j])
        of.append(dict(options, sink=sink, added=added(n, *sizes) if added else 0.0,
                       factor=dropped(int(seed[0]), rate, n, q.shape[-2], *sizes) if rate else 1.0))
    o, lse = np.zeros(do.shape), np.full(q.shape[:-1], -np.inf)
    for n, (i, j) in enumerate(cut):
        o[i], lse[i] = forward(q[i], k[j], v[j], **of[n])
    o, lse = to(t, o), f32(lse)
    inputs = [q, k, v] + ([o] if given else [])
    if made:  # the graph makes the gradient
        w = normal(t, *do.shape)
        inputs += [do, w]
        do = to(t, do * w)
    else:
        inputs.append(do)
    inputs += ([lse] if given else []) + ([np.array(b, np.int32) for b in bounds] if bounds is not None else [])
    inputs += ([sink] if sink is not None else []) + list(reads) + seed
    results = [np.zeros(x.shape) for x in (q, k, v)]
    sinks, biases = 0, []
    for n, (i, j) in enumerate(cut):
        parts = backward(q[i], k[j], v[j], do[i], lse[i], (o[i] * do[i]).sum(-1), **of[n])
        results[0][i], results[1][j], results[2][j] = parts[:3]
        sinks = sinks + parts[3]
        biases.append(parts[4])
    results += [sinks] if sink is not None else []
    if dbias:
        results.append(np.stack(biases) if dbias == "each" else sum(biases)[None])
    compare(module, function, inputs, results)


def alibi(slopes):
    """What is added to scores for slopes [H] or [sequences, H]."""
    def added(sequence, n, length):
        far = np.abs(np.arange(length)[None] - (np.arange(n)[:, None] + length - n))
        return -(slopes if slopes.ndim == 1 else slopes[sequence])[:, None, None] * far
    return dict(reads=[slopes], added=added)


def biased(t, *shape, of=lambda bias, sequence: bias):
    """A bias of this shape, of which of(bias, sequence) is added."""
    bias = normal(t, *shape)
    return dict(reads=[bias], added=lambda sequence, *_: of(bias, sequence))


flash, fused, one = "flash_attn_bwd", "mha_fused_bwd", "mha_onekernel_bwd"
check(flash, "causal", "bf16", (2, 33, 4, 64), (2, 47, 2, 64), 64, scale=0.125, causal=True)
check(flash, "more_queries_than_keys", "f32", (1, 40, 2, 32), (1, 9, 2, 32), 32, scale=0.125, causal=True)
check(flash, "windows_f16", "f16", (1, 70, 2, 128), (1, 70, 1, 128), 128, scale=0.0884, left=16, right=5)
check(flash, "full_48_8", "bf16", (1, 11, 48, 64), (1, 19, 8, 64), 64, scale=0.125)
check(flash, "ragged", "bf16", (37, 6, 64), (45, 2, 64), 64, ([0, 5, 5, 33, 35], [0, 9, 12, 30, 40]), scale=0.125, causal=True)
check(flash, "ragged_window_softcap", "f16", (37, 4, 80), (45, 4, 80), 48, ([0, 20, 21, 37], [0, 8, 30, 45]),
      scale=0.3, causal=True, left=20, cap=3.0)
check(flash, "one_sequence", "bf16", (37, 3, 40), (45, 1, 40), 24, scale=0.125, causal=True)
check(flash, "any_head_size", "bf16", (1, 21, 3, 33), (1, 17, 3, 33), 7, scale=0.125, causal=True, cap=2.0)
check(flash, "bias_of_heads", "bf16", (2, 33, 4, 64), (2, 47, 2, 64), 64, scale=0.125, causal=True, dbias="all",
      **biased("bf16", 1, 4, 33, 47, of=lambda b, n: b[0]))
check(flash, "bias_of_sequences", "f16", (2, 21, 6, 40), (2, 70, 2, 40), 64, scale=0.158, left=60, dbias="each",
      **biased("f32", 2, 6, 21, 70, of=lambda b, n: b[n]))
mask = rng.integers(0, 4, (35, 35)) > 0
mask[4] = False  # a query that sees nothing
masked = biased("f32", 35, 35, of=lambda b, n: np.where(mask, b, -np.inf)[None])
masked["reads"].append(mask)
check(flash, "bias_mask_softcap", "bf16", (3, 35, 2, 128), (3, 35, 1, 128), 128, scale=0.0884, cap=3.0, dbias="all", **masked)
check(flash, "bias_any_head_size", "bf16", (2, 21, 3, 33), (2, 17, 3, 33), 7, scale=0.125, causal=True, cap=2.0, dbias="all",
      **biased("f32", 3, 21, 17))
check(flash, "alibi_ragged", "bf16", (37, 6, 64), (45, 2, 64), 64, ([0, 5, 5, 33, 35], [0, 9, 12, 30, 40]), scale=0.125,
      causal=True, **alibi(np.abs(normal("f32", 6))))
check(flash, "dropout", "bf16", (2, 33, 4, 64), (2, 47, 2, 64), 64, scale=0.125, causal=True, rate=0.2)
check(flash, "bias_dropout", "f16", (1, 50, 4, 96), (1, 40, 4, 96), 64, scale=0.1, rate=0.5, dbias="all",
      **biased("f32", 4, 50, 40))

check(fused, "causal_f16", "f16", (2, 30, 2, 64), (2, 20, 2, 64), 64, given=True, scale=0.125, causal=True)
check(fused, "full_bf16_128", "bf16", (1, 30, 4, 128), (1, 50, 1, 128), 128, given=True, scale=0.0884)
check(fused, "causal_f32", "f32", (1, 50, 4, 64), (1, 50, 2, 64), 64, given=True, scale=0.125, causal=True)
check(fused, "gradient_made", "bf16", (1, 64, 4, 32), (1, 32, 4, 32), 32, given=True, made=True, scale=0.177, causal=True)
check(fused, "large_heads", "bf16", (1, 9, 2, 256), (1, 12, 1, 256), 256, given=True, scale=0.0625, causal=True)
check(fused, "bias_dynamic", "bf16", (3, 19, 4, 64), (3, 26, 2, 64), 32, given=True, scale=0.125, causal=True, dbias="all",
      **biased("f32", 4, 19, 26))
check(fused, "alibi_sequences", "f32", (2, 30, 4, 64), (2, 41, 2, 64), 64, given=True, scale=0.125, causal=True,
      **alibi(np.abs(normal("f32", 2, 4))))
check(fused, "dropout", "f16", (2, 30, 2, 64), (2, 20, 2, 64), 64, given=True, scale=0.125, causal=True, rate=0.2)

check(one, "rotary_part", "bf16", (1, 40, 4, 192), (1, 40, 1, 192), 128, given=True, scale=0.0722, causal=True)
check(one, "sink", "bf16", (2, 35, 4, 64), (2, 50, 2, 64), 64, given=True, sink=True, scale=0.125, causal=True)
check(one, "sink_window_f16", "f16", (1, 90, 2, 128), (1, 90, 1, 128), 128, given=True, sink=True, scale=0.0884,
      causal=True, left=30)
check(one, "sink_ragged", "bf16", (40, 6, 96), (45, 3, 96), 64, ([0, 5, 5, 33, 35], [0, 3, 12, 30, 40]), given=True,
      sink=True, scale=0.102, causal=True)
check(one, "to_f32", "bf16", (1, 33, 8, 64), (1, 20, 1, 64), 32, given=True, scale=0.125)
check(one, "sink_more_queries", "f32", (1, 20, 2, 48), (1, 6, 2, 48), 48, given=True, sink=True, scale=0.125, causal=True)
check(one, "sink_alibi_dropout", "bf16", (40, 6, 96), (45, 3, 96), 64, ([0, 5, 5, 33, 35], [0, 3, 12, 30, 40]), given=True,
      sink=True, scale=0.102, causal=True, left=40, rate=0.2, **alibi(np.abs(normal("f32", 6))))
check(one, "rotary_bias", "bf16", (2, 40, 4, 192), (2, 40, 1, 192), 128, given=True, scale=0.0722, causal=True, dbias="all",
      **biased("f32", 4, 40, 40))
finish(flash, fused, one)
