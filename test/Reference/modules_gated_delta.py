"""Whole graphs of the gated delta rule against NumPy: the recurrence with outer products,
the chunk operators with matrices of whole chunks, and the chunked form as a whole against
the recurrence, of which it is a rearrangement."""

import numpy as np

from formulas import compare, convolve, finish, normal, quantised, rms, rng, sigmoid, silu
from oracle import f32, to


def normalised(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def recurrence(q, k, v, state, scale, g=0.0, gk=None, gv=None, beta=None, linear=False):
    """q, k [T, H, K], v [T, HV, V], state [HV, K, V] -> results and the last state."""
    tokens, heads, values = v.shape
    share = heads // q.shape[1]
    out, state = np.zeros(v.shape), state.copy()
    g = np.broadcast_to(g, (tokens, heads))
    for t, h in np.ndindex(tokens, heads):
        s, key = state[h], k[t, h // share]
        s = s * np.exp(g[t, h])
        if gk is not None:
            s = s * np.exp(gk[t, h])[:, None]
        if gv is not None:
            s = s * np.exp(gv[t, h])[None, :]
        d = v[t, h] - (0 if linear else key @ s)
        state[h] = s + np.outer(key, d * (1 if beta is None else beta[t, h]))
        out[t, h] = scale * q[t, h // share] @ state[h]
    return out, state


def sequences(bounds, body):
    for n, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:])):
        body(n, slice(begin, end))


# fused_recurrent
T = 6
q, k, v = normal("bf16", 2, T, 2, 64), normal("bf16", 2, T, 2, 64), normal("bf16", 2, T, 4, 32)
a, b, s = normal("bf16", 2, T, 4), normal("bf16", 2, T, 4), normal("f32", 2, 4, 64, 32)
has = np.array([True, False])
parts = [recurrence(normalised(q[n]), normalised(k[n]), v[n], s[n] * has[n], 1 / 8, -np.abs(a[n]), beta=sigmoid(b[n]))
         for n in range(2)]
compare("fused_recurrent", "grouped", [q, k, v, a, b, s, has], [np.stack(x) for x in zip(*parts)])

q, k, v = normal("f32", 1, T, 1, 60), normal("f32", 1, T, 1, 60), normal("f32", 1, T, 1, 20)
y, _ = recurrence(normalised(q[0]), normalised(k[0]), v[0], np.zeros((1, 60, 20)), 1.0)
compare("fused_recurrent", "plain_60", [q, k, v], y[None])

q, k, v = normal("f32", 2, T, 1, 24), normal("f32", 2, T, 1, 24), normal("f32", 2, T, 2, 12)
a, gk, gv = normal("f32", 2, T, 2), normal("f32", 2, T, 2, 24), normal("f32", 2, T, 2, 12)
b, s = normal("f32", 2, T, 2), normal("bf16", 2, 2, 24, 12)
parts = [recurrence(normalised(q[n]), normalised(k[n]), v[n], s[n], 24**-0.5, -60 * np.abs(a[n]), -np.abs(gk[n]),
                    -np.abs(gv[n]), (b[n] > 0) * 1.0) for n in range(2)]
compare("fused_recurrent", "strong", [q, k, v, a, gk, gv, b, s], [np.stack(x) for x in zip(*parts)])

q, k, v = normal("f16", 9, 1, 16), normal("f16", 9, 1, 16), normal("f16", 9, 3, 8)
gk, gv, b = normal("f32", 9, 3, 16), normal("f32", 9, 3, 8), normal("f16", 9, 3, 8)
cu, s, line = np.array([0, 4, 4, 8], np.int32), normal("bf16", 4, 3, 8, 16), np.array([2, 3, -1], np.int64)
y, after = np.zeros(v.shape), s.copy()


