"""Triton kernels around the matrix unit: products of all types, scaled products, flash attention."""
import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from foreign import Out, case, close, main
from triton_case import BF16, fp8, launch


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  ACC: tl.constexpr, PRECISION: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        va = tl.load(pa, (rm[:, None] < M) & (rk[None, :] + k < K), other=0.0)
        vb = tl.load(pb, (rn[None, :] < N) & (rk[:, None] + k < K), other=0.0)
        acc = tl.dot(va, vb, acc, input_precision=PRECISION, out_dtype=ACC)
        pa += BK * sak
        pb += BK * sbk
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), (rm[:, None] < M) & (rn[None, :] < N))


def product(chip, ta, tb, tc, shape=(70, 80, 136), block=(32, 32, 32), transpose=(False, True), precision="ieee",
            tolerance=1e-5, **options):
    m, n, k = shape
    g = np.random.default_rng(m + n + k)
    if ta.kind == "i":
        a, b = g.integers(-128, 128, size=(m, k)).astype(ta), g.integers(-128, 128, size=(k, n)).astype(tb)
    else:
        a, b = (g.normal(size=s).astype(np.float32).astype(t) for s, t in (((m, k), ta), ((k, n), tb)))
    wide = np.int64 if ta.kind == "i" else np.float64
    want = a.astype(wide) @ b.astype(wide)
    bound = np.abs(a.astype(wide)) @ np.abs(b.astype(wide))
    pa, pb = (x.T.copy() if t else x for x, t in ((a, transpose[0]), (b, transpose[1])))
    sam, sak = (1, m) if transpose[0] else (k, 1)
    sbk, sbn = (1, k) if transpose[1] else (n, 1)
    acc = {"i": tl.int32}.get(ta.kind, tl.float64 if ta == np.float64 else tl.float32)
    bm, bn, bk = block
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    got = launch(chip, matmul_kernel, grid, dict(
        a=pa, b=pb, c=Out((m, n), tc), M=m, N=n, K=k, sam=sam, sak=sak, sbk=sbk, sbn=sbn, BM=(bm,), BN=(bn,), BK=(bk,),
        ACC=(acc,), PRECISION=(precision,)), **options)["c"]
    if tc.kind == "i":
        close(got, want.astype(tc))
        return
    store = {2: 2 ** -8 if tc == BF16 else 2 ** -11}.get(tc.itemsize, 0)
    limit = tolerance * bound + store * np.abs(want) + 1e-30
    close(got.astype(np.float64) / limit, want / limit, 0, 1)


SHAPES = [dict(), dict(num_warps=1), dict(num_warps=8, block=(64, 64, 32)), dict(num_warps=2, transpose=(True, False)),
          dict(num_warps=4, transpose=(False, False), block=(64, 32, 64)), dict(num_warps=16, block=(64, 128, 32)),
          dict(matrix_instr_nonkdim=16), dict(matrix_instr_nonkdim=32, block=(64, 64, 32)),
          dict(matrix_instr_nonkdim=32, block=(64, 64, 64), transpose=(False, False)),
          dict(matrix_instr_nonkdim=16, kpack=2, block=(64, 64, 64)), dict(num_stages=1), dict(num_stages=3),
          dict(num_stages=2, shape=(64, 64, 256), block=(64, 64, 64), num_warps=4),
          dict(num_stages=3, shape=(64, 128, 256), block=(64, 64, 64), num_warps=8, transpose=(False, False)),
          dict(aligned=False), dict(AMDGCN_USE_BUFFER_OPS=0), dict(waves_per_eu=2),
          dict(matrix_instr_nonkdim=4, block=(64, 64, 64)), dict(block=(16, 16, 16)), dict(block=(16, 64, 128), num_warps=2),
          dict(num_stages=2, TRITON_HIP_USE_BLOCK_PINGPONG=1, num_warps=8, block=(128, 128, 64), shape=(128, 128, 256)),
          dict(TRITON_HIP_USE_IN_THREAD_TRANSPOSE=1, transpose=(True, False), shape=(128, 128, 128), block=(64, 64, 64))]
