"""Triton kernels in the style of public ones: products, attention and its gradient, experts, recurrences, quantisation.

The other two scripts walk through instructions and layouts; this one has whole operators as repositories publish them.
Each launch also gets a modelled time, which has to be sane.
"""
import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from foreign import Out, begin_times, case, check_times, close, main
from triton_case import BF16, fp8
from triton_case import launch as plain_launch

F16, F32 = np.dtype("f2"), np.dtype("f4")


def launch(chip, fn, grid, args, **options):
    """Arguments by position; results by the names that the caller gives them."""
    begin_times()
    got = plain_launch(chip, fn, grid, dict(zip(fn.arg_names, args.values())), **options)
    check_times(fn.__name__)
    return {mine: got[name] for mine, name in zip(args, fn.arg_names) if name in got}


def rng(*key):
    return np.random.default_rng(sum(key) + 11)


# --- products ---


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr, GROUP: tl.constexpr, ACT: tl.constexpr, ACC: tl.constexpr):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    width = GROUP * num_n
    group = pid // width
    first = group * GROUP
    size = min(num_m - first, GROUP)
    pm = first + (pid % width) % size
    pn = (pid % width) // size
    offs_m = (pm * BM + tl.arange(0, BM)) % M
    offs_n = (pn * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc, out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    if ACT == "leaky_relu":
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    offs_cm = pm * BM + tl.arange(0, BM)
    offs_cn = pn * BN + tl.arange(0, BN)
    mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptr + stride_cm * offs_cm[:, None] + offs_cn[None, :], acc.to(c_ptr.dtype.element_ty), mask=mask)


TILES = [dict(tile=t, kind=k, num_warps=w, num_stages=s)
         for t, k, w, s in (((128, 128, 64), "f16", 8, 2), ((64, 64, 32), "bf16", 4, 2), ((32, 32, 64), "bf16", 1, 3),
                            ((256, 64, 32), "f16", 4, 2), ((16, 16, 128), "bf16", 1, 2), ((64, 128, 128), "i8", 4, 2),
                            ((64, 64, 128), "fp8", 4, 2), ((128, 32, 64), "bf8", 2, 1), ((64, 64, 16), "f32", 4, 1))]


@case(TILES)
def matmul(chip, tile, kind, **options):
    m, n, k = 150, 144, 208
    types = dict(f16=F16, bf16=BF16, f32=F32, i8=np.dtype("i1"), fp8=fp8(chip), bf8=fp8(chip, "e5m2"))
    dtype = types[kind]
    a, b = (rng(s).integers(-3, 4, size).astype(dtype) for s, size in ((1, (m, k)), (2, (k, n))))
    out = np.dtype("i4") if kind == "i8" else F32
    bm, bn, bk = tile
    got = launch(chip, matmul_kernel, (triton.cdiv(m, bm) * triton.cdiv(n, bn),),
                 dict(a=a, b=b, c=Out((m, n), out), M=m, N=n, K=k, sa=k, sb=n, sc=n, BM=(bm,), BN=(bn,), BK=(bk,),
                      GROUP=(4,), ACT=("",), ACC=(tl.int32 if kind == "i8" else tl.float32,)), **options)["c"]
    close(got, (a.astype(F32) @ b.astype(F32)).astype(out))