def ragged(n, part):
    start = s[line[n]].swapaxes(1, 2) if line[n] >= 0 else np.zeros((3, 16, 8))
    y[part], last = recurrence(normalised(q[part]), normalised(k[part]), v[part], start, 1 / 4,
                               gk=-np.abs(gk[part]), gv=-np.abs(gv[part]), beta=sigmoid(b[part]))
    if line[n] >= 0:
        after[line[n]] = last.swapaxes(1, 2)


sequences(cu, ragged)
compare("fused_recurrent", "ragged", [q, k, v, gk, gv, b, cu, s, line], [y, after])

q, k, v = normal("bf16", 2, T, 2, 16), normal("bf16", 2, T, 2, 16), normal("bf16", 2, T, 4, 12)
a, b, s = normal("bf16", 2, T, 4), normal("bf16", 2, T, 4), normal("f32", 2, 4, 16, 12)
parts = [recurrence(q[n], k[n], v[n], s[n], 1 / 4, -np.abs(a[n]), beta=sigmoid(b[n]), linear=True) for n in range(2)]
compare("fused_recurrent", "linear", [q, k, v, a, b, s], [np.stack(x) for x in zip(*parts)])

q, k, v, gk = normal("f32", 9, 1, 16), normal("f32", 9, 1, 16), normal("f32", 9, 3, 1), normal("f32", 9, 3, 16)
s, line = normal("f32", 4, 3, 16, 1), np.array([2, 3, -1], np.int64)
y, after = np.zeros(v.shape), s.copy()


def channels(n, part):
    start = s[line[n]] if line[n] >= 0 else np.zeros((3, 16, 1))
    y[part], last = recurrence(q[part], k[part], v[part], start, 1.0, gk=-np.abs(gk[part]), linear=True)
    if line[n] >= 0:
        after[line[n]] = last


sequences(cu, channels)
compare("fused_recurrent", "channels", [q, k, v, gk, cu, s, line], [y, after])

# fused_sigmoid_gating_recurrent
q, k, v = normal("bf16", 3, 1, 2, 64), normal("bf16", 3, 1, 2, 64), normal("bf16", 3, 1, 4, 64)
a, b, dt, alog = normal("bf16", 3, 1, 4), normal("bf16", 3, 1, 4), normal("bf16", 4), normal("f32", 4)
s, line = normal("bf16", 5, 4, 64, 64), np.array([4, 9, 0], np.int32)
y, after = np.zeros(v.shape), s.copy()
for n in range(3):
    start = s[line[n]].swapaxes(1, 2) if line[n] < 5 else np.zeros((4, 64, 64))
    decay = -np.exp(alog) * np.log(1 + np.exp(a[n] + dt))
    y[n], last = recurrence(normalised(q[n]), normalised(k[n]), v[n], start, 1 / 8, decay, beta=sigmoid(b[n]))
    if line[n] < 5:
        after[line[n]] = last.swapaxes(1, 2)
compare("fused_sigmoid_gating_recurrent", "decode", [q, k, v, a, b, alog, dt, s, line], [y, after])
q, k, v = normal("f16", 2, 3, 1, 32), normal("f16", 2, 3, 1, 32), normal("f16", 2, 3, 2, 16)
a, b, alog, s, line = normal("f16", 2, 3, 2), normal("f16", 2, 3, 2), normal("f32", 2), normal("f32", 5, 2, 32, 16), np.array([1, 3])
parts = [recurrence(normalised(q[n]), normalised(k[n]), v[n], s[line[n]], 32**-0.5, -np.exp(alog) * np.log(1 + np.exp(a[n])),
                    beta=sigmoid(b[n])) for n in range(2)]
after = s.copy()
after[line] = [last for _, last in parts]
compare("fused_sigmoid_gating_recurrent", "three_tokens", [q, k, v, a, b, alog, s, line], [np.stack([y for y, _ in parts]), after])