ASYNC = [dict(TRITON_HIP_USE_ASYNC_COPY=u, num_stages=s, num_warps=w, shape=(128, 128, 256), block=b, transpose=t)
         for u in (0, 1) for s, w, b in ((2, 4, (64, 64, 64)), (3, 8, (128, 64, 64)))
         for t in ((False, True), (False, False), (True, True))]


@case(SHAPES)
def matmul_f16(chip, **options):
    product(chip, np.dtype(np.float16), np.dtype(np.float16), np.dtype(np.float16), **options)


@case(SHAPES[:12])
def matmul_bf16(chip, **options):
    product(chip, BF16, BF16, np.dtype(np.float32), **options)


@case(ASYNC, chips=("gfx950",))
def matmul_async(chip, **options):
    product(chip, BF16, BF16, np.dtype(np.float32), **options)


@case(ASYNC[:3] + ASYNC[6:9], chips=("gfx950",))
def matmul_async_fp8(chip, **options):
    product(chip, fp8(chip), fp8(chip), np.dtype(np.float32), **options)


@case(SHAPES[:12])
def matmul_f32(chip, **options):
    product(chip, np.dtype(np.float32), np.dtype(np.float32), np.dtype(np.float32), **options)


@case([dict(precision=p, tolerance=t) for p, t in (("tf32", 2e-3), ("bf16x3", 1e-4), ("bf16x6", 1e-5))])
def matmul_split(chip, **options):
    if chip == "gfx950" and options["precision"] == "tf32":
        return
    product(chip, np.dtype(np.float32), np.dtype(np.float32), np.dtype(np.float32), **options)


@case(SHAPES[:14])
def matmul_i8(chip, **options):
    product(chip, np.dtype(np.int8), np.dtype(np.int8), np.dtype(np.int32), **options)


@case([dict(a=a, b=b, **o) for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("e5m2", "e4m3"))
       for o in (SHAPES[0], SHAPES[4], SHAPES[6], SHAPES[7], SHAPES[12])])
def matmul_fp8(chip, a, b, **options):
    product(chip, fp8(chip, a), fp8(chip, b), np.dtype(np.float32), **options)


@case([dict(), dict(matrix_instr_nonkdim=32, block=(64, 64, 32))])
def matmul_foreign_fp8(chip, **options):
    """The other chip's fp8, which is converted first."""
    t = fp8("gfx950" if chip == "gfx942" else "gfx942")
    product(chip, t, t, np.dtype(np.float32), **options)


@case([dict(block=(16, 16, 16), shape=(35, 20, 48), num_warps=w) for w in (1, 4)])
def matmul_f64(chip, **options):
    product(chip, np.dtype(np.float64), np.dtype(np.float64), np.dtype(np.float64), tolerance=1e-14, **options)


