"""Triton kernels over rows and elements: reductions, scans, sorts, conversions, integers, atomics."""
import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from foreign import Out, case, close, main
from triton_case import BF16, fp8, launch

WARPS = [dict(num_warps=w) for w in (1, 2, 4, 8, 16)]
STYLES = [dict(num_warps=4), dict(num_warps=4, aligned=False), dict(num_warps=4, AMDGCN_USE_BUFFER_OPS=0),
          dict(num_warps=1, aligned=False), dict(num_warps=16), dict(num_warps=8, waves_per_eu=4)]


def rng(*key):
    return np.random.default_rng(sum(key) + 7)


@triton.jit
def softmax_kernel(x, o, n, stride, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + r * stride + i, m, other=-float("inf")).to(tl.float32)
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(o + r * stride + i, (e / tl.sum(e, 0)).to(o.dtype.element_ty), m)


@case(STYLES + WARPS[1:2])
def softmax(chip, **options):
    for dtype, n in ((np.float32, 781), (np.float16, 1000), (BF16, 333), (np.float32, 5)):
        x = rng(n).normal(size=(7, n)).astype(dtype)
        got = launch(chip, softmax_kernel, (7,), dict(x=x, o=Out(x.shape, dtype), n=n, stride=n,
                                                      B=(triton.next_power_of_2(n),)), **options)["o"]
        f = x.astype(np.float64)
        e = np.exp(f - f.max(1, keepdims=True))
        close(got, e / e.sum(1, keepdims=True), {2: 2e-2 if dtype == BF16 else 2e-3, 4: 1e-5}[np.dtype(dtype).itemsize], 1e-7)