# A decode step from the projections, or from what the convolution reads, to the gated norm.
def decode_step(x, z, ba, w, alog, dt, norm, conv, s, line, share, order, bias=0.0, keep=lambda i: True, kind="bf16"):
    """x [n, C]; conv [lines, S, C], s [lines, HV, K, V]; `order` names the runs of channels.
    Returns the gated norm before it is rounded, and both states."""
    heads, keys, values = s.shape[1:]
    sizes = {"q": (heads // share, keys), "k": (heads // share, keys), "v": (heads, values)}
    out, conv, s = np.zeros((len(x), heads, values)), conv.copy(), s.copy()
    for i, n in enumerate(line):
        known = 0 <= n < len(conv) and n != keep.pad
        y, after = convolve(x[i:i + 1], w, conv[n] if known and keep(i) else np.zeros(conv.shape[1:]), bias)
        y, parts, at = to(kind, silu(f32(y if known else 0 * y))), {}, 0
        for name in order:
            h, size = sizes[name]
            parts[name] = y[:, at:at + h * size].reshape(1, h, size)
            at += h * size
        b, a = (half.reshape(1, heads) for half in np.split(ba[i].reshape(-1, 2 * share), 2, -1))
        there = 0 <= n < len(s)
        start = s[n] if there and keep(i) else np.zeros(s.shape[1:])
        o, last = recurrence(normalised(parts["q"]), normalised(parts["k"]), parts["v"], start, keys**-0.5,
                             -np.exp(alog) * np.log(1 + np.exp(a + dt)), beta=sigmoid(b))
        out[i] = f32(rms(to(kind, o[0]), norm)) * f32(silu(z[i]))
        if known:
            conv[n] = after
        if there:
            s[n] = last
    return out, conv, s


def always(i):
    return True


always.pad = None
n, c = 3, 512
qkvz, ba, w, alog = normal("bf16", n, 768), normal("bf16", n, 8), normal("bf16", 512, 4), normal("f32", 4)
dt, norm, conv, s = normal("f32", 4), normal("bf16", 64), normal("bf16", 5, 3, c), normal("f32", 5, 4, 64, 64)
line = np.array([4, -1, 0], np.int32)
grouped = qkvz.reshape(n, 2, 384)
q, k, v, z = (part.reshape(n, -1) for part in np.split(grouped, [64, 128, 256], -1))
y, conv1, s1 = decode_step(np.concatenate([q, k, v], -1), z.reshape(n, 4, 64), ba, w, alog, dt, norm, conv, s, line, 2, "qkv",
                           keep=always)
compare("fused_sigmoid_gating_recurrent", "from_projections", [qkvz, ba, w, alog, dt, norm, conv, s, line],
        [to("bf16", y), conv1, s1])

c, fresh = 224, np.array([True, False, True])
x, z, ba, w, bias = normal("bf16", n, c), normal("bf16", n, 6, 16), normal("bf16", n, 12), normal("bf16", c, 3), normal("bf16", c)
alog, dt, norm = normal("f32", 6), normal("f32", 6), normal("bf16", 16)
conv, s, line = normal("bf16", 5, 5, c), normal("bf16", 5, 6, 16, 32), np.array([3, 2, 1], np.int32)


def unlessFresh(i):
    return fresh[i]


unlessFresh.pad = 1
y, conv1, s1 = decode_step(x, z, ba, w, alog, dt, norm, conv, s.swapaxes(2, 3), line, 3, "vqk", bias, unlessFresh)
codes_of, scales = quantised(to("bf16", y).reshape(n, 96), "f8E4M3FNUZ", 16)
compare("fused_sigmoid_gating_recurrent", "to_codes", [x, z, ba, w, bias, alog, dt, norm, conv, s, line, fresh],
        [codes_of, scales, conv1, s1.swapaxes(2, 3)])

c = 48
x, z, ba, w = normal("f32", n, c), normal("f32", n, 1, 8), normal("f32", n, 2), normal("f32", c, 2)
alog, dt, norm, conv, s = normal("f32", 1), normal("f32", 1), normal("f32", 8), normal("f32", 5, 1, c), normal("f32", 5, 1, 20, 8)
y, conv1, s1 = decode_step(x, z, ba, w, alog, dt, norm, conv, s, line, 1, "vqk", keep=always, kind="f32")
compare("fused_sigmoid_gating_recurrent", "f32_20_keys", [x, z, ba, w, alog, dt, norm, conv, s, line], [f32(y), conv1, s1])

q, k, v, z = normal("f16", 5, 1, 32), normal("f16", 5, 1, 32), normal("f16", 5, 2, 128), normal("f16", 5, 2, 128)
b, norm, cu, y = normal("f32", 5, 2), normal("f32", 128), np.array([0, 2, 4], np.int32), np.zeros((5, 2, 128))
sequences(cu, lambda n, part: y.__setitem__(part, recurrence(
    normalised(q[part]), normalised(k[part]), v[part], np.zeros((2, 32, 128)), 32**-0.5, beta=b[part])[0]))
y = to("f16", f32(rms(to("f16", y), norm)) * f32(silu(z))).reshape(5, 256)
compare("fused_sigmoid_gating_recurrent", "ragged_norm", [q, k, v, z, b, norm, cu], to("f16", y / 2))


# The chunk operators, each with the matrices of a chunk.
def chunks(tokens, size, bounds=None):
    """Slices of the chunks of dense or ragged tokens, with their sequence and number."""
    for n, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:]) if bounds is not None else [(0, tokens)]):
        for c, start in enumerate(range(begin, end, size)):
            yield n, c, slice(start, min(start + size, end))