@triton.jit
def mx_kernel(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.arange(0, BK // 32)
    ka = tl.arange(0, BK // PA)
    kb = tl.arange(0, BK // PB)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * (K // PA) + k // PA + ka[None, :])
        b = tl.load(b_ptr + n[None, :] * (K // PB) + k // PB + kb[:, None])
        sa = tl.load(sa_ptr + m[:, None] * (K // 32) + k // 32 + s[None, :])
        sb = tl.load(sb_ptr + n[:, None] * (K // 32) + k // 32 + s[None, :])
        acc = tl.dot_scaled(a, sa, FA, b, sb, FB, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def fp4_values(codes):
    return np.where(codes & 8, -1, 1) * np.array([0, .5, 1, 1.5, 2, 3, 4, 6])[codes & 7]


@case([dict(fa="e2m1", fb="e2m1"), dict(fa="e4m3", fb="e2m1"), dict(fa="e4m3", fb="e4m3")], chips=("gfx950",))
def mx_matmul(chip, fa, fb):
    m, n, k = 64, 64, 256
    args, full = {}, []
    for name, form, rows in (("a", fa, m), ("b", fb, n)):
        codes = rng(ord(name)).integers(0, 16, (rows, k)).astype(np.uint8)
        value = fp4_values(codes)
        args[name] = codes[:, ::2] | codes[:, 1::2] << 4 if form == "e2m1" else value.astype(ml_dtypes.float8_e4m3fn)
        scale = rng(ord(name), 1).integers(124, 130, (rows, k // 32)).astype(np.uint8)
        args["s" + name] = scale
        full.append(value * np.repeat(2.0**(scale.astype(int) - 127), 32, 1))
    got = launch(chip, mx_kernel, (2, 1), dict(a=args["a"], b=args["b"], sa=args["sa"], sb=args["sb"],
                                               c=Out((m, n), F32), K=k, N=n, BM=(32,), BN=(64,), BK=(128,), FA=(fa,),
                                               FB=(fb,), PA=(2 if fa == "e2m1" else 1,), PB=(2 if fb == "e2m1" else 1,)),
                 num_warps=4)["c"]
    close(got, full[0] @ full[1].T)


@triton.jit
def splitk_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    z = tl.program_id(2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(z * BK, K, SPLIT * BK):
        kk = k + tl.arange(0, BK)
        acc += tl.dot(tl.load(a_ptr + m[:, None] * K + kk[None, :]), tl.load(b_ptr + kk[:, None] * N + n[None, :]))
    c = c_ptr + m[:, None] * N + n[None, :]
    if SPLIT == 1:
        tl.store(c, acc.to(c_ptr.dtype.element_ty))
    else:
        tl.atomic_add(c, acc.to(c_ptr.dtype.element_ty), sem="relaxed")


@case([dict(kind="f4"), dict(kind="f2"), dict(kind="bf16")])
def split_k(chip, kind):
    dtype = BF16 if kind == "bf16" else np.dtype(kind)
    a, b = rng(3).integers(-2, 3, (32, 256)).astype(BF16), rng(4).integers(-2, 3, (256, 64)).astype(BF16)
    a[:, 128:] = 0  # small sums, which bf16 holds exactly
    got = launch(chip, splitk_kernel, (1, 2, 4), dict(a=a, b=b, c=np.zeros((32, 64), dtype), M=32, N=64, K=256, BM=(32,),
                                                      BN=(32,), BK=(32,), SPLIT=(4,)), num_warps=2)["c"]
    close(got, a.astype(F32) @ b.astype(F32), 1e-2 if kind != "f4" else 0, 1)


@triton.jit
def grouped_kernel(a_ptr, b_ptr, c_ptr, sizes_ptr, N, K, G: tl.constexpr, SMS: tl.constexpr, BM: tl.constexpr,
                   BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    row = 0
    for g in range(G):
        size = tl.load(sizes_ptr + g)
        num_n = tl.cdiv(N, BN)
        tiles = tl.cdiv(size, BM) * num_n
        while tile >= done and tile < done + tiles:
            t = tile - done
            m = t // num_n * BM + tl.arange(0, BM)
            n = t % num_n * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                kk = k + tl.arange(0, BK)
                a = tl.load(a_ptr + (row + m[:, None]) * K + kk[None, :], mask=m[:, None] < size, other=0.0)
                acc = tl.dot(a, tl.load(b_ptr + g * K * N + kk[:, None] * N + n[None, :]), acc)
            tl.store(c_ptr + (row + m[:, None]) * N + n[None, :], acc, mask=m[:, None] < size)
            tile += SMS
        done += tiles
        row += size


@case([dict(num_warps=4), dict(num_warps=2, num_stages=1)])
def grouped_gemm(chip, **options):
    sizes = np.array([40, 0, 7, 65], np.int32)
    n, k = 64, 96
    a = rng(5).integers(-3, 4, (sizes.sum(), k)).astype(F16)
    b = rng(6).integers(-3, 4, (4, k, n)).astype(F16)
    got = launch(chip, grouped_kernel, (3,), dict(a=a, b=b, c=Out((sizes.sum(), n), F32), s=sizes, N=n, K=k, G=(4,),
                                                  SMS=(3,), BM=(32,), BN=(32,), BK=(32,)), **options)["c"]
    start = np.concatenate([[0], np.cumsum(sizes)])
    close(got, np.concatenate([a[start[g]:start[g + 1]].astype(F32) @ b[g].astype(F32) for g in range(4)]))


@triton.jit
def persistent_kernel(x_ptr, out_ptr, counter_ptr, TILES, B: tl.constexpr):
    tile = tl.atomic_add(counter_ptr, 1)
    while tile < TILES:
        i = tile * B + tl.arange(0, B)
        tl.store(out_ptr + i, tl.load(x_ptr + i) * 2.0)
        tile = tl.atomic_add(counter_ptr, 1)


@case([dict(num_warps=1), dict(num_warps=4)])
def persistent(chip, **options):
    x = rng(7).normal(size=2560).astype(F32)
    got = launch(chip, persistent_kernel, (3,), dict(x=x, o=Out(2560, F32), c=np.zeros(1, np.int32), T=10, B=(256,)),
                 **options)
    close(got["o"], 2 * x)
    close(got["c"], [13])


# --- attention ---


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                     CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BM
    base = tl.program_id(1) * N * D
    m = start + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = start + BM if CAUSAL else N
    for j in range(0, end, BN):
        n = j + tl.arange(0, BN)
        k = tl.load(k_ptr + base + n[None, :] * D + d[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(m[:, None] >= n[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + base + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        top = new
    tl.store(o_ptr + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty))
    tl.store(l_ptr + tl.program_id(1) * N + m, top + tl.log2(total))


@triton.jit
def attention_backward(q_ptr, k_ptr, v_ptr, do_ptr, l_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale, N, D: tl.constexpr,
                       BM: tl.constexpr, BN: tl.constexpr):
    start = tl.program_id(0) * BN
    base = tl.program_id(1) * N * D
    rows = tl.program_id(1) * N
    n = start + tl.arange(0, BN)
    d = tl.arange(0, D)
    k = tl.load(k_ptr + base + n[:, None] * D + d[None, :])
    v = tl.load(v_ptr + base + n[:, None] * D + d[None, :])
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for i in range(start // BM * BM, N, BM):
        m = i + tl.arange(0, BM)
        q = tl.load(q_ptr + base + m[:, None] * D + d[None, :])
        do = tl.load(do_ptr + base + m[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
        p = tl.math.exp2(s - tl.load(l_ptr + rows + m)[:, None])
        p = tl.where(m[:, None] >= n[None, :], p, 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - tl.load(delta_ptr + rows + m)[:, None]) * scale).to(q.dtype)
        dk += tl.dot(tl.trans(ds), q)
        tl.atomic_add(dq_ptr + base + m[:, None] * D + d[None, :], tl.dot(ds, k), sem="relaxed")
    tl.store(dk_ptr + base + n[:, None] * D + d[None, :], dk)
    tl.store(dv_ptr + base + n[:, None] * D + d[None, :], dv)


def attended(q, k, v, scale, causal):
    s = np.einsum("hmd,hnd->hmn", q, k) * scale
    if causal:
        s = np.where(np.tri(s.shape[1], dtype=bool), s, -np.inf)
    lse = np.log(np.exp(s - s.max(-1, keepdims=True)).sum(-1)) + s.max(-1)
    p = np.exp(s - lse[..., None])
    return p, p @ v, lse


@case([dict(causal=c, kind=k, d=d, num_warps=w, num_stages=s)
       for c, k, d, w, s in ((True, "f16", 64, 4, 1), (False, "bf16", 128, 4, 2), (True, "bf16", 64, 2, 2))])
def flash_attention(chip, causal, kind, d, **options):
    dtype = BF16 if kind == "bf16" else F16
    h, n = 2, 128
    q, k, v = (rng(s).normal(size=(h, n, d)).astype(dtype) for s in (8, 9, 10))
    scale = d**-0.5
    got = launch(chip, attention_kernel, (n // 64, h), dict(q=q, k=k, v=v, o=Out(q.shape, dtype), l=Out((h, n), F32),
                                                            scale=scale, N=n, D=(d,), BM=(64,), BN=(32,),
                                                            CAUSAL=(causal,)), **options)
    _, o, lse = attended(*(x.astype(np.float64) for x in (q, k, v)), scale, causal)
    close(got["o"], o, 2e-2, 2e-2)
    close(got["l"], lse * np.log2(np.e), 1e-3, 1e-2)


@case([dict(num_warps=4), dict(num_warps=2)])
def flash_backward(chip, **options):
    h, n, d = 2, 64, 64
    q, k, v, do = (rng(s).normal(size=(h, n, d)).astype(F16) for s in (11, 12, 13, 14))
    scale = d**-0.5
    p, o, lse = attended(*(x.astype(np.float64) for x in (q, k, v)), scale, True)
    delta = (o * do).sum(-1)
    got = launch(chip, attention_backward, (n // 32, h),
                 dict(q=q, k=k, v=v, do=do, l=(lse * np.log2(np.e)).astype(F32), delta=delta.astype(F32),
                      dq=np.zeros((h, n, d), F32), dk=Out((h, n, d), F32), dv=Out((h, n, d), F32), scale=scale, N=n,
                      D=(d,), BM=(32,), BN=(32,)), **options)
    f = do.astype(np.float64)
    ds = p * (f @ v.astype(np.float64).transpose(0, 2, 1) - delta[..., None]) * scale
    close(got["dv"], p.transpose(0, 2, 1) @ f, 2e-2, 2e-2)
    close(got["dk"], ds.transpose(0, 2, 1) @ q.astype(np.float64), 2e-2, 2e-2)
    close(got["dq"], ds @ k.astype(np.float64), 2e-2, 2e-2)


@triton.jit
def paged_kernel(q_ptr, k_ptr, v_ptr, o_ptr, table_ptr, lens_ptr, scale, BLOCKS, D: tl.constexpr, P: tl.constexpr,
                 H: tl.constexpr):
    seq = tl.program_id(0)
    length = tl.load(lens_ptr + seq)
    h = tl.arange(0, H)
    d = tl.arange(0, D)
    t = tl.arange(0, P)
    q = tl.load(q_ptr + seq * H * D + h[:, None] * D + d[None, :])
    top = tl.full((H,), -float("inf"), tl.float32)
    total = tl.zeros((H,), tl.float32)
    acc = tl.zeros((H, D), tl.float32)
    for j in range(0, tl.cdiv(length, P)):
        page = tl.load(table_ptr + seq * BLOCKS + j).to(tl.int64)
        mask = j * P + t < length
        k = tl.load(k_ptr + page * P * D + t[None, :] * D + d[:, None], mask=mask[None, :], other=0.0)
        s = tl.where(mask[None, :], tl.dot(q, k.to(q.dtype)) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(top - new)
        v = tl.load(v_ptr + page * P * D + t[:, None] * D + d[None, :], mask=mask[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(q.dtype), v.to(q.dtype))
        total = total * alpha + tl.sum(p, 1)
        top = new
    tl.store(o_ptr + seq * H * D + h[:, None] * D + d[None, :], acc / total[:, None])


@case([dict(kind="f16"), dict(kind="fp8")])
def paged_attention(chip, kind):
    d, p, h, blocks = 64, 16, 16, 6
    cache = fp8(chip) if kind == "fp8" else F16
    q = rng(15).normal(size=(3, h, d)).astype(F16)
    k, v = (rng(s).normal(size=(20, p, d)).astype(cache) for s in (16, 17))
    table = rng(18).permutation(20)[:18].reshape(3, blocks).astype(np.int32)
    lens = np.array([50, 96, 1], np.int32)
    got = launch(chip, paged_kernel, (3,), dict(q=q, k=k, v=v, o=Out((3, h, d), F32), t=table, l=lens, scale=0.125,
                                                B=blocks, D=(d,), P=(p,), H=(h,)), num_warps=1)["o"]
    for i in range(3):
        kk, vv = (x[table[i]].reshape(-1, d)[:lens[i]].astype(np.float64) for x in (k, v))
        s = q[i].astype(np.float64) @ kk.T * 0.125
        e = np.exp(s - s.max(1, keepdims=True))
        close(got[i], e / e.sum(1, keepdims=True) @ vv, 2e-2, 2e-2)


# --- experts, losses, optimisers ---


@triton.jit
def moe_kernel(x_ptr, w_ptr, o_ptr, ids_ptr, experts_ptr, weight_ptr, VALID, N, K, TOPK: tl.constexpr, BM: tl.constexpr,
               BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ids = tl.load(ids_ptr + m)
    valid = ids < VALID
    expert = tl.load(experts_ptr + tl.program_id(0)).to(tl.int64)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        kk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + (ids // TOPK)[:, None] * K + kk[None, :], mask=valid[:, None], other=0.0)
        acc = tl.dot(x, tl.load(w_ptr + expert * N * K + n[None, :] * K + kk[:, None]), acc)
    acc = acc * tl.load(weight_ptr + ids, mask=valid, other=0.0)[:, None]
    tl.store(o_ptr + ids[:, None] * N + n[None, :], acc, mask=valid[:, None])


@case([dict(num_warps=4), dict(num_warps=1, num_stages=3)])
def fused_moe(chip, **options):
    tokens, topk, experts, n, k, bm = 20, 2, 4, 64, 64, 16
    x = rng(19).integers(-3, 4, (tokens, k)).astype(BF16)
    w = rng(20).integers(-3, 4, (experts, n, k)).astype(BF16)
    chosen = np.stack([rng(21, t).permutation(experts)[:topk] for t in range(tokens)])
    weight = rng(22).choice([0.25, 0.5], (tokens, topk)).astype(F32)
    ids, of = [], []
    for e in range(experts):
        mine = np.nonzero(chosen.ravel() == e)[0].tolist()
        mine += [tokens * topk] * (-len(mine) % bm)
        ids += mine
        of += [e] * (len(mine) // bm)
    got = launch(chip, moe_kernel, (len(of), 2), dict(x=x, w=w, o=Out((tokens * topk, n), F32), i=np.array(ids, np.int32),
                                                      e=np.array(of, np.int32), wt=weight.ravel(), V=tokens * topk, N=n,
                                                      K=k, TOPK=(topk,), BM=(bm,), BN=(32,), BK=(32,)), **options)["o"]
    want = np.einsum("tjnk,tk->tjn", w[chosen].astype(F32), x.astype(F32)) * weight[..., None]
    close(got, want.reshape(-1, n))


@triton.jit
def cross_entropy_kernel(x_ptr, y_ptr, loss_ptr, V, smoothing, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * V
    y = tl.load(y_ptr + row)
    if y == -100:
        for i in range(0, V, B):
            c = i + tl.arange(0, B)
            tl.store(x_ptr + c, 0.0, mask=c < V)
        tl.store(loss_ptr + row, 0.0)
        return
    m = float("-inf")
    d = 0.0
    s = 0.0
    chosen = tl.load(x_ptr + y).to(tl.float32)
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        v = tl.load(x_ptr + c, mask=c < V, other=float("-inf")).to(tl.float32)
        s += tl.sum(tl.where(c < V, v, 0.0))
        new = tl.maximum(m, tl.max(v))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(v - new))
        m = new
    lse = m + tl.log(d)
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        v = tl.load(x_ptr + c, mask=c < V, other=float("-inf")).to(tl.float32)
        g = tl.exp(v - lse) - smoothing / V
        g = tl.where(c == y, g - (1 - smoothing), g)
        tl.store(x_ptr + c, g, mask=c < V)
    tl.debug_barrier()
    tl.store(loss_ptr + row, lse - (1 - smoothing) * chosen - smoothing / V * s)


@case([dict(num_warps=8), dict(num_warps=1)])
def cross_entropy(chip, **options):
    x = rng(23).normal(size=(4, 1000)).astype(F32)
    y = np.array([5, 999, -100, 0], np.int64)
    got = launch(chip, cross_entropy_kernel, (4,), dict(x=x, y=y, l=Out(4, F32), V=1000, s=0.1, B=(512,)), **options)
    f = x.astype(np.float64)
    lse = np.log(np.exp(f).sum(1))
    loss = lse - 0.9 * f[range(4), y] - 0.1 * f.mean(1)
    grad = np.exp(f - lse[:, None]) - 0.1 / 1000
    grad[range(4), y] -= 0.9
    loss[2], grad[2] = 0, 0
    close(got["l"], loss, 1e-5, 1e-5)
    close(got["x"], grad, 1e-4, 1e-6)


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, lr, b1, b2, eps, c1, c2, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = i < n
    g = tl.load(g_ptr + i, k).to(tl.float32)
    m = b1 * tl.load(m_ptr + i, k) + (1 - b1) * g
    v = b2 * tl.load(v_ptr + i, k) + (1 - b2) * g * g
    tl.store(m_ptr + i, m, k)
    tl.store(v_ptr + i, v, k)
    tl.store(p_ptr + i, tl.load(p_ptr + i, k) - lr * (m / c1) / (tl.sqrt(v / c2) + eps), k)


@case([dict(num_warps=4)])
def adam(chip, **options):
    p, m = rng(24).normal(size=(2, 1500)).astype(F32)
    g, v = rng(25).normal(size=1500).astype(BF16), np.abs(rng(26).normal(size=1500)).astype(F32)
    got = launch(chip, adam_kernel, (2,), dict(p=p, g=g, m=m, v=v, lr=0.01, b1=0.9, b2=0.99, eps=1e-8, c1=0.5, c2=0.3,
                                               n=1500, B=(1024,)), **options)
    f = g.astype(np.float64)
    mm, vv = 0.9 * m + 0.1 * f, 0.99 * v + 0.01 * f * f
    close(got["p"], p - 0.01 * (mm / 0.5) / (np.sqrt(vv / 0.3) + 1e-8), 1e-5, 1e-5)


@triton.jit
def dropout_kernel(x_ptr, o_ptr, back_ptr, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = i < n
    keep = tl.rand(seed, i) > p
    tl.store(o_ptr + i, tl.where(keep, tl.load(x_ptr + i, k) / (1 - p), 0.0), k)
    r1, r2, r3, r4 = tl.randint4x(seed, i)
    tl.store(back_ptr + i, (tl.rand(seed, i) > p) & ((r1 ^ r2 ^ r3 ^ r4) == (r4 ^ r3 ^ r2 ^ r1)), k)


@case([dict(num_warps=4), dict(num_warps=1)])
def dropout(chip, **options):
    x = np.ones(3000, F32)
    got = launch(chip, dropout_kernel, (3,), dict(x=x, o=Out(3000, F32), b=Out(3000, np.int8), n=3000, p=0.25, seed=123,
                                                  B=(1024,)), **options)
    close(got["o"] != 0, got["b"] != 0)
    kept = got["o"][got["o"] != 0]
    close(kept, np.full(kept.shape, 1 / 0.75), 1e-6)
    close((got["o"] != 0).mean(), 0.75, 0.05)


# --- recurrences, positions, quantisation, order ---


@triton.jit
def gla_kernel(q_ptr, k_ptr, v_ptr, g_ptr, o_ptr, T, C: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(0) * T * D
    gate = tl.program_id(0) * T
    t = tl.arange(0, C)
    d = tl.arange(0, D)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, C):
        at = base + (start + t)[:, None] * D + d[None, :]
        q = tl.load(q_ptr + at)
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        g = tl.cumsum(tl.load(g_ptr + gate + start + t), 0)
        last = tl.sum(tl.where(t == C - 1, g, 0.0), 0)
        inner = tl.dot(q, tl.trans(k)) * tl.where(t[:, None] >= t[None, :], tl.exp(g[:, None] - g[None, :]), 0.0)
        o = tl.dot(inner.to(v.dtype), v) + tl.dot(q, state.to(q.dtype)) * tl.exp(g)[:, None]
        tl.store(o_ptr + at, o)
        state = state * tl.exp(last) + tl.dot(tl.trans((k * tl.exp(last - g)[:, None]).to(k.dtype)), v)


@case([dict(num_warps=4), dict(num_warps=2, num_stages=1)])
def gated_linear_attention(chip, **options):
    h, t, d = 2, 128, 32
    q, k, v = ((rng(s).normal(size=(h, t, d)) / 4).astype(F16) for s in (27, 28, 29))
    g = -np.abs(rng(30).normal(size=(h, t))).astype(F32) / 8
    got = launch(chip, gla_kernel, (h,), dict(q=q, k=k, v=v, g=g, o=Out((h, t, d), F32), T=t, C=(32,), D=(d,)), **options)
    want = np.zeros((h, t, d))
    state = np.zeros((h, d, d))
    for i in range(t):
        state = state * np.exp(g[:, i])[:, None, None] + k[:, i, :, None].astype(float) * v[:, i, None, :]
        want[:, i] = (q[:, i, None].astype(float) @ state)[:, 0]
    close(got["o"], want, 1e-2, 1e-2)


@triton.jit
def delta_kernel(q_ptr, k_ptr, v_ptr, beta_ptr, o_ptr, T, D: tl.constexpr):
    base = tl.program_id(0) * T * D
    d = tl.arange(0, D)
    state = tl.zeros((D, D), tl.float32)
    for i in range(T):
        k = tl.load(k_ptr + base + i * D + d).to(tl.float32)
        k = k / tl.sqrt(tl.sum(k * k, 0) + 1e-6)
        v = tl.load(v_ptr + base + i * D + d).to(tl.float32)
        beta = tl.sigmoid(tl.load(beta_ptr + tl.program_id(0) * T + i))
        old = tl.sum(state * k[:, None], 0)
        state += k[:, None] * (beta * (v - old))[None, :]
        q = tl.load(q_ptr + base + i * D + d).to(tl.float32)
        tl.store(o_ptr + base + i * D + d, tl.sum(state * q[:, None], 0))


@case([dict(num_warps=1), dict(num_warps=4)])
def delta_rule(chip, **options):
    h, t, d = 2, 20, 32
    q, k, v = (rng(s).normal(size=(h, t, d)).astype(BF16) for s in (31, 32, 33))
    beta = rng(34).normal(size=(h, t)).astype(F32)
    got = launch(chip, delta_kernel, (h,), dict(q=q, k=k, v=v, b=beta, o=Out((h, t, d), F32), T=t, D=(d,)), **options)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k /= np.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)
    state, want = np.zeros((h, d, d)), np.zeros((h, t, d))
    for i in range(t):
        u = (v[:, i] - np.einsum("hde,hd->he", state, k[:, i])) / (1 + np.exp(-beta[:, i]))[:, None]
        state += k[:, i, :, None] * u[:, None]
        want[:, i] = np.einsum("hde,hd->he", state, q[:, i])
    close(got["o"], want, 1e-3, 1e-3)


@triton.jit
def rope_kernel(x_ptr, pos_ptr, H, D: tl.constexpr, theta):
    row = tl.program_id(0)
    h = tl.program_id(1)
    i = tl.arange(0, D // 2)
    angle = tl.load(pos_ptr + row).to(tl.float32) * tl.exp2(-i.to(tl.float32) * 2 / D * tl.log2(theta))
    c = tl.cos(angle)
    s = tl.sin(angle)
    at = x_ptr + (row * H + h) * D + i
    a = tl.load(at).to(tl.float32)
    b = tl.load(at + D // 2).to(tl.float32)
    tl.store(at, (a * c - b * s).to(x_ptr.dtype.element_ty))
    tl.store(at + D // 2, (b * c + a * s).to(x_ptr.dtype.element_ty))


@case([dict(num_warps=1)])
def rope(chip, **options):
    x = rng(35).normal(size=(4, 3, 64)).astype(BF16)
    pos = np.array([0, 3, 100, 2047], np.int64)
    got = launch(chip, rope_kernel, (4, 3), dict(x=x, p=pos, H=3, D=(64,), theta=10000.0), **options)["x"]
    angle = pos[:, None] * 10000.0**(-np.arange(32) * 2 / 64)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    f = x.astype(np.float64)
    a, b = f[..., :32], f[..., 32:]
    close(got, np.concatenate([a * c - b * s, b * c + a * s], -1), 1e-2, 1e-2)


@triton.jit
def group_quant_kernel(x_ptr, q_ptr, s_ptr, N, G: tl.constexpr, TOP: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * G + tl.arange(0, G)
    x = tl.load(x_ptr + row * N + i).to(tl.float32)
    s = tl.maximum(tl.max(tl.abs(x), 0), 1e-10) / TOP
    q = tl.clamp(x / s, -TOP, TOP)
    tl.store(q_ptr + row * N + i, q.to(q_ptr.dtype.element_ty))
    tl.store(s_ptr + row * (N // G) + tl.program_id(1), s)


@case([dict(num_warps=1), dict(num_warps=2)])
def group_quant(chip, **options):
    x = rng(36).normal(size=(5, 512)).astype(BF16)
    top = 240.0 if chip == "gfx942" else 448.0
    got = launch(chip, group_quant_kernel, (5, 4), dict(x=x, q=Out((5, 512), fp8(chip)), s=Out((5, 4), F32), N=512, G=(128,),
                                                        TOP=(top,)), **options)
    f = x.astype(np.float64).reshape(5, 4, 128)
    close(got["s"], abs(f).max(-1) / top, 1e-6)
    close(got["q"].astype(F32).reshape(5, 4, 128) * got["s"][..., None].astype(float), f, 0.07, 1e-2)


@triton.jit
def order_kernel(x_ptr, sorted_ptr, sums_ptr, top_ptr, at_ptr, hist_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * B
    x = tl.load(x_ptr + row + i)
    tl.store(sorted_ptr + row + i, tl.sort(x))
    tl.store(sums_ptr + row + i, tl.cumsum(x, 0, reverse=True))
    value, index = tl.max(x, 0, return_indices=True)
    tl.store(top_ptr + tl.program_id(0), value)
    tl.store(at_ptr + tl.program_id(0), index)
    bins = tl.arange(0, 64)
    tl.atomic_add(hist_ptr + bins, tl.histogram(x, 64))


@case([dict(num_warps=4), dict(num_warps=1), dict(num_warps=16)])
def order(chip, **options):
    x = rng(37).integers(0, 64, (3, 512)).astype(np.int32)
    got = launch(chip, order_kernel, (3,), dict(x=x, s=Out(x.shape, x.dtype), c=Out(x.shape, x.dtype), t=Out(3, x.dtype),
                                                a=Out(3, np.int32), h=np.zeros(64, np.int32), B=(512,)), **options)
    close(got["s"], np.sort(x, 1))
    close(got["c"], np.cumsum(x[:, ::-1], 1)[:, ::-1].astype(np.int32))
    close(got["t"], x.max(1))
    close(got["a"], x.argmax(1).astype(np.int32))
    close(got["h"], np.bincount(x.ravel(), minlength=64).astype(np.int32))


@triton.jit
def norm_backward_kernel(dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, lock_ptr, N, GROUPS: tl.constexpr, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    k = i < N
    x = tl.load(x_ptr + row * N + i, k, other=0.0)
    dy = tl.load(dy_ptr + row * N + i, k, other=0.0)
    w = tl.load(w_ptr + i, k, other=0.0)
    r = 1 / tl.sqrt(tl.sum(x * x, 0) / N + eps)
    xhat = x * r
    wdy = w * dy
    tl.store(dx_ptr + row * N + i, (wdy - xhat * (tl.sum(xhat * wdy, 0) / N)) * r, k)
    lock = lock_ptr + row % GROUPS
    count = lock + GROUPS
    dw = dw_ptr + row % GROUPS * N + i
    partial = dy * xhat
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        partial += tl.load(dw, mask=k)
    tl.store(dw, partial, mask=k)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case([dict(num_warps=4), dict(num_warps=1)])
def norm_backward(chip, **options):
    dy, x = rng(38).normal(size=(2, 6, 200)).astype(F32)
    w = rng(39).normal(size=200).astype(F32)
    got = launch(chip, norm_backward_kernel, (6,), dict(dy=dy, x=x, w=w, dx=Out(x.shape, F32), dw=Out((2, 200), F32),
                                                        lock=np.zeros(4, np.int32), N=200, G=(2,), eps=1e-5, B=(256,)),
                 **options)
    f = x.astype(np.float64)
    r = 1 / np.sqrt((f * f).mean(1, keepdims=True) + 1e-5)
    xhat, wdy = f * r, w * dy.astype(np.float64)
    close(got["dx"], (wdy - xhat * (xhat * wdy).mean(1, keepdims=True)) * r, 1e-4, 1e-4)
    close(got["dw"].sum(0), (dy * xhat).sum(0), 1e-4, 1e-4)


@triton.jit
def conv_kernel(x_ptr, w_ptr, b_ptr, o_ptr, T, D, W: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    acc = tl.zeros((BT, BD), tl.float32) + tl.load(b_ptr + d)[None, :]
    for j in tl.static_range(W):
        at = t - (W - 1) + j
        x = tl.load(x_ptr + at[:, None] * D + d[None, :], mask=((at >= 0) & (at < T))[:, None], other=0.0)
        acc += x * tl.load(w_ptr + d * W + j)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(o_ptr + t[:, None] * D + d[None, :], acc, mask=(t < T)[:, None])


@case([dict(num_warps=4)])
def causal_conv(chip, **options):
    t, d, w = 50, 64, 4
    x, k, b = (rng(s).normal(size=n).astype(F32) for s, n in ((40, (t, d)), (41, (d, w)), (42, d)))
    got = launch(chip, conv_kernel, (4, 2), dict(x=x, w=k, b=b, o=Out((t, d), F32), T=t, D=d, W=(w,), BT=(16,), BD=(32,)),
                 **options)["o"]
    p = np.pad(x.astype(np.float64), ((w - 1, 0), (0, 0)))
    a = sum(p[j:j + t] * k[:, j] for j in range(w)) + b
    close(got, a / (1 + np.exp(-a)), 1e-4, 1e-4)


@triton.jit
def swiglu_kernel(x_ptr, o_ptr, N, B: tl.constexpr):
    i = tl.program_id(1) * B + tl.arange(0, B)
    row = tl.program_id(0)
    a = tl.load(x_ptr + row * 2 * N + i, i < N, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + row * 2 * N + N + i, i < N, other=0.0)
    tl.store(o_ptr + row * N + i, (a * tl.sigmoid(a)).to(b.dtype) * b, i < N)


@case([dict(num_warps=4), dict(num_warps=8, aligned=False)])
def swiglu(chip, **options):
    x = rng(43).normal(size=(3, 600)).astype(F16)
    got = launch(chip, swiglu_kernel, (3, 2), dict(x=x, o=Out((3, 300), F16), N=300, B=(256,)), **options)["o"]
    a, b = x[:, :300].astype(np.float64), x[:, 300:]
    close(got, a / (1 + np.exp(-a)) * b, 3e-3, 1e-4)


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, grad_ptr, dtable_ptr, out_ptr, D: tl.constexpr):
    token = tl.load(ids_ptr + tl.program_id(0))
    d = tl.arange(0, D)
    tl.store(out_ptr + tl.program_id(0) * D + d, tl.load(table_ptr + token * D + d))
    tl.atomic_add(dtable_ptr + token * D + d, tl.load(grad_ptr + tl.program_id(0) * D + d))


@case([dict(num_warps=1)])
def embedding(chip, **options):
    ids = rng(44).integers(0, 5, 12).astype(np.int64)
    table = rng(45).normal(size=(5, 128)).astype(F16)
    grad = rng(46).integers(-9, 9, (12, 128)).astype(F32)
    got = launch(chip, embedding_kernel, (12,), dict(i=ids, t=table, g=grad, d=np.zeros((5, 128), F32),
                                                     o=Out((12, 128), F16), D=(128,)), **options)
    close(got["o"], table[ids])
    want = np.zeros((5, 128), F32)
    np.add.at(want, ids, grad)
    close(got["d"], want)


@triton.jit
def spin_barrier_kernel(x_ptr, part_ptr, out_ptr, count_ptr, BLOCKS, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    tl.store(part_ptr + pid, tl.sum(tl.load(x_ptr + i), 0))
    tl.debug_barrier()
    tl.atomic_add(count_ptr, 1, sem="release")
    while tl.atomic_add(count_ptr, 0, sem="acquire") < BLOCKS:
        pass
    total = 0.0
    for j in range(BLOCKS):
        total += tl.load(part_ptr + j)
    tl.store(out_ptr + i, tl.load(x_ptr + i) / total)


@case([dict(num_warps=1), dict(num_warps=2)])
def grid_barrier(chip, **options):
    x = np.abs(rng(47).normal(size=1024)).astype(F32) + 1
    got = launch(chip, spin_barrier_kernel, (4,), dict(x=x, p=Out(4, F32), o=Out(1024, F32), c=np.zeros(1, np.int32), n=4,
                                                       B=(256,)), **options)["o"]
    close(got, x / x.astype(np.float64).sum(), 1e-5)


if __name__ == "__main__":
    main()
