"""Primitives and kernels of models as libraries publish them (hip/library.hip, hip/models.hip), each at four levels of
clang's optimiser, run in the emulator against NumPy.

Each launch also gets a modelled time, which has to be sane. usage: hip_library.py LIBHK_EMU [REGEX].
"""
import numpy as np

from foreign import CASES, Out, case, close, main
from hip_styles import F16, F32, F64, I32, U32, U64, BF16, f32, i32, rng, run, u64

CASES.clear()  # those of hip_styles
LEVELS = tuple({"level": level} for level in ("-O1", "-O2", "-O3", "-Os"))
I64 = np.dtype("i8")
blocks = case(LEVELS)


@blocks
def lookback_scan(chip, level):
    n = 1024 * 70 + 37  # a tile looks past a wave of predecessors
    x = rng(1).integers(0, 9, n).astype(U32)
    got = run("library", chip, "lookback_scan", (71,), (256,), x, Out(n, U32), np.zeros(71, U64), np.zeros(1, U32),
              i32(n), level=level)[1]
    close(got, np.cumsum(x).astype(U32))


@blocks
def radix_sort(chip, level):
    k = rng(2).integers(0, 2**32, 1999, dtype=np.uint64).astype(U32)
    k[::7] = k[0]
    got, where = run("library", chip, "radix_sort_block", (1,), (512,), k, np.arange(1999, dtype=U32), i32(1999),
                     level=level)
    order = np.argsort(k, kind="stable")
    close(got, k[order])
    close(where, order.astype(U32))


@blocks
def radix_topk(chip, level):
    x = rng(3).normal(size=(2, 3001)).astype(F32)
    x[0, 5:900] = 1.5
    out, where = run("library", chip, "radix_topk", (2,), (1024,), x, Out((2, 50), F32), Out((2, 50), I32), i32(3001),
                     i32(50), level=level)[1:]
    close(np.sort(out, 1), np.sort(x, 1)[:, -50:])
    close(np.take_along_axis(x, where.astype(I64), 1), out)


@blocks
def histogram(chip, level):
    x = rng(4).integers(0, 256, 4 * 1111).astype(np.uint8)
    got = run("library", chip, "histogram256", (3,), (96,), x, np.zeros(256, U32), i32(1111), shared=3 * 1024,
              level=level)[1]
    close(got, np.bincount(x, minlength=256).astype(U32))


@blocks
def merge_path(chip, level):
    a, b = (np.sort(rng(s).integers(0, 500, n)).astype(I32) for s, n in ((5, 777), (6, 1234)))
    got = run("library", chip, "merge_path", (2,), (256,), a, i32(777), b, i32(1234), Out(2011, I32), i32(5),
              level=level)[2]
    close(got, np.sort(np.concatenate([a, b])))


@blocks
def segmented_sum(chip, level):
    keys = np.sort(rng(7).integers(0, 40, 1000)).astype(I32)
    x = rng(8).integers(-9, 9, 1000).astype(F32)
    got = run("library", chip, "segmented_sum", (4,), (256,), x, keys, np.zeros(40, F32), i32(1000), level=level)[2]
    close(got, np.bincount(keys, x, 40).astype(F32))


@blocks
def bfs_step(chip, level):
    g = rng(9)
    degree = g.integers(0, 9, 600)
    ptr = np.concatenate([[0], np.cumsum(degree)]).astype(I32)
    adj = g.integers(0, 600, ptr[-1]).astype(I32)
    frontier = g.choice(600, 300, False).astype(I32)
    level_of = np.full(600, -1, I32)
    level_of[frontier] = 0
    found = set(int(v) for f in frontier for v in adj[ptr[f]:ptr[f + 1]] if level_of[v] < 0)
    got = run("library", chip, "bfs_step", (2,), (192,), ptr, adj, frontier, i32(300), level_of, i32(1),
              np.zeros(600, I32), np.zeros(1, I32), level=level)
    close(got[5], [len(found)])
    close(np.sort(got[4][:len(found)]), np.array(sorted(found), I32))


@blocks
def hash_insert(chip, level):
    keys = rng(10).integers(1, 300, 900).astype(U32)
    got = run("library", chip, "hash_insert", (4,), (256,), np.zeros(512, U64), i32(511), keys, i32(900), level=level)[0]
    got = np.sort(got[got != 0])
    unique, count = np.unique(keys, return_counts=True)
    close(got, (unique.astype(U64) << U64.type(32)) | count.astype(U64))