def kkt(k, g, beta, size, bounds=None):
    tokens, heads = beta.shape
    out = np.zeros((tokens, heads, size))
    share = heads // k.shape[1]
    for _, _, part in chunks(tokens, size, bounds):
        for h in range(heads):
            x = k[part, h // share]
            with np.errstate(over="ignore"):
                weight = np.exp(np.tril(g[part, h][:, None] - g[part, h][None, :]))
            m = np.tril(x @ x.T * weight, -1) * beta[part, h][:, None]
            out[part, h, :len(x)] = m
    return out


def inverse(a, bounds=None):
    out = np.zeros(a.shape)
    for _, _, part in chunks(len(a), a.shape[-1], bounds):
        n = part.stop - part.start
        for h in range(a.shape[1]):
            out[part, h, :n] = np.linalg.inv(np.eye(n) + np.tril(a[part, h, :n], -1))
    return out


def wu(k, v, x, g, beta, kinds, bounds=None):
    tokens, heads = beta.shape
    share = heads // k.shape[1]
    w, u = np.zeros((tokens, heads, k.shape[-1])), np.zeros(v.shape)
    for _, _, part in chunks(tokens, x.shape[-1], bounds):
        n = part.stop - part.start
        for h in range(heads):
            m = np.tril(x[part, h, :n])
            w[part, h] = m @ to(kinds[0], k[part, h // share] * (beta[part, h] * np.exp(g[part, h]))[:, None])
            u[part, h] = m @ to(kinds[1], v[part, h] * beta[part, h][:, None])
    return w, u


def states(k, w, u, g, size, kind, start, bounds=None):
    """start(n) -> the first state [HV, K, V] of sequence n. Snapshots by (n, c), values, last states."""
    heads, share = u.shape[1], u.shape[1] // k.shape[1]
    seen, new, now = {}, np.zeros(u.shape), {}
    for n in range(1 if bounds is None else len(bounds) - 1):
        now[n] = start(n).copy()
    for n, c, part in chunks(len(u), size, bounds):
        seen[n, c] = to(kind, now[n])
        for h in range(heads):
            left = u[part, h] - w[part, h] @ to(kind, now[n][h])
            new[part, h] = left
            last = g[part, h][-1]
            late = to(kind, left * np.exp(last - g[part, h])[:, None])
            now[n][h] = np.exp(last) * now[n][h] + k[part, h // share].T @ late
    return seen, new, now


def output(q, k, v, seen, g, size, scale, kind, bounds=None):
    heads, share = v.shape[1], v.shape[1] // k.shape[1]
    out = np.zeros(v.shape)
    for n, c, part in chunks(len(v), size, bounds):
        for h in range(heads):
            x, y = q[part, h // share], k[part, h // share]
            weight = np.tril(np.exp(np.tril(g[part, h][:, None] - g[part, h][None, :])))
            inside = to(kind, np.tril(x @ y.T) * weight) @ v[part, h]
            out[part, h] = scale * (np.exp(g[part, h])[:, None] * (x @ seen[n, c][h]) + inside)
    return out


T, CU = 70, np.array([0, 20, 20, 66], np.int32)
k, b, g = normal("bf16", 1, T, 1, 64), normal("bf16", 1, T, 2), normal("f32", 1, T, 2)
compare("wy_representation", "kkt", [k, g, b], kkt(k[0], g[0], sigmoid(b[0]), 64)[None])
k = normal("f16", T, 2, 60)
compare("wy_representation", "kkt_ragged_60", [k, CU], kkt(k, np.zeros((T, 2)), np.ones((T, 2)), 16, CU))
for name, values in [("wu", 32), ("wu_fragments", 128)]:
    k, v, x = normal("bf16", 1, T, 1, 64), normal("bf16", 1, T, 2, values), normal("bf16", 1, T, 2, 64)
    w, u = wu(k[0], v[0], x[0], g[0], sigmoid(b[0]), ("bf16", "bf16"))
    compare("wy_representation", name, [k, v, x, g, b], [w[None], u[None]])
k, v, x = normal("f32", T, 1, 20), normal("f16", T, 2, 6), normal("f32", T, 2, 32)
compare("wy_representation", "wu_ragged_20", [k, v, x, CU], wu(k, v, x, np.zeros((T, 2)), np.ones((T, 2)), ("f32", "f16"), CU))

for name, batch, heads, size, bounds in [("c16", 1, 2, 16, None), ("c32", 2, 1, 32, None), ("c64", 1, 2, 64, None),
                                         ("ragged_64", None, 3, 64, CU)]:
    if batch is None:
        a = normal("f32", T, heads, size)
        compare("solve_tril", name, [a, CU], inverse(to("f32", a * to("f32", 0.1)), CU))
    else:
        a = normal("f32", batch, T, heads, size)
        compare("solve_tril", name, [a], np.stack([inverse(to("f32", x * to("f32", 0.1))) for x in a]))

for name, values in [("dense", 16), ("fragments", 64)]:
    k, w, u, g = normal("bf16", 2, T, 1, 64), normal("bf16", 2, T, 2, 64), normal("bf16", 2, T, 2, values), normal("f32", 2, T, 2)
    s, has = normal("f32", 2, 2, 64, values), np.array([False, True])
    found = [states(k[n] / 16, w[n] / 16, u[n], g[n], 64, "bf16", lambda _, n=n: s[n] * has[n]) for n in range(2)]
    compare("chunk_delta_h", name, [k, w, u, g, s, has],
            [np.stack([[seen[0, c] for c in range(2)] for seen, _, _ in found]), np.stack([new for _, new, _ in found]),
             np.stack([now[0] for _, _, now in found])])
line = np.array([3, 0, 2], np.int32)
for name, kind, heads, keys, values, size in [("ragged_20", "f32", 2, 20, 6, 16), ("fragments_ragged", "f16", 1, 128, 64, 32)]:
    k, w, u = normal(kind, T, heads, keys), normal(kind, T, 2, keys), normal(kind, T, 2, values)
    s, a = normal("bf16", 4, 2, values, keys), np.zeros((T, 2)) if heads == 2 else normal("f32", T, 2)
    seen, new, now = states(k, w / 16, u, a, size, kind, lambda n: s[line[n]].swapaxes(1, 2), CU)
    h, after = np.zeros((-(-T // size) + 3, 2, keys, values)), s.copy()
    for (n, c), state in seen.items():
        h[CU[n] // size + n + c] = state
    for n in range(3):
        after[line[n]] = now[n].swapaxes(1, 2)
    compare("chunk_delta_h", name, [k, w, u, *([a] if heads == 1 else []), CU, s, line], [h, new, after])

for name, keys, values in [("dense", 64, 32), ("fragments", 128, 64)]:
    q, k, v = normal("bf16", 1, T, 1, keys), normal("bf16", 1, T, 1, keys), normal("bf16", 1, T, 2, values)
    h, g = normal("bf16", 1, 2, 2, keys, values), normal("f32", 1, T, 2)
    compare("chunk_o", name, [q, k, v, h, g],
            output(q[0], k[0], v[0], {(0, c): h[0, c] for c in range(2)}, g[0], 64, keys**-0.5, "bf16")[None])
q, k, v, g = normal("f16", T, 1, 128), normal("f16", T, 1, 128), normal("f16", T, 2, 64), normal("f32", T, 2)
h = normal("f16", -(-T // 32) + 3, 2, 128, 64)
places = {(n, c): h[CU[n] // 32 + n + c] for n in range(3) for c in range(-(-int(CU[n + 1] - CU[n]) // 32))}
compare("chunk_o", "fragments_ragged", [q, k, v, h, g, CU], output(q, k, v, places, g, 32, 128**-0.5, "f16", CU))


# The chunked form in f32 is the recurrence.
def local_sums(g, size, bounds):
    out = np.zeros(g.shape)
    for _, _, part in chunks(len(g), size, bounds):
        out[part] = np.cumsum(g[part], 0)
    return out


q, k, v = normal("f32", T, 1, 20), normal("f32", T, 1, 20), normal("f32", T, 2, 6)
a, beta, s = normal("f32", T, 2), rng.uniform(0, 1, (T, 2)).astype(np.float32).astype(float), normal("bf16", 4, 2, 6, 20)
y, after = np.zeros(v.shape), s.copy()


def rearranged(n, part):
    y[part], last = recurrence(q[part], k[part] / 16, v[part], s[line[n]].swapaxes(1, 2), 20**-0.5, -np.abs(a[part]), beta=beta[part])
    after[line[n]] = last.swapaxes(1, 2)


sequences(CU, rearranged)
compare("chunk", "ragged_16", [q, k, v, a, beta, CU, s, line], [y, after])

k, a, b = normal("bf16", 1, T, 1, 64), normal("f32", 1, T, 2), normal("bf16", 1, T, 2)
g = local_sums(-np.abs(a[0]), 64, [0, T])
compare("fused_cumsum_kkt", "dense", [k, a, b], [g[None], kkt(k[0], g, sigmoid(b[0]), 64)[None]])
k, a = normal("f16", T, 1, 20), normal("f32", T, 3)
g = local_sums(a, 16, CU)
compare("fused_cumsum_kkt", "ragged", [k, a, CU], [g, kkt(k, g, np.ones((T, 3)), 16, CU)])

# In bf16 with the roundings that the operators state.
T = 70
k, a, b = normal("bf16", 1, T, 1, 64), normal("f32", 1, T, 2), normal("bf16", 1, T, 2)
kn, g = to("bf16", normalised(k[0])), local_sums(-np.abs(a[0]), 64, [0, T])
compare("chunk", "compute_a", [k, a, b], inverse(kkt(kn, g, sigmoid(b[0]), 64))[None])
q, k, v = normal("bf16", 2, T, 1, 64), normal("bf16", 2, T, 1, 64), normal("bf16", 2, T, 2, 16)
a, beta = normal("f32", 2, T, 2), rng.uniform(0, 1, (2, T, 2)).astype(np.float32).astype(float)
s, results, lasts = normal("f32", 2, 2, 64, 16), [], []
for n in range(2):
    ks, g = k[n] / 16, local_sums(-np.abs(a[n]), 64, [0, T])
    x = to("bf16", inverse(kkt(ks, g, beta[n], 64)))
    w, u = (to("bf16", x) for x in wu(ks, v[n], x, g, beta[n], ("bf16", "bf16")))
    seen, new, now = states(ks, w, u, g, 64, "bf16", lambda _: s[n] * has[n])
    results.append(output(q[n], ks, to("bf16", new), seen, g, 64, 1 / 8, "bf16"))
    lasts.append(now[0])
compare("chunk", "pipeline", [q, k, v, a, beta, s, has], [np.stack(results), np.stack(lasts)])

q, k, v = normal("bf16", 2, T, 1, 64), normal("bf16", 2, T, 1, 64), normal("bf16", 2, T, 2, 128)
s, results, lasts = normal("f32", 2, 2, 64, 128), [], []
for n in range(2):
    ks, g = k[n] / 16, local_sums(-np.abs(a[n]), 64, [0, T])
    x = to("bf16", inverse(kkt(ks, g, beta[n], 64)))
    w, u = (to("bf16", x) for x in wu(ks, v[n], x, g, beta[n], ("bf16", "bf16")))
    seen, new, now = states(ks, w, u, g, 64, "bf16", lambda _: s[n] * has[n])
    results.append(output(q[n], ks, to("bf16", new), seen, g, 64, 1 / 8, "bf16"))
    lasts.append(now[0])
compare("chunk", "fragments", [q, k, v, a, beta, s, has], [np.stack(results), np.stack(lasts)])

q, k, v = normal("bf16", 1, T, 1, 128), normal("bf16", 1, T, 1, 128), normal("bf16", 1, T, 2, 128)
a, b, s = normal("f32", 1, T, 2), normal("f32", 1, T, 2), normal("f32", 1, 2, 128, 128)
ks, g, strength = k[0] / 16, local_sums(-60 * np.abs(a[0]), 64, [0, T]), (b[0] > 0) * 1.0
x = to("bf16", inverse(kkt(ks, g, strength, 64)))
w, u = (to("bf16", x) for x in wu(ks, v[0], x, g, strength, ("bf16", "bf16")))
seen, new, now = states(ks, w, u, g, 64, "bf16", lambda _: s[0])
compare("chunk", "strong", [q, k, v, a, b, s],
        [output(q[0], ks, to("bf16", new), seen, g, 64, 128**-0.5, "bf16")[None], now[0][None]])

q, k, v, s = normal("f16", T, 1, 128), normal("f16", T, 1, 128), normal("f16", T, 2, 64), normal("bf16", 4, 2, 64, 128)
ks, qs, none, beta = to("f16", k / 16), to("f16", q / 16), np.zeros((T, 2)), beta[0]
products = kkt(ks, none, beta, 32, CU)
x = inverse(products, CU)
w, u = (to("f16", x) for x in wu(ks, v, to("f16", x), none, beta, ("f16", "f16"), CU))
seen, new, now = states(ks, w, u, none, 32, "f16", lambda n: s[line[n]].swapaxes(1, 2), CU)
after = s.copy()
for n, last in now.items():
    after[line[n]] = last.swapaxes(1, 2)
y = output(qs, ks, to("f16", new), seen, none, 32, 2.0, "f16", CU)
compare("chunk", "fragments_ragged", [q, k, v, beta, CU, s, line], [products, x, y, after])

q, k, w = (rng.integers(-128, 128, (1, T, h, 64)).astype(np.int8) for h in (1, 1, 2))
u, none = normal("bf16", 1, T, 2, 64), np.zeros((T, 2))
qs, ks, ws = (x[0] / 1024 for x in (q, k, w))
seen, new, _ = states(ks, ws, u[0], none, 32, "bf16", lambda _: np.zeros((2, 64, 64)))
compare("chunk", "scan", [q, k, w, u], output(qs, ks, to("bf16", new), seen, none, 32, 1 / 8, "bf16")[None])

finish("fused_recurrent", "fused_sigmoid_gating_recurrent", "wy_representation", "solve_tril", "chunk_delta_h", "chunk_o", "chunk", "fused_cumsum_kkt")