@triton.jit
def norm_kernel(x, w, b, o, mean, rstd, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        total += tl.load(x + r * n + i, i < n, other=0.0).to(tl.float32)
    mu = tl.sum(total, 0) / n
    square = tl.zeros((B,), tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        d = tl.load(x + r * n + i, i < n, other=0.0).to(tl.float32) - mu
        square += tl.where(i < n, d * d, 0.0)
    rs = 1 / tl.sqrt(tl.sum(square, 0) / n + eps)
    tl.store(mean + r, mu)
    tl.store(rstd + r, rs)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        m = i < n
        v = (tl.load(x + r * n + i, m, other=0.0).to(tl.float32) - mu) * rs
        v = v * tl.load(w + i, m).to(tl.float32) + tl.load(b + i, m).to(tl.float32)
        tl.store(o + r * n + i, v.to(o.dtype.element_ty), m)


@case(STYLES + [dict(num_warps=4, num_stages=3)])
def layer_norm(chip, **options):
    for dtype, n in ((np.float32, 1151), (BF16, 700)):
        g = rng(n)
        x, w, b = (g.normal(size=s).astype(dtype) for s in ((5, n), n, n))
        out = launch(chip, norm_kernel, (5,), dict(x=x, w=w, b=b, o=Out(x.shape, dtype), mean=Out(5, np.float32),
                                                   rstd=Out(5, np.float32), n=n, eps=1e-5, B=(256,)), **options)
        f = x.astype(np.float64)
        mu, rs = f.mean(1), 1 / np.sqrt(f.var(1) + 1e-5)
        close(out["mean"], mu, 1e-5, 1e-6)
        close(out["rstd"], rs, 1e-5, 1e-6)
        want = (f - mu[:, None]) * rs[:, None] * w.astype(np.float64) + b.astype(np.float64)
        close(out["o"], want, 1e-2 if dtype == BF16 else 1e-4, 1e-2 if dtype == BF16 else 1e-5)


@triton.jit
def pair_max(v1, i1, v2, i2):
    take = (v2 > v1) | ((v2 == v1) & (i2 < i1))
    return tl.where(take, v2, v1), tl.where(take, i2, i1)


@triton.jit
def reduce_kernel(x, omax, omin, oargmax, oargmin, osum, oxor, ored, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    p = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + p)
    if AXIS == 0:
        i = tl.arange(0, N)
        index = tl.broadcast_to(tl.arange(0, M)[:, None], (M, N))
    else:
        i = tl.arange(0, M)
        index = tl.broadcast_to(tl.arange(0, N)[None, :], (M, N))
    tl.store(omax + i, tl.max(v, AXIS))
    tl.store(omin + i, tl.min(v, AXIS))
    tl.store(oargmax + i, tl.argmax(v, AXIS))
    tl.store(oargmin + i, tl.argmin(v, AXIS))
    tl.store(osum + i, tl.sum(v, AXIS))
    tl.store(oxor + i, tl.xor_sum((v * 1000).to(tl.int32), AXIS))
    best, where = tl.reduce((v, index), AXIS, pair_max)
    tl.store(ored + i, where)


@case(WARPS)
def reductions(chip, **options):
    for m, n, axis, dtype in ((32, 128, 1, np.float32), (128, 32, 0, np.float32), (4, 512, 1, np.float16),
                              (256, 4, 0, np.float64), (64, 64, 1, np.float64)):
        x = np.round(rng(m, n).normal(size=(m, n)), 2).astype(dtype)
        k = n if axis == 0 else m
        out = launch(chip, reduce_kernel, (1,), dict(
            x=x, omax=Out(k, dtype), omin=Out(k, dtype), oargmax=Out(k, np.int32), oargmin=Out(k, np.int32),
            osum=Out(k, dtype), oxor=Out(k, np.int32), ored=Out(k, np.int32), M=(m,), N=(n,), AXIS=(axis,)), **options)
        close(out["omax"], x.max(axis))
        close(out["omin"], x.min(axis))
        close(out["oargmax"], x.argmax(axis).astype(np.int32))
        close(out["oargmin"], x.argmin(axis).astype(np.int32))
        close(out["ored"], x.argmax(axis).astype(np.int32))
        close(out["osum"], x.astype(np.float64).sum(axis), 1e-2 if dtype == np.float16 else 1e-4, 0.2 if dtype == np.float16 else 1e-3)
        close(out["oxor"], np.bitwise_xor.reduce((x * dtype(1000)).astype(dtype).astype(np.int32), axis))


@triton.jit
def affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def scan_kernel(x, a, osum, oprod, oa, ob, orev, omax, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    p = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + p)
    c = tl.load(a + p)
    tl.store(osum + p, tl.cumsum(v, AXIS))
    tl.store(oprod + p, tl.cumprod(c, AXIS))
    ra, rb = tl.associative_scan((c, v), AXIS, affine)
    tl.store(oa + p, ra)
    tl.store(ob + p, rb)
    tl.store(orev + p, tl.cumsum(v, AXIS, reverse=True))
    tl.store(omax + p, tl.associative_scan(v, AXIS, larger))


@case(WARPS)
def scans(chip, **options):
    for m, n, axis in ((8, 256, 1), (256, 8, 0), (64, 32, 1), (1, 2048, 1)):
        g = rng(m, n)
        x = g.integers(-8, 9, size=(m, n)).astype(np.float32)
        a = np.where(g.random((m, n)) < 0.1, 0.5, 1).astype(np.float32)
        out = launch(chip, scan_kernel, (1,), dict(x=x, a=a, **{k: Out((m, n), np.float32) for k in
                     ("osum", "oprod", "oa", "ob", "orev", "omax")}, M=(m,), N=(n,), AXIS=(axis,)), **options)
        close(out["osum"], x.cumsum(axis))
        close(out["oprod"], a.cumprod(axis), 1e-6)
        close(out["orev"], np.flip(np.flip(x, axis).cumsum(axis), axis))
        close(out["omax"], np.maximum.accumulate(x, axis))
        s, want = np.zeros(x.take(0, axis).shape), []
        for i in range(x.shape[axis]):
            s = s * a.take(i, axis) + x.take(i, axis)
            want.append(s)
        close(out["ob"], np.stack(want, axis), 1e-5, 1e-3)


@triton.jit
def sort_kernel(x, o, otop, oflip, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = tl.arange(0, M)[:, None]
    p = r * N + tl.arange(0, N)[None, :]
    v = tl.load(x + p)
    tl.store(o + p, tl.sort(v, descending=True))
    tl.store(otop + r * K + tl.arange(0, K)[None, :], tl.topk(v, K))
    tl.store(oflip + p, tl.flip(v, 1))


@case(WARPS)
def sorts(chip, **options):
    for m, n, dtype in ((4, 256, np.int32), (16, 64, np.float32), (1, 1024, np.int16), (8, 32, np.int64), (2, 128, np.float16)):
        x = (rng(m, n).normal(size=(m, n)) * 100).astype(dtype)
        out = launch(chip, sort_kernel, (1,), dict(x=x, o=Out((m, n), dtype), otop=Out((m, 8), dtype),
                                                   oflip=Out((m, n), dtype), M=(m,), N=(n,), K=(8,)), **options)
        want = -np.sort(-x, 1)
        close(out["o"], want)
        close(out["otop"], want[:, :8])
        close(out["oflip"], x[:, ::-1])


@triton.jit
def histogram_kernel(x, o, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@case(WARPS)
def histogram(chip, **options):
    for n, bins in ((2048, 64), (512, 256), (1024, 16)):
        x = rng(n).integers(0, bins, size=n).astype(np.int32)
        out = launch(chip, histogram_kernel, (1,), dict(x=x, o=Out(bins, np.int32), N=(n,), BINS=(bins,)), **options)
        close(out["o"], np.bincount(x, minlength=bins).astype(np.int32))


@triton.jit
def gather_kernel(x, idx, o, o2, o3, n, M: tl.constexpr, N: tl.constexpr):
    p = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    j = tl.load(idx + p)
    v = tl.load(x + p)
    tl.store(o + p, tl.gather(v, j % M, 0))
    tl.store(o2 + p, tl.gather(v, j % N, 1))
    ok = (j >= 3) & (j < n)
    tl.store(o3 + p, tl.load(x + j, mask=ok, other=-1))


@case(STYLES + WARPS)
def gathers(chip, **options):
    for m, n, dtype in ((32, 64, np.float32), (64, 64, np.int16), (16, 128, np.int64), (64, 32, np.int8)):
        g = rng(m, n)
        x = g.integers(-100, 100, size=(m, n)).astype(dtype)
        j = g.integers(0, m * n, size=(m, n)).astype(np.int32)
        limit = m * n // 2
        out = launch(chip, gather_kernel, (1,), dict(x=x, idx=j, o=Out((m, n), dtype), o2=Out((m, n), dtype),
                                                     o3=Out((m, n), dtype), n=limit, M=(m,), N=(n,)), **options)
        close(out["o"], np.take_along_axis(x, j % m, 0))
        close(out["o2"], np.take_along_axis(x, j % n, 1))
        close(out["o3"], np.where((j >= 3) & (j < limit), x.ravel()[np.minimum(j, m * n - 1)], -1).astype(dtype))


@triton.jit
def transpose_kernel(x, o, o2, o3, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(o + c[:, None] * M + r[None, :], tl.trans(v))
    tl.store(o2 + r[:, None] * N + c[None, :], tl.reshape(tl.trans(v), (M, N)))
    a, b = tl.split(tl.reshape(v, (M, N // 2, 2)))
    tl.store(o3 + r[:, None] * N + c[None, :], tl.reshape(tl.join(b, a), (M, N)))


@case(WARPS)
def transposes(chip, **options):
    for m, n, dtype in ((64, 64, np.float16), (32, 128, np.int8), (128, 16, np.float32), (64, 32, np.int64)):
        x = rng(m, n).integers(-100, 100, size=(m, n)).astype(dtype)
        out = launch(chip, transpose_kernel, (1,), dict(x=x, o=Out((n, m), dtype), o2=Out((m, n), dtype),
                                                        o3=Out((m, n), dtype), M=(m,), N=(n,)), **options)
        close(out["o"], x.T)
        close(out["o2"], x.T.reshape(m, n))
        close(out["o3"], x.reshape(m, n // 2, 2)[:, :, ::-1].reshape(m, n))


@triton.jit
def random_kernel(ou, on, oi, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(ou + i, tl.rand(seed, i))
    tl.store(on + i, tl.randn(seed, i))
    tl.store(oi + i, tl.randint(seed, i))


def philox(seed, offset, rounds=10):
    """The first word of Philox 4x32-10 with the counter (offset, 0, 0, 0)."""
    mask = np.uint64(0xffffffff)
    c = [offset.astype(np.uint64)] + [np.zeros_like(offset, np.uint64)] * 3
    k0, k1 = seed & 0xffffffff, seed >> 32
    for _ in range(rounds):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & mask, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    return c[0].astype(np.uint32)


@case(STYLES)
def random(chip, **options):
    n = 4096
    out = launch(chip, random_kernel, (4,), dict(ou=Out(n, np.float32), on=Out(n, np.float32), oi=Out(n, np.int32),
                                                 seed=1234567, B=(1024,)), **options)
    bits = philox(1234567, np.arange(n)).view(np.int32)
    close(out["oi"], bits)
    close(out["ou"], (np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)), 1e-6, 1e-7)
    if abs(out["on"].mean()) > 0.1 or abs(out["on"].std() - 1) > 0.1:
        raise AssertionError("randn is not normal")


@triton.jit
def convert_kernel(x, o, RTZ: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    if RTZ:
        tl.store(o + i, v.to(o.dtype.element_ty, fp_downcast_rounding="rtz"))
    else:
        tl.store(o + i, v.to(o.dtype.element_ty))


@case([dict(source=s, target=t, num_warps=w) for w in (1, 4) for s in ("float32", "float16", "bfloat16", "float64")
       for t in ("float32", "float16", "bfloat16", "float64", "int32", "int8", "int64", "int16",
                 "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz") if s != t])
def narrow(chip, source, target, **options):
    """Every finite value of a 16-bit type, or many of a wide one, that the target can hold."""
    s, t = (np.dtype(getattr(ml_dtypes, d, None) or d) for d in (source, target))
    if s.itemsize == 2:
        x = np.arange(65536, dtype=np.uint16).view(s)
    else:
        g = rng(3)
        x = np.concatenate([g.normal(size=24576), g.normal(size=24576) * np.exp2(g.integers(-30, 30, 24576)),
                            np.arange(-8192, 8192) / 64.0]).astype(s)
    f = x.astype(np.float64)
    if t.kind == "i":
        keep = np.isfinite(f) & (np.abs(f) < min(float(np.iinfo(t).max), 2.0 ** 62))
        limit = None
    else:
        limit = float(ml_dtypes.finfo(t).max)
        keep = np.isfinite(f) & (np.abs(f) <= limit)
    x = np.where(keep, x, s.type(1))
    want = x.astype(t) if t.kind == "i" or t.itemsize >= s.itemsize or s.itemsize < 8 else x.astype(t)
    got = launch(chip, convert_kernel, (64,), dict(x=x, o=Out(x.shape, t), RTZ=(False,), B=(1024,)), **options)["o"]
    close(got, want)


@case([dict(source=s, target=t) for s in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
       for t in ("float32", "float16", "bfloat16")])
def widen(chip, source, target, **options):
    s, t = (np.dtype(getattr(ml_dtypes, d, None) or d) for d in (source, target))
    bits = np.tile(np.arange(256, dtype=np.uint8), 4)
    f = bits.view(s).astype(np.float64)
    bits = np.where(np.isfinite(f), bits, 0).astype(np.uint8)
    x = bits.view(s)
    close(launch(chip, convert_kernel, (1,), dict(x=x, o=Out(x.shape, t), RTZ=(False,), B=(1024,)), **options)["o"],
          x.astype(t))


@triton.jit
def integer_kernel(x, y, div, mod, mulhi, shl, shr, mn, mx, pop, wide, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(div + i, a // b)
    tl.store(mod + i, a % b)
    if a.dtype.primitive_bitwidth >= 32:
        tl.store(mulhi + i, tl.umulhi(a, b))
    s = b & (a.dtype.primitive_bitwidth - 1)
    tl.store(shl + i, a << s)
    tl.store(shr + i, a >> s)
    tl.store(mn + i, tl.minimum(a, b))
    tl.store(mx + i, tl.maximum(a, b))
    tl.store(pop + i, (a ^ b) & ~(a | 5))
    tl.store(wide + i, a.to(tl.float64) * b.to(tl.float64))


@case([dict(dtype=d, num_warps=w) for d in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
       for w in (1, 8)])
def integers(chip, dtype, **options):
    t = np.dtype(dtype)
    n, g, info = 4096, rng(5), np.iinfo(t)
    x, y = (g.integers(info.min, info.max, size=n, dtype=t, endpoint=True) for _ in "xy")
    y[::3] = g.integers(1, 50, size=len(y[::3]))
    y = np.where((y == 0) | (y == t.type(-1) if t.kind == "i" else y == 0), t.type(7), y)
    names = ("div", "mod", "mulhi", "shl", "shr", "mn", "mx", "pop")
    out = launch(chip, integer_kernel, (4,), dict(x=x, y=y, **{k: Out(n, t) for k in names}, wide=Out(n, np.float64),
                                                  B=(1024,)), **options)
    quotient = [int(a) // int(b) if (int(a) < 0) == (int(b) < 0) else -(-int(a) // int(b)) if int(a) < 0 else -(int(a) // -int(b))
                for a, b in zip(x, y)]
    close(out["div"], np.array(quotient, dtype=t))
    close(out["mod"], np.array([int(a) - q * int(b) for a, b, q in zip(x, y, quotient)], dtype=t))
    if t.itemsize >= 4 and t.kind == "u":
        close(out["mulhi"], np.array([int(a) * int(b) >> (8 * t.itemsize) for a, b in zip(x, y)], dtype=t))
    s = y & t.type(8 * t.itemsize - 1)
    close(out["shl"], np.left_shift(x, s))
    close(out["shr"], np.right_shift(x, s))
    close(out["mn"], np.minimum(x, y))
    close(out["mx"], np.maximum(x, y))
    close(out["pop"], (x ^ y) & ~(x | t.type(5)))
    close(out["wide"], x.astype(np.float64) * y.astype(np.float64))


@triton.jit
def math_kernel(x, y, osin, ocos, oexp, oexp2, olog, olog2, osqrt, orsqrt, oerf, odiv, ofma, ofloor, oceil, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(osin + i, tl.sin(a))
    tl.store(ocos + i, tl.cos(a))
    tl.store(oexp + i, tl.exp(a))
    tl.store(oexp2 + i, tl.exp2(a))
    tl.store(olog + i, tl.log(b))
    tl.store(olog2 + i, tl.log2(b))
    tl.store(osqrt + i, tl.sqrt(b))
    tl.store(orsqrt + i, tl.rsqrt(b))
    tl.store(oerf + i, tl.erf(a))
    tl.store(odiv + i, a / b)
    tl.store(ofma + i, tl.fma(a, b, a))
    tl.store(ofloor + i, tl.floor(a))
    tl.store(oceil + i, tl.ceil(a))


@case([dict(dtype="float32"), dict(dtype="float64"), dict(dtype="float32", num_warps=1),
       dict(dtype="float32", allow_flush_denorm=True)])
def mathematics(chip, dtype, **options):
    import math
    n, g, t = 4096, rng(9), np.dtype(dtype)
    x = (g.normal(size=n) * 20).astype(t)
    y = np.exp(g.normal(size=n) * 10).astype(t)
    names = ("osin", "ocos", "oexp", "oexp2", "olog", "olog2", "osqrt", "orsqrt", "oerf", "odiv", "ofma", "ofloor", "oceil")
    out = launch(chip, math_kernel, (4,), dict(x=x, y=y, **{k: Out(n, t) for k in names}, B=(1024,)), **options)
    f, h = x.astype(np.float64), y.astype(np.float64)
    want = dict(osin=np.sin(f), ocos=np.cos(f), oexp=np.exp(f), oexp2=np.exp2(f), olog=np.log(h), olog2=np.log2(h),
                osqrt=np.sqrt(h), orsqrt=1 / np.sqrt(h), oerf=np.array([math.erf(v) for v in f]), odiv=f / h,
                ofma=f * h + f, ofloor=np.floor(f), oceil=np.ceil(f))
    tolerance = 4e-6 if dtype == "float32" else 1e-13
    for name in names:
        close(out[name], want[name], tolerance, tolerance, name)


@triton.jit
def atomic_kernel(x, idx, add, mx, mn, xchg, cas, count, lock, total, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v, j = tl.load(x + i), tl.load(idx + i)
    tl.atomic_add(add + j, v, mask=j % 2 == 0)
    tl.atomic_max(mx + j, v)
    tl.atomic_min(mn + j, v)
    tl.atomic_add(count + j, 1, sem="relaxed")
    tl.atomic_xchg(xchg + i, v)
    tl.atomic_cas(cas + j, j, j + 1000)
    while tl.atomic_cas(lock, 0, 1) == 1:  # one workgroup at a time
        pass
    tl.store(total, tl.load(total) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case([dict(dtype=d, num_warps=w, **o) for d in ("float32", "int32") for w in (1, 4)
       for o in ({}, dict(AMDGCN_USE_BUFFER_OPS=0), dict(aligned=False))] + [dict(dtype="float64", AMDGCN_USE_BUFFER_OPS=0), dict(dtype="int64")])
def atomics(chip, dtype, **options):
    t, g = np.dtype(dtype), rng(4)
    blocks, b, k = 6, 256, 64
    n = blocks * b
    # One sign: Triton 3.9 combines the lanes of a signed maximum with v_max_u32.
    x = g.integers(0 if t.kind == "i" else -1000, 1000, size=n).astype(t)
    j = g.integers(0, k, size=n).astype(np.int32)
    start = g.integers(-1500, 1500, size=k).astype(t)
    out = launch(chip, atomic_kernel, (blocks,), dict(
        x=x, idx=j, add=start, mx=start, mn=start, xchg=np.zeros(n, t), cas=np.arange(k, dtype=np.int32),
        count=np.zeros(k, np.int32), lock=np.zeros(1, np.int32), total=np.zeros(1, np.int32), B=(b,)), **options)
    add, mx, mn = start.copy(), start.copy(), start.copy()
    np.add.at(add, j[j % 2 == 0], x[j % 2 == 0])
    np.maximum.at(mx, j, x)
    np.minimum.at(mn, j, x)
    close(out["add"], add, what="add")
    close(out["mx"], mx, what="mx")
    close(out["mn"], mn, what="mn")
    close(out["xchg"], x, what="xchg")
    close(out["count"], np.bincount(j, minlength=k).astype(np.int32), what="count")
    present = np.isin(np.arange(k), j)
    close(out["cas"], (np.arange(k) + 1000 * present).astype(np.int32), what="cas")
    close(out["total"], np.array([blocks], np.int32), what="total")


@triton.jit
def half_atomic_kernel(x, o, B: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + i % K, tl.load(x + i))


@case([dict(dtype=d, **o) for d in ("float16", "bfloat16") for o in ({}, dict(AMDGCN_USE_BUFFER_OPS=0), dict(aligned=False))])
def half_atomics(chip, dtype, **options):
    t = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x = rng(6).integers(-2, 3, size=2048).astype(t)
    out = launch(chip, half_atomic_kernel, (4,), dict(x=x, o=np.zeros(256, t), B=(512,), K=(256,)), **options)
    close(out["o"], x.astype(np.float64).reshape(-1, 256).sum(0))


@triton.jit
def quant_kernel(x, q, s, n, G: tl.constexpr, LIMIT: tl.constexpr):
    p = tl.program_id(0) * G + tl.arange(0, G)
    v = tl.load(x + p, p < n, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), 0) / LIMIT
    tl.store(q + p, tl.clamp(v / scale, -LIMIT, LIMIT).to(q.dtype.element_ty), p < n)
    tl.store(s + tl.program_id(0), scale)


@case(STYLES)
def quantise(chip, **options):
    for kind in ("e4m3", "e5m2"):
        t = fp8(chip, kind)
        limit = float(ml_dtypes.finfo(t).max)
        x = rng(8).normal(size=4096).astype(BF16)
        out = launch(chip, quant_kernel, (32,), dict(x=x, q=Out(4096, t), s=Out(32, np.float32), n=4096, G=(128,),
                                                     LIMIT=(limit,)), **options)
        f = x.astype(np.float32).reshape(32, 128)
        scale = (np.abs(f).max(1) / np.float32(limit)).astype(np.float32)
        close(out["s"], scale, 1e-6)
        close(out["q"].reshape(32, 128), f.astype(np.float64) / scale[:, None], 0.13 if kind == "e5m2" else 0.07, 0.02)


if __name__ == "__main__":
    main()