@blocks
def ticket_lock(chip, level):
    x = rng(11).integers(-9, 9, 6 * 128).astype(F64)
    got = run("library", chip, "ticket_lock", (6,), (128,), np.zeros(1, U32), np.zeros(1, U32), np.zeros(2), x,
              level=level)[2]
    sums = x.reshape(6, 128).sum(1)
    close(got, [sums.sum(), max(0, sums.max())])


@blocks
def groups(chip, level):
    x = rng(12).integers(0, 99, 256).astype(I32)
    _, sums, ranks, n = run("library", chip, "groups", (1,), (256,), x, Out(16, I32), Out(256, I32), np.zeros(1, I32),
                            level=level)
    close(sums, x.reshape(16, 16).sum(1).astype(I32))
    odd = x & 1 == 1
    close(n, [odd.sum()])
    close(np.sort(ranks[odd]), np.arange(odd.sum()).astype(I32))
    close(ranks[~odd], np.full((~odd).sum(), -1, I32))


@blocks
def reduce_last_wave(chip, level):
    x = rng(13).integers(-9, 9, 5000).astype(F32)
    got = run("library", chip, "reduce6", (3,), (256,), x, Out(3, F32), i32(5000), shared=4 * 320, level=level)[1]
    close(got.sum(), F32.type(x.sum()))


@blocks
def quantised_product(chip, level):
    g = rng(14)
    x = g.normal(size=512).astype(F32)
    y = run("models", chip, "quantize_q8_1", (2,), (256,), x, Out((16, 36), np.uint8), i32(512), level=level)[1]
    q, d = y[:, 4:].view(np.int8).astype(F64), y[:, :2].copy().view(F16).astype(F64)
    close(q * d, x.reshape(16, 32), 0, 0.02)
    w = g.integers(0, 256, (7, 16, 18)).astype(np.uint8)
    w[..., :2] = g.uniform(0.01, 0.1, (7, 16, 1)).astype(F16).view(np.uint8)
    got = run("models", chip, "mul_mat_vec_q4_0", (7,), (64, 2), w, y, Out(7, F32), i32(512), level=level)[2]
    wd = w[..., :2].copy().view(F16).astype(F64)[..., 0]
    values = np.concatenate([w[..., 2:] & 15, w[..., 2:] >> 4], -1).astype(F64)
    s = y[:, 2:4].copy().view(F16).astype(F64)[:, 0]
    close(got, (wd * ((values * q).sum(-1) * d[:, 0] - 8 * s)).sum(-1), 1e-4, 1e-3)


@blocks
def dequant_awq(chip, level):
    g = rng(15)
    q, z = (g.integers(0, 2**32, n, dtype=np.uint64).astype(U32) for n in ((12, 30), (3, 30)))
    s = g.uniform(0.1, 1, (3, 240)).astype(F16)
    got = run("models", chip, "dequant_awq", (1, 12), (64,), q, s, z, Out((12, 240), F16), i32(12), i32(30), i32(4),
              level=level)[3]

    def unpack(v):
        nibbles = [v >> U32.type(4 * i + 16 * h) & U32.type(15) for i in range(4) for h in range(2)]
        return np.stack(nibbles, -1).reshape(len(v), -1).astype(F64)

    want = (unpack(q) - np.repeat(unpack(z), 4, 0)) * np.repeat(s.astype(F64), 4, 0)
    close(got, want.astype(F16))


