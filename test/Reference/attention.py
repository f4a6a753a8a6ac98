"""Attention in all its forms against a softmax over masked scores."""

import numpy as np

from oracle import check, f32, finish, run, tensor, to

rng = np.random.default_rng(5)


def attend(q, k, v, scale, causal=False, left=None, right=None, softcap=None, sink=None, first=False):
    """q [S, H, D], k [L, Hk, D], v [L, Hk, E] of one sequence -> o, lse. `first`: causal, with the
    first query's own key the first one."""
    s_len, heads, l_len = q.shape[0], q.shape[1], k.shape[0]
    group = heads // k.shape[1]
    o, lse = np.zeros((s_len, heads, v.shape[-1])), np.full((s_len, heads), -np.inf)
    for h in range(heads):
        s = q[:, h] @ k[:, h // group].T * scale
        if softcap:
            s = softcap * np.tanh(s / softcap)
        i, j = np.arange(s_len)[:, None] + l_len - s_len, np.arange(l_len)[None]
        seen = np.ones(s.shape, bool)
        if causal:
            seen &= j <= i
        if first:
            seen &= j <= np.arange(s_len)[:, None]
        if left is not None:
            seen &= j >= i - left
        if right is not None:
            seen &= j <= i + right
        for r in range(s_len):
            values = s[r][seen[r]]
            logits = np.append(values, sink[h]) if sink is not None else values
            if len(logits) == 0:
                continue
            m = logits.max()
            lse[r, h] = m + np.log(np.exp(logits - m).sum())
            o[r, h] = np.exp(values - lse[r, h]) @ v[seen[r], h // group]
    return o, lse


def test(name, q, k, v, dtype, extra=(), attrs="", with_lse=True, sequences=None, **options):
    operands = [(q, dtype), (k, dtype), (v, dtype)]
    ins = ", ".join(tensor(a, t) for a, t in operands)
    words, types = "", ""
    for i, (keyword, array, t) in enumerate(extra):
        words += f" {keyword} %{3 + i}"
        types += f" {keyword} {tensor(array, t)}"
        operands.append((array, t))
    out = q.shape[:-1] + (v.shape[-1],)
    scale = 0.25
    case = run(f"hk.attention %0, %1, %2{words} scale 0.25{attrs} : {ins}{types} -> OUTS", operands,
               [(out, dtype)] + ([(q.shape[:-1], "f32")] if with_lse else []))
    o, lse = np.zeros(out), np.full(q.shape[:-1], -np.inf)
    for where, qs, ks, vs in sequences:
        o[where], lse[where] = attend(qs, ks, vs, scale, **options)
    check(name, case, [to(dtype, o), f32(lse)] if with_lse else [to(dtype, o)])
    # Values are about 1: a bound much wider than the type's rounding is wrong.
    limit = {"f32": 1e-4, "bf16": 0.1, "f16": 0.02}[dtype]
    assert case.bounds[0].max() < limit, (name, case.bounds[0].max())


def data(dtype, *shape):
    return to(dtype, rng.normal(size=shape))


for dtype in ["f32", "bf16", "f16"]:
    q, k, v = data(dtype, 2, 7, 4, 16), data(dtype, 2, 9, 2, 16), data(dtype, 2, 9, 2, 8)
    dense = [(b, q[b], k[b], v[b]) for b in range(2)]
    test("dense", q, k, v, dtype, sequences=dense)
    test("no lse", q, k, v, dtype, with_lse=False, sequences=dense)
    test("causal", q, k, v, dtype, attrs=" causal", sequences=dense, causal=True)
    test("window", q, k, v, dtype, attrs=" causal window_left 3", sequences=dense, causal=True, left=3)
    test("two windows", q, k, v, dtype, attrs=" window_left 1 window_right 2", sequences=dense,
         left=1, right=2)
    # 7 queries of 4 keys, of which query i sees 0 to i: the own key of the last query is the last.
    few = [(b, q[b], k[b, :4], v[b, :4]) for b in range(2)]
    test("top left", q, k[:, :4], v[:, :4], dtype, attrs=" window_right 3", sequences=few, first=True)
    test("softcap", q, k, v, dtype, attrs=" softcap 1.5", sequences=dense, softcap=1.5)
    sink = f32(rng.normal(size=4))
    test("sink", q, k, v, dtype, [("sink", sink, "f32")], " causal", sequences=dense, causal=True, sink=sink)
    # Fewer keys than queries: the first queries see nothing.
    lens = np.array([3, 9])
    cut = [(b, q[b], k[b, : lens[b]], v[b, : lens[b]]) for b in range(2)]
    test("kv_lens", q, k, v, dtype, [("kv_lens", lens, "i32")], " causal", sequences=cut, causal=True)

    rq, rk, rv = data(dtype, 10, 4, 16), data(dtype, 14, 4, 16), data(dtype, 14, 4, 16)
    qo, ko = np.array([0, 4, 4, 10]), np.array([0, 6, 8, 14])
    ragged = [(slice(qo[b], qo[b + 1]), rq[qo[b] : qo[b + 1]], rk[ko[b] : ko[b + 1]], rv[ko[b] : ko[b + 1]])
              for b in range(3)]
    test("ragged", rq, rk, rv, dtype, [("q_offsets", qo, "i32"), ("kv_offsets", ko, "i32")], " causal",
         sequences=ragged, causal=True)
    test("one sequence", rq, rk, rv, dtype, attrs=" causal", sequences=[(slice(0, 10), rq, rk, rv)], causal=True)

    pages_k, pages_v = data(dtype, 6, 4, 2, 16), data(dtype, 6, 4, 2, 16)
    table, lens = np.array([[5, 1], [0, 3], [2, 2]]), np.array([7, 4, 1])
    paged = []
    for b in range(3):
        rows = [table[b, j // 4] * 4 + j % 4 for j in range(lens[b])]
        paged.append((slice(qo[b], qo[b + 1]), rq[qo[b] : qo[b + 1]], pages_k.reshape(24, 2, 16)[rows],
                      pages_v.reshape(24, 2, 16)[rows]))
    test("paged", rq, pages_k, pages_v, dtype,
         [("q_offsets", qo, "i32"), ("kv_lens", lens, "i32"), ("block_table", table, "i32")], " causal",
         sequences=paged, causal=True)

# Slices of the keys, by hand: 300 keys are 128, 128 and 44; a window of 20 shows keys
# from 278 on, and those from 256 on are one slice.
q, k, v = data("bf16", 2, 4, 16), data("bf16", 300, 2, 16), data("bf16", 300, 2, 8)
for window, cuts in [(None, [(0, 128), (128, 256), (256, 300)]), (20, [(256, 300), (300, 300), (300, 300)])]:
    attrs = "causal kv_slices 3" + (f" window_left {window}" if window else "")
    case = run(f"hk.attention %0, %1, %2 scale 0.25 {attrs} : INS -> OUTS", [(q, "bf16"), (k, "bf16"), (v, "bf16")],
               [((3, 2, 4, 8), "f32"), ((3, 2, 4), "f32")])
    parts = []
    for begin, end in cuts:
        # Keys of other slices get scores of -inf.
        s = np.einsum("ihd,jhd->ihj", q, np.repeat(k, 2, 1)) * 0.25
        i, j = np.arange(2)[:, None, None] + 298, np.arange(300)[None, None]
        seen = (j <= i) & (j >= begin) & (j < end) & (j >= i - (window or 300))
        e = np.where(seen, np.exp(s), 0)
        total = e.sum(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            o = np.nan_to_num(np.einsum("ihj,jhd->ihd", e, np.repeat(v, 2, 1)) / total[..., None])
            parts.append((o, np.log(total)))
    partials, lse = f32(np.stack([o for o, _ in parts])), f32(np.stack([l for _, l in parts]))
    check(f"slices {window}", case, [partials, lse])
    # Together they are the attention.
    sink = f32(rng.normal(size=4))
    o, full = attend(q, k, v, 0.25, causal=True, left=window, sink=sink)
    combine = run("hk.attention_combine %0, %1 sink %2 : INS sink tensor<4xf32> -> OUTS".replace("INS", f"{tensor(partials, 'f32')}, {tensor(lse, 'f32')}"),
                  [(partials, "f32"), (lse, "f32"), (sink, "f32")], [((2, 4, 8), "f32"), ((2, 4), "f32")])
    check(f"combined {window}", combine, [f32(o), f32(full)])
    assert combine.bounds[0].max() < 2e-5, combine.bounds[0].max()
nothing = run("hk.attention_combine %0, %1 : INS -> OUTS", [(np.zeros((2, 3, 4)), "f32"), (np.full((2, 3), -np.inf), "f32")],
              [((3, 4), "bf16"), ((3,), "f32")])
check("nothing seen", nothing, [np.zeros((3, 4)), np.full(3, -np.inf)], exact=True)
finish()