@triton.jit
def scaled_kernel(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    ra, rb, rs = tl.arange(0, BK // PA), tl.arange(0, BK // PB), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        va = tl.load(a + rm[:, None] * (K // PA) + (k // PA + ra)[None, :])
        vb = tl.load(b + rn[None, :] * (K // PB) + (k // PB + rb)[:, None])
        vsa = tl.load(sa + rm[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        vsb = tl.load(sb + rn[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        acc = tl.dot_scaled(va, vsa, FA, vb, vsb, FB, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


def operand(g, rows, k, kind):
    """Bits as stored, values, elements a byte."""
    if kind == "e2m1":
        codes = g.integers(0, 16, size=(rows, k)).astype(np.uint8)
        table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6], np.float64)
        return codes[:, ::2] | codes[:, 1::2] << 4, table[codes & 7] * np.where(codes & 8, -1, 1), 2
    t = np.dtype({"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "fp16": np.float16,
                  "bf16": ml_dtypes.bfloat16}[kind])
    x = g.normal(size=(rows, k)).astype(np.float32).astype(t)
    return (x.view(np.uint8) if t.itemsize == 1 else x), x.astype(np.float64), 1


@case([dict(a=a, b=b, **o) for a, b in (("e2m1", "e2m1"), ("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e4m3"), ("e5m2", "e2m1"))
       for o in (dict(), dict(matrix_instr_nonkdim=16), dict(matrix_instr_nonkdim=32), dict(num_warps=1),
                 dict(num_warps=8, num_stages=3), dict(num_stages=1, block=(64, 64, 256)),
                 dict(TRITON_HIP_USE_ASYNC_COPY=1, num_stages=2, block=(64, 128, 128)))])
def dot_scaled(chip, a, b, block=(64, 64, 128), **options):
    m, n, k = 128, 128, 512
    g = np.random.default_rng(len(a) + len(b) + 40)
    (xa, fa, pa), (xb, fb, pb) = operand(g, m, k, a), operand(g, n, k, b)
    sa, sb = (g.integers(120, 134, size=(r, k // 32)).astype(np.uint8) for r in (m, n))
    wa, wb = (f * np.exp2(np.repeat(s, 32, 1).astype(np.float64) - 127) for f, s in ((fa, sa), (fb, sb)))
    bm, bn, bk = block
    got = launch(chip, scaled_kernel, (m // bm, n // bn), dict(
        a=xa, sa=sa, b=xb, sb=sb, c=Out((m, n), np.float32), M=(m,), N=(n,), K=(k,), BM=(bm,), BN=(bn,), BK=(bk,), FA=(a,),
        FB=(b,), PA=(pa,), PB=(pb,)), **options)["c"]
    limit = 1e-5 * (np.abs(wa) @ np.abs(wb).T)
    close(got / limit, (wa @ wb.T) / limit, 0, 1)


@triton.jit
def attention_kernel(q, k, v, o, lse, L, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start, head = tl.program_id(0) * BM, tl.program_id(1)
    base = head * L * D
    rm, rd = start + tl.arange(0, BM), tl.arange(0, D)
    vq = tl.load(q + base + rm[:, None] * D + rd[None, :], rm[:, None] < L, other=0.0)
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(start + BM, L) if CAUSAL else L
    for n in range(0, end, BN):
        rn = n + tl.arange(0, BN)
        vk = tl.load(k + base + rn[None, :] * D + rd[:, None], rn[None, :] < L, other=0.0)
        s = tl.dot(vq, vk) * scale
        ok = rn[None, :] < L
        if CAUSAL:
            ok = ok & (rm[:, None] >= rn[None, :])
        s = tl.where(ok, s, -1e30)
        now = tl.maximum(best, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        shrink = tl.exp2(best - now)
        total = total * shrink + tl.sum(p, 1)
        vv = tl.load(v + base + rn[:, None] * D + rd[None, :], rn[:, None] < L, other=0.0)
        acc = tl.dot(p.to(vv.dtype), vv, acc * shrink[:, None])
        best = now
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(o.dtype.element_ty), rm[:, None] < L)
    tl.store(lse + head * L + rm, best + tl.log2(total), rm < L)


@case([dict(dtype=t, **o) for t in ("float16", "bfloat16") for o in (
    dict(), dict(num_warps=1, bm=32), dict(num_warps=8, bm=128), dict(causal=True), dict(num_stages=1), dict(num_stages=3),
    dict(d=128, bn=32), dict(matrix_instr_nonkdim=16), dict(matrix_instr_nonkdim=32), dict(waves_per_eu=2, causal=True),
    dict(AMDGCN_USE_BUFFER_OPS=0), dict(aligned=False, d=32))])
def attention(chip, dtype, d=64, bm=64, bn=64, causal=False, **options):
    t = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    heads, length = 2, 200
    g = np.random.default_rng(d + bm)
    q, k, v = (g.normal(size=(heads, length, d)).astype(t) for _ in "qkv")
    scale = d ** -0.5
    out = launch(chip, attention_kernel, (triton.cdiv(length, bm), heads), dict(
        q=q, k=k, v=v, o=Out(q.shape, t), lse=Out((heads, length), np.float32), L=length, scale=scale * 1.4426950408889634,
        D=(d,), BM=(bm,), BN=(bn,), CAUSAL=(causal,)), **options)
    s = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) * scale
    if causal:
        s = np.where(np.tril(np.ones((length, length), bool)), s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    close(out["lse"], (s.max(-1) + np.log(e.sum(-1))) * 1.4426950408889634, 1e-5, 1e-4)
    want = np.einsum("hmn,hnd->hmd", e / e.sum(-1, keepdims=True), v.astype(np.float64))
    close(out["o"], want, 2e-2, 2e-2 if t == BF16 else 3e-3)


if __name__ == "__main__":
    main()