@blocks
def paged_attention(chip, level):
    g = rng(16)
    lens = np.array([70, 33], I32)
    q = g.normal(size=(2, 4, 64)).astype(F16)
    k, v = g.normal(size=(12, 2, 8, 16, 8)).astype(F16), g.normal(size=(12, 2, 64, 16)).astype(F16)
    tables = g.permutation(12)[:10].reshape(2, 5).astype(I32)
    sums, tops, out = run("models", chip, "paged_attention", (4, 2, 2), (128,), np.zeros((2, 4, 2), F32),
                          np.full((2, 4, 2), -1e30, F32), np.zeros((2, 4, 2, 64), F32), q, k, v, i32(2), f32(0.125),
                          tables, lens, i32(5), i32(48), shared=192, level=level)[:3]
    weight = sums * np.exp(tops - tops.max(-1, keepdims=True))
    got = (out * weight[..., None]).sum(2) / weight.sum(-1)[..., None]
    for b in range(2):
        keys = k[tables[b]].transpose(1, 0, 3, 2, 4).reshape(2, 80, 64)[:, :lens[b]].astype(F64)
        values = v[tables[b]].transpose(1, 0, 3, 2).reshape(2, 80, 64)[:, :lens[b]].astype(F64)
        for h in range(4):
            e = np.exp(keys[h // 2] @ q[b, h].astype(F64) / 8)
            close(got[b, h], e @ values[h // 2] / e.sum(), 1e-3, 1e-3)


@blocks
def flash_attention(chip, level):
    g = rng(17)
    q, k, v = (g.normal(size=(n, 64)).astype(F16) for n in (256, 96, 96))
    scale = 0.125 * np.log2(np.e)
    got = run("models", chip, "flash_fwd", (2,), (256,), q, k, v, Out((256, 64), F32), i32(96), f32(scale),
              level=level)[3]
    e = np.exp(q.astype(F64) @ k.astype(F64).T / 8)
    close(got, e @ v.astype(F64) / e.sum(1, keepdims=True), 5e-3, 5e-3)


@blocks
def rotary(chip, level):
    g = rng(18)
    positions = g.integers(0, 20, 5)
    q, k, cache = (g.normal(size=n).astype(F16) for n in ((5, 3, 32), (5, 1, 32), (20, 24)))
    for neox in (0, 1):
        got = run("models", chip, "rotary", (5,), (64,), positions, q, k, cache, i32(24), u64(96), u64(32), i32(3),
                  i32(1), i32(32), i32(neox), level=level)
        for x, y in ((q, got[1]), (k, got[2])):
            c, s = (cache[positions][:, None, h * 12:h * 12 + 12].astype(F64) for h in range(2))
            a, b = (slice(0, 12), slice(12, 24)) if neox else (slice(0, 24, 2), slice(1, 24, 2))
            want = x.astype(F64)
            want[..., a], want[..., b] = (x[..., a] * c - x[..., b] * s), (x[..., b] * c + x[..., a] * s)
            close(y, want, 4e-3, 4e-3)


@blocks
def layer_norm(chip, level):
    x, w, b = rng(19).normal(size=(3, 333)).astype(F32), rng(20).normal(size=333).astype(F32), np.ones(333, F32)
    got = run("models", chip, "layer_norm", (3,), (100,), x, w, b, Out((3, 333), F32), i32(333), f32(1e-5), shared=24,
              level=level)[3]
    f = x.astype(F64)
    close(got, (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5) * w + 1, 1e-4, 1e-4)


@blocks
def stream_k(chip, level):
    a, b = (rng(s).integers(-2, 3, (128, 160)).astype(F16) for s in (21, 22))
    got = run("models", chip, "stream_k", (7,), (256,), a, b, Out((128, 128), F32), Out((7, 4096), F32),
              np.zeros(7, I32), i32(128), i32(128), i32(160), i32(3), level=level)[2]
    close(got, a.astype(F32) @ b.astype(F32).T)


@blocks
def convolution(chip, level):
    x = rng(23).integers(0, 99, (45, 37)).astype(F32)
    got = run("models", chip, "conv5x5", (3, 3), (16, 16), x, Out((45, 37), F32), i32(37), i32(45), Out(9, U64),
              level=level)
    p, t = np.pad(x, 2, "edge").astype(F64), np.array([1, 4, 6, 4, 1])
    close(got[1], sum(t[j] * t[i] * p[j:j + 45, i:i + 37] for j in range(5) for i in range(5)) / 256)
    close(np.sort(got[2]), np.arange(9).astype(U64))


@blocks
def online_softmax(chip, level):
    x = rng(24).normal(size=(6, 333)).astype(BF16)
    got = run("models", chip, "online_softmax", (2,), (256,), x, Out((6, 333), BF16), i32(6), i32(333), level=level)[1]
    e = np.exp(x.astype(F64))
    close(got, e / e.sum(1, keepdims=True), 1e-2, 1e-6)


if __name__ == "__main__":
    main()
