"""HIP kernels as people write them, compiled with the shim by clang and run in the emulator against NumPy.

Each launch also gets a modelled time, which has to be sane. usage: hip_styles.py LIBHK_EMU [REGEX].
"""
import ctypes
import math
import os
import pathlib
import re
import subprocess

import numpy as np

from foreign import Device, Out, Wrong, begin_times, case, check_times, close, main

try:
    import ml_dtypes
    BF16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # then there are no cases of types that NumPy alone lacks
    ml_dtypes = BF16 = None

HERE = pathlib.Path(__file__).parent
F16, F32, F64, I32, U32, U64 = (np.dtype(t) for t in ("f2", "f4", "f8", "i4", "u4", "u8"))
i32, f32, f64, u64 = ctypes.c_int32, ctypes.c_float, ctypes.c_double, ctypes.c_uint64


def compiled(name, chip, level):
    """The code object of a source and its kernels' symbols; made once for the processes of all cases."""
    path = f"{os.environ['HK_FOREIGN_WORK']}/{name}-{chip}{level}.co"
    if not os.path.exists(path):
        done = subprocess.run(
            ["clang++-22", "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", f"--offload-arch={chip}",
             level, "-nogpuinc", "-nogpulib", "-std=c++17", f"-I{HERE.parent}/timing/shim", f"{HERE}/hip/{name}.hip",
             "-o", path], capture_output=True, text=True)
        if done.returncode:
            raise Wrong(done.stderr[-2000:])
    symbols = subprocess.run(["llvm-nm-22", path], capture_output=True, text=True).stdout
    with open(path, "rb") as f:
        return f.read(), re.findall(r"(\S+)\.kd$", symbols, re.M)


def run(source, chip, kernel, grid, block, *args, shared=0, level="-O3"):
    image, symbols = compiled(source, chip, level)
    found = [s for s in symbols if s == kernel or s.startswith("_Z%d%s" % (len(kernel), kernel))]
    if len(found) != 1:
        raise Wrong("%s is one of %s" % (kernel, symbols))
    begin_times()
    got = Device().run(image, found[0], grid, block, args, shared)
    check_times(kernel)
    return got


def rng(seed):
    return np.random.default_rng(seed)


def blocks(fn):
    return case()(fn)


def narrow_types(fn):
    return case()(fn) if ml_dtypes else fn


@blocks
def transpose(chip):
    x = rng(1).normal(size=(70, 100))
    got, _ = run("blocks", chip, "transposeNoBankConflicts", (4, 3), (32, 8), Out((100, 70), F64), x, i32(100), i32(70))
    close(got, x.T)


@blocks
def dot_product(chip):
    a, b = rng(2).integers(-9, 9, (2, 5000)).astype(F64)
    close(run("blocks", chip, "dotProduct", (7,), (256,), a, b, np.zeros(1), u64(5000), shared=2048)[2], [a @ b])


@blocks
def bitonic(chip):
    keys = rng(3).permutation(1024).astype(U32).reshape(2, 512)
    values = np.arange(1024, dtype=I32)
    k, v = run("blocks", chip, "bitonicSortShared", (2,), (256,), keys, values, shared=4096)
    close(k, np.sort(keys, 1))
    close(v.reshape(2, 512), np.argsort(keys, 1).astype(I32) + [[0], [512]])


@blocks
def stencil(chip):
    nz, ny, nx = 12, 16, 64
    x = rng(4).normal(size=(nz, ny, nx)).astype(F32)
    out, _ = run("blocks", chip, "stencil_3d", (2, 2), (32, 8), np.zeros_like(x), x, i32(nx), i32(ny), i32(nz))
    p = np.pad(x.astype(F64), 4)
    c = np.array([0.5, 0.2, 0.1, 0.04, 0.01])
    mid = p[4:-4, 4:-4, 4:-4]
    want = c[0] * mid
    for r in range(1, 5):
        for axis in range(3):
            want = want + c[r] * (np.roll(p, r, axis) + np.roll(p, -r, axis))[4:-4, 4:-4, 4:-4]
    close(out[4:-4], want[4:-4], 1e-5, 1e-5)


@blocks
def spmv(chip):
    g = rng(5)
    dense = np.where(g.random((50, 300)) < 0.3, g.normal(size=(50, 300)), 0).astype(F32)
    ptr = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(I32)
    col = np.nonzero(dense)[1].astype(I32)
    x = g.normal(size=300).astype(F32)
    y = run("blocks", chip, "spmv_csr_vector", (13,), (256,), i32(50), ptr, col, dense[dense != 0], x, Out(50, F32))[-1]
    close(y, dense.astype(F64) @ x, 1e-5, 1e-4)


@blocks
def blelloch(chip):
    x = rng(6).integers(0, 100, 1500).astype(I32)
    _, out, sums = run("blocks", chip, "blelloch_scan", (2,), (512,), x, Out(1500, I32), Out(2, I32), i32(1500))
    for part, got, total in ((x[:1024], out[:1024], sums[0]), (x[1024:], out[1024:], sums[1])):
        close(got, (np.cumsum(part) - part).astype(I32))
        close(total, I32.type(part.sum()))


@blocks
def nbody(chip):
    b = rng(7).normal(size=(128, 8)).astype(F32)
    b[:, 3] = np.abs(b[:, 3])
    got = run("blocks", chip, "nbody", (2,), (64,), b, Out((128, 8), F32), f32(0.01), i32(128))[1]
    p = b[:, :3].astype(F64)
    d = p[None] - p[:, None]
    s = b[None, :, 3] / ((d**2).sum(-1) + 0.01)**1.5
    v = b[:, 4:7] + 0.01 * (d * s[..., None]).sum(1)
    close(got[:, 4:7], v, 1e-3, 1e-3)
    close(got[:, :3], p + 0.01 * v, 1e-4, 1e-4)


@blocks
def mandelbrot(chip):
    w, h = 50, 33
    got = run("blocks", chip, "mandelbrot", (4, 3), (16, 16), Out((h, w), np.uint8), i32(w), i32(h), f32(-2), f32(-1),
              f32(0.05), f32(0.0625))[0]
    cr = F32.type(-2) + np.arange(w, dtype=F32) * F32.type(0.05)
    ci = F32.type(-1) + np.arange(h, dtype=F32)[:, None] * F32.type(0.0625)
    z, count = np.zeros((h, w), complex), np.zeros((h, w), int)
    for _ in range(255):
        inside = abs(z)**2 < 4
        count += inside
        z = np.where(inside, z * z + cr + 1j * ci, z)
    if (got != count).mean() > 0.05:  # chaos at the border multiplies roundings
        raise Wrong("more than the border differs")


@blocks
def streams(chip):
    b, c = rng(8).normal(size=(2, 1024))
    close(run("blocks", chip, "triad", (4,), (256,), Out(1024, F64), b, c, f64(0.5))[0], b + 0.5 * c, 1e-15)
    y, x = rng(9).normal(size=(2, 1000)).astype(F32)
    close(run("blocks", chip, "saxpy4", (1,), (256,), y, x, f32(2), i32(250))[0], 2 * x.astype(F64) + y, 1e-6, 1e-6)


@blocks
def black_scholes(chip):
    g = rng(10)
    s, x, t = (g.uniform(*r, 500).astype(F32) for r in ((5, 30), (1, 100), (0.25, 10)))
    call, put = run("blocks", chip, "black_scholes", (2,), (256,), Out(500, F32), Out(500, F32), s, x, t, f32(0.02),
                    f32(0.3), i32(500))[:2]
    erfc = np.vectorize(math.erfc)
    d1 = (np.log(s.astype(F64) / x) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)
    cnd = lambda d: 0.5 * erfc(-d / math.sqrt(2))  # noqa: E731
    discount = x * np.exp(-0.02 * t)
    close(call, s * cnd(d1) - discount * cnd(d2), 1e-4, 1e-4)
    close(put, discount * cnd(-d2) - s * cnd(-d1), 1e-4, 1e-4)


@blocks
def box_blur(chip):
    h, w, r = 20, 30, 2
    x = rng(11).integers(0, 256, (h, w, 4)).astype(np.uint8)
    got = run("blocks", chip, "box_blur", (2, 2), (16, 16), x, Out(x.shape, np.uint8), i32(w), i32(h), i32(r))[1]
    p = np.pad(x, ((r, r), (r, r), (0, 0)), "edge").astype(int)
    want = sum(p[j:j + h, i:i + w] for j in range(5) for i in range(5)) // 25
    want[..., 3] = 255
    close(got, want.astype(np.uint8))


@blocks
def gemm_f32(chip):
    a, b, c = (rng(s).normal(size=n).astype(F32) for s, n in ((12, (64, 40)), (13, (40, 128)), (14, (64, 128))))
    got = run("blocks", chip, "gemm_register_tiled", (2, 1), (64,), i32(64), i32(128), i32(40), f32(2), a, b, f32(0.5), c)[2]
    close(got, 2 * (a.astype(F64) @ b) + 0.5 * c, 1e-5, 1e-4)


@blocks
def wave_sums(chip):
    x = rng(15).integers(-50, 50, (5, 1000)).astype(F32)
    close(run("waves", chip, "reduce_rows", (5,), (256,), x, Out(5, F32), i32(1000))[1], x.sum(1))
    v = rng(16).integers(0, 99, 512).astype(I32)
    for width in (64, 16):
        got = run("waves", chip, "warp_scan", (2,), (256,), v, Out(512, I32), i32(width))[1]
        close(got, np.cumsum(v.reshape(-1, width), 1).astype(I32).ravel())


@blocks
def compact(chip):
    x = rng(17).integers(-50, 50, 700).astype(I32)
    _, out, n = run("waves", chip, "compact", (3,), (256,), x, np.zeros(700, I32), np.zeros(1, I32), i32(700))
    close(n, [(x >= 0).sum()])
    close(np.sort(out[:n[0]]), np.sort(x[x >= 0]))


@blocks
def cooperative(chip):
    x = rng(18).integers(0, 50, 900).astype(I32)
    close(run("waves", chip, "cg_reduce", (4,), (256,), x, np.zeros(1, I32), i32(900))[1], [x.sum()])


@blocks
def atomics(chip):
    layout = np.dtype([(n, "i4") for n in "add sub mn mx and or xor exch".split()] + [("inc", "u4"), ("dec", "u4")]
                      + [("ladd", "u8"), ("lmax", "u8"), ("fadd", "f4"), ("fmx", "f4"), ("dadd", "f8"), ("dmin", "f8"),
                         ("cas", "i4")], align=True)
    r = np.zeros(1, layout)
    r["mn"], r["and"], r["dec"], r["dmin"], r["cas"] = 1000, -1, 50, 1e9, 1
    x = rng(19).integers(1, 60, 256).astype(I32)
    got = run("waves", chip, "all_atomics", (2,), (128,), r.view(np.uint8), x)[0].view(layout)[0]
    cas = 1
    for _ in range(256):
        cas = (cas * 3 + 1) & 0xffffffff
    want = dict(add=x.sum(), sub=-x.sum(), mn=x.min(), mx=x.max(), exch=77, inc=256 % 100, ladd=x.sum(), lmax=x.max(),
                fadd=x.sum(), fmx=x.max(), dadd=x.sum(), dmin=x.min(), cas=np.uint32(cas).astype(I32))
    want["and"], want["or"], want["xor"] = (np.bitwise_and.reduce(x | 16), np.bitwise_or.reduce(x),
                                            np.bitwise_xor.reduce(x))
    want["dec"] = (50 - 256) % 100
    for name, value in want.items():
        close(got[name], np.asarray(value, got[name].dtype), what=name)


@blocks
def lds_atomics(chip):
    x = rng(20).integers(1, 60, 256).astype(I32)
    bits = sum(1 << int(v) for v in set(x.tolist()))
    out = run("waves", chip, "shared_atomics", (1,), (256,), Out(6, I32), x)[0]
    close(out, np.array([x.sum(), x.max(), x.sum(), x.sum(), bits & 0xffffffff, bits >> 32], U64).astype(U32).view(I32))


@blocks
def calls(chip):
    a, b = rng(21).normal(size=(2, 100)).astype(F32)
    which = rng(22).integers(0, 3, 100).astype(I32)
    got = run("waves", chip, "apply_ops", (1,), (128,), a, b, Out(100, F32), which, i32(100))[2]
    close(got, np.choose(which, [a + b, a * b, np.maximum(a, b)]))
    n = np.arange(64)
    close(run("waves", chip, "recurse", (1,), (64,), Out(64, I32))[0], np.where(n & 1, (n & 3) + 2, (n & 3) + 1).astype(I32))
    s = rng(23).normal(size=64).astype(F32)
    close(run("waves", chip, "areas", (1,), (64,), Out(64, F32), s)[0], np.where(n % 3, 3 * s * s, s * s), 1e-6)


@blocks
def last_block(chip):
    x = rng(24).integers(-9, 9, 4000).astype(F32)
    close(run("waves", chip, "reduce_single_pass", (6,), (256,), x, Out(6, F32), Out(1, F32), i32(4000))[2], [x.sum()])


@blocks
def grid_barrier(chip):
    """How often a workgroup looks before the others come is no part of the modelled time."""
    x = rng(51).integers(-9, 9, 1024).astype(F32)
    got = run("waves", chip, "grid_barrier", (4,), (256,), x, Out(4, F32), Out(1024, F32), np.zeros(1, I32))[2]
    close(got, np.full(1024, x.sum()))


@blocks
def surface(chip):
    g = rng(52)
    a, d = (g.normal(size=(64, n)).astype(F32) for n in (4, 3))
    b, c = g.integers(-99, 99, (64, 4)).astype(I32), g.integers(0, 99, (64, 2)).astype(U32)
    e, v, h = (g.integers(-99, 99, (64, n)) for n in (1, 2, 2))
    q = g.integers(-99, 99, (64, 4)).astype(np.int8)
    got = run("surface", chip, "ops", (1,), (64,), a, b, c, d, e, v, h, q)
    f = -(5 * a.astype(F64) - [1, 2, 3, 4])
    s = f.sum(1)
    f[:, 0] += np.maximum(s, 1)
    close(got[0], f, 1e-5, 1e-5)
    w = b.copy()
    w[:, 1] += w[:, 2]
    w[:, 2] ^= abs(w[:, 3]) + np.minimum(w[:, 0], 3) + np.maximum(3, w[:, 1].view(U32)).view(I32)
    close(got[1], w)
    close(got[2][:, 0], c[:, 0] + U32.type(1))
    close(got[3], 2 * (d[:, [1, 2, 0]] + F32.type(1) * np.array([1, 2, 3], F32)), 1e-6, 1e-6)
    close(got[4], abs(e))
    close(got[5][:, 0], v.sum(1))
    close(got[6], h[:, ::-1])
    close(got[7][:, 0], -q[:, 1])
    x = g.normal(size=64).astype(F32)
    close(run("surface", chip, "dyn", (1,), (64,), x, shared=1536)[0], x[::-1] + F32.type(1))
    z = g.normal(size=(64, 2)).astype(F32)
    close(run("surface", chip, "tmpl", (1,), (64,), z)[0], np.stack([-z[:, 1], z[:, 0]], 1), 1e-6, 1e-6)


@blocks
def integers(chip):
    hits = run("waves", chip, "monte_carlo_pi", (2,), (128,), np.zeros(1, U64), u64(42), i32(200))[0][0]
    close(4 * hits / 51200, np.pi, 0.02)
    a = rng(25).integers(-2**62, 2**62, 100)
    b = rng(26).integers(1, 2**40, 100) * rng(27).choice([-1, 1], 100)
    _, _, q, m, bits = run("waves", chip, "integer_math", (1,), (128,), a, b, Out(100, a.dtype), Out(100, a.dtype),
                           Out(100, I32), i32(100))
    close(q, np.array([int(math.copysign(1, x * y)) * (abs(x) // abs(y)) for x, y in zip(a.tolist(), b.tolist())]))
    close(m, a - q * b)
    want = []
    for u in (a & 0xffffffff).tolist():
        text = format(u, "032b")
        want.append((text.count("1") + 100 * (32 - len(text.lstrip("0"))) + 10000 * (text[::-1].find("1") + 1)
                     + int(text[::-1][-8:], 2) * 1000000 + (u * 0x10001 >> 32)) & 0xffffffff)
    close(bits.view(U32), np.array(want, U32))


@blocks
def clocks_and_votes(chip):
    close(run("waves", chip, "timers", (1,), (64,), Out(64, U64))[0], np.ones(64, U64))
    x = rng(28).integers(1, 100, 256).astype(I32)
    got = run("waves", chip, "vote", (1,), (256,), x, Out(256, I32))[1]
    waves = x.reshape(4, 64)
    want = ((waves > 0).all(1) + 2 * (waves > 90).any(1)).repeat(64) + 4 * (x > 50).sum() + 4096 * (x == 77).any() + 8192
    close(got, want.astype(I32))


@blocks
def halves(chip):
    y, x = rng(29).normal(size=(2, 400)).astype(F16)
    close(run("halves", chip, "haxpy", (1,), (256,), y, x, f32(0.5), i32(200))[0], 0.5 * x.astype(F32) + y, 1e-3, 1e-3)
    a, b = (rng(30).normal(size=(2, 100)) * 4).astype(F16)
    got = run("halves", chip, "half_ops", (1,), (128,), a, b, Out((10, 100), F16), i32(100))[2]
    with np.errstate(invalid="ignore"):
        want = [a + b, a - b, a * b, a / b, np.maximum(a, b), np.where(a > b, -a, abs(b)), np.sqrt(abs(a)),
                np.exp(a.astype(F32)).astype(F16), -a, np.trunc(b)]
    close(got, np.array(want), 2e-3, 1e-6)


@narrow_types
def rmsnorm(chip):
    x, w = rng(31).normal(size=(3, 300)).astype(BF16), rng(32).normal(size=300).astype(BF16)
    got = run("halves", chip, "rmsnorm_bf16", (3,), (64,), x, w, Out((3, 300), BF16), i32(300), f32(1e-5))[2]
    f = x.astype(F64)
    close(got, f / np.sqrt((f**2).mean(1, keepdims=True) + 1e-5) * w.astype(F64), 1e-2, 1e-3)


@narrow_types
def packed_atomics(chip):
    x = rng(33).integers(-3, 4, 64).astype(F32)
    h, b, f, d, _ = run("halves", chip, "packed_atomics", (1,), (64,), np.zeros(2, F16), np.zeros(2, BF16),
                        np.zeros(1, F32), np.zeros(1), x)
    s = x.sum()
    close(h, [s, 2 * s])
    close(b, [s, -s])
    close(f, [s])
    close(d, [s])


@narrow_types
def narrow(chip):
    a, b = rng(34).integers(-128, 128, (2, 64, 64)).astype(np.int8)
    got = run("halves", chip, "int8_dot", (64,), (64,), a, b, Out((64, 64), I32), i32(16))[2]
    close(got, a.astype(I32) @ b.astype(I32).T)
    x = rng(35).normal(size=1024).astype(F32)
    fp8 = ml_dtypes.float8_e4m3fnuz if chip == "gfx942" else ml_dtypes.float8_e4m3fn
    got = run("halves", chip, "quantise_fp8", (4,), (64,), x, Out(256, U32), f32(16))[1]
    close(got.view(fp8).astype(F32), (x * 16).astype(fp8).astype(F32))


def matrix(chip, name, dtype, elements, m, k, blocks_, out):
    """A by rows, B by columns: lane l holds its row and the elements of K of its group; small whole numbers."""
    g = rng(len(name) + m)
    fp8 = {"fp8": "e4m3", "bf8": "e5m2"}
    kinds = [dtype, dtype]
    if isinstance(dtype, tuple):
        kinds = [np.dtype(getattr(ml_dtypes, "float8_" + fp8[d] + ("fnuz" if chip == "gfx942" else "fn" if d == "fp8"
                                                                    else ""))) for d in dtype]
    a, b = (g.integers(-3, 4, (blocks_, m, k)).astype(d) for d in kinds)
    groups = 64 // (m * blocks_)

    def spread(x):  # lane = (block, group of K, row); its elements follow each other
        return np.ascontiguousarray(x.reshape(blocks_, m, groups, elements).transpose(0, 2, 1, 3)).reshape(64, elements)

    la, lb = spread(a), spread(b)
    got = run("halves", chip, name, (1,), (64,), la, lb, Out((64, m * m * blocks_ // 64), out))[2]
    want = a.astype(F64) @ b.astype(F64).transpose(0, 2, 1)
    mine = np.zeros_like(want)
    for lane in range(64):
        for r in range(got.shape[1]):
            if m == 4:
                block, i, j = lane // 4, r, lane % 4
            else:
                block, r0 = divmod(r, m * m // 64)
                i, j = r0 // 4 * (4 * (64 // m)) + lane // m * 4 + r0 % 4, lane % m
            mine[block, i, j] = got[lane, r]
    close(mine, want, what=name)


SHAPES = [("m_f32_32x32x1", F32, 1, 32, 1, 2, F32), ("m_f32_16x16x1", F32, 1, 16, 1, 4, F32),
          ("m_f32_4x4x1", F32, 1, 4, 1, 16, F32), ("m_f32_32x32x2", F32, 1, 32, 2, 1, F32),
          ("m_f32_16x16x4", F32, 1, 16, 4, 1, F32), ("m_f16_32x32x4", F16, 4, 32, 4, 2, F32),
          ("m_f16_16x16x4", F16, 4, 16, 4, 4, F32), ("m_f16_4x4x4", F16, 4, 4, 4, 16, F32),
          ("m_f16_32x32x8", F16, 4, 32, 8, 1, F32), ("m_f16_16x16x16", F16, 4, 16, 16, 1, F32),
          ("m_bf16_32x32x4", BF16, 4, 32, 4, 2, F32), ("m_bf16_16x16x4", BF16, 4, 16, 4, 4, F32),
          ("m_bf16_4x4x4", BF16, 4, 4, 4, 16, F32), ("m_bf16_32x32x8", BF16, 4, 32, 8, 1, F32),
          ("m_bf16_16x16x16", BF16, 4, 16, 16, 1, F32), ("m_i8_32x32x4", np.int8, 4, 32, 4, 2, I32),
          ("m_i8_16x16x4", np.int8, 4, 16, 4, 4, I32), ("m_i8_4x4x4", np.int8, 4, 4, 4, 16, I32),
          ("m_i8_32x32x16", np.int8, 8, 32, 16, 1, I32), ("m_i8_16x16x32", np.int8, 8, 16, 32, 1, I32),
          ("m_fp8_16x16x32", ("fp8", "fp8"), 8, 16, 32, 1, F32), ("m_bf8_fp8_16x16x32", ("bf8", "fp8"), 8, 16, 32, 1, F32),
          ("m_fp8_bf8_16x16x32", ("fp8", "bf8"), 8, 16, 32, 1, F32), ("m_bf8_16x16x32", ("bf8", "bf8"), 8, 16, 32, 1, F32),
          ("m_fp8_32x32x16", ("fp8", "fp8"), 8, 32, 16, 1, F32)]
OLD = [("m_xf32_16x16x8", F32, 2, 16, 8, 1, F32), ("m_xf32_32x32x4", F32, 2, 32, 4, 1, F32)]
NEW = [("m_f16_16x16x32", F16, 8, 16, 32, 1, F32), ("m_f16_32x32x16", F16, 8, 32, 16, 1, F32),
       ("m_bf16_16x16x32", BF16, 8, 16, 32, 1, F32), ("m_bf16_32x32x16", BF16, 8, 32, 16, 1, F32),
       ("m_i8_16x16x64", np.int8, 16, 16, 64, 1, I32), ("m_i8_32x32x32", np.int8, 16, 32, 32, 1, I32)]


@narrow_types
def matrix_shapes(chip):
    for shape in SHAPES + (OLD if chip == "gfx942" else NEW):
        matrix(chip, *shape)


@blocks
def matrix_f64(chip):
    a, b = rng(36).integers(-3, 4, (2, 16, 4)).astype(F64)
    got = run("halves", chip, "m_f64_16x16x4", (1,), (64,), a.T.copy(), b.T.copy(), Out((64, 4), F64))[2]
    mine = np.zeros((16, 16))
    for lane in range(64):
        for r in range(4):
            mine[r * 4 + lane // 16, lane % 16] = got[lane, r]
    close(mine, a @ b.T)
    a, b = rng(37).integers(-3, 4, (2, 4, 4, 4)).astype(F64)  # block, row, k; lane = k, block, row
    got = run("halves", chip, "m_f64_4x4x4", (1,), (64,), a.transpose(2, 0, 1).copy(), b.transpose(2, 0, 1).copy(),
              Out((4, 4, 4), F64))[2]
    close(got.transpose(1, 0, 2), a @ b.transpose(0, 2, 1))


@case(chips=("gfx950",))
def matrix_scaled(chip):
    g = rng(38)
    table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    codes = g.integers(0, 16, (2, 16, 128))
    value = np.where(codes & 8, -1, 1) * table[codes & 7]
    scale = g.integers(125, 130, (2, 16, 4)).astype(np.int64)  # 127 is one; 32 elements of K share one

    def operand(c):
        words = np.zeros((64, 32), np.uint8)
        for lane in range(64):
            mine = c[lane % 16, lane // 16 * 32:][:32]
            words[lane, :16] = mine[::2] | mine[1::2] << 4
        return words

    by_lane = [np.array([s[lane % 16, lane // 16] for lane in range(64)], I32) for s in scale]
    got = run("halves", chip, "m_scale_fp4", (1,), (64,), operand(codes[0]), operand(codes[1]), Out((64, 4), F32),
              *by_lane)[2]
    full = value * np.repeat(2.0**(scale - 127), 32, 2)
    mine = np.zeros((16, 16))
    for lane in range(64):
        for r in range(4):
            mine[lane // 16 * 4 + r, lane % 16] = got[lane, r]
    close(mine, full[0] @ full[1].T)


@blocks
def buffers(chip):
    x = rng(39).normal(size=512).astype(F32)
    out = run("machine", chip, "buffer_scale", (2,), (256,), x, Out(512, F32), i32(500), f32(2))[1]
    # The scalar offset takes no part in the range check of a raw buffer.
    close(out[:499], 2 * x[:499].astype(F64) + x[1:500], 1e-6, 1e-6)
    y = rng(40).integers(0, 256, 8192).astype(np.uint8)
    close(run("machine", chip, "buffer_builtin", (2,), (256,), y, Out(8192, np.uint8), i32(8192))[1], y)
    v = rng(41).integers(-9, 9, 64).astype(F32)
    close(run("machine", chip, "buffer_atomic", (1,), (64,), np.zeros(1, F32), v)[0], [v.sum()])


@blocks
def dpp(chip):
    x = rng(42).integers(-9, 9, (3, 64)).astype(F32)
    close(run("machine", chip, "dpp_reduce", (3,), (64,), x, Out(3, F32))[1], x.sum(1))


@blocks
def swizzles(chip):
    x = rng(43).integers(0, 2**31, 64).astype(np.int64)
    out = run("machine", chip, "swizzles", (1,), (64,), x.astype(I32), Out(64, I32))[1]
    n = np.arange(64)
    a, b = x[n ^ 1], x[n ^ 3]
    pool = [a >> (8 * i) & 255 for i in range(4)] + [x >> (8 * i) & 255 for i in range(4)]
    c = pool[4] | pool[3] << 8 | pool[2] << 16 | pool[1] << 24
    d = (x >> 4 & 0xfff) + ((x >> 8 & 0x7f) ^ 0x40) - 0x40
    aligned = ((x << 32 | a) >> 8) & 0xffffffff
    sad = sum(abs((x >> s & 255) - (a >> s & 255)) for s in (0, 8, 16, 24)) + b
    e = aligned ^ (sad & 0xffffffff)
    f = x[0] + np.minimum(n, 32)
    close(out.view(U32), (a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f & 0xffffffff).astype(U32))


@blocks
def direct_copy(chip):
    x = rng(44).normal(size=(5, 256)).astype(F32)
    close(run("machine", chip, "direct_copy", (1,), (256,), x, Out((5, 256), F32), i32(5))[1], 2 * x[:, ::-1])


@blocks
def hgemm(chip):
    a, b = rng(45).integers(-3, 4, (2, 128, 96)).astype(F16)
    got = run("machine", chip, "hgemm_mfma", (2, 2), (256,), a, b, Out((128, 128), F32), i32(128), i32(128), i32(96))[2]
    close(got, a.astype(F32) @ b.astype(F32).T)


@blocks
def assembly(chip):
    a, b = rng(46).normal(size=(2, 64)).astype(F32)
    got = run("machine", chip, "inline_asm", (1,), (64,), a, b, Out(64, F32))[2]
    a, b = a.astype(F64), b.astype(F64)
    close(got, np.maximum(np.maximum(a, b), a * b + b) + a * a + b * b, 1e-5, 1e-5)
    x = rng(47).normal(size=(300, 4)).astype(F32)
    close(run("machine", chip, "stream_copy", (2,), (64,), x, Out((300, 4), F32), i32(300))[1], 3 * x, 1e-6)


@case(chips=("gfx950",))
def newer(chip):
    x = rng(48).normal(size=(64, 4)).astype(F32)
    want = x[np.arange(64) ^ 21]
    close(run("machine", chip, "wide_direct", (1,), (64,), x, Out((64, 4), F32))[1], want)
    close(run("machine", chip, "wide_buffer_direct", (1,), (64,), x, Out((64, 4), F32), i32(1024))[1], want)
    t = rng(49).integers(0, 999, (4, 16, 4)).astype(np.int16)
    got = run("machine", chip, "transposing", (1,), (64,), t, Out((4, 16, 4), np.int16))[1]
    j = np.arange(16)[:, None]
    close(got, t[:, np.arange(4)[None] * 4 + j // 4, j % 4])
    v = rng(50).integers(0, 2**32, 128).astype(np.uint64)
    got = run("machine", chip, "swaps", (1,), (64,), v.astype(U32), Out(64, U32))[1]
    one, two = v[:64], v[64:]

    def swap(half):
        a, b = one.copy(), two.copy()
        for s in range(0, 64, 2 * half):
            a[s + half:s + 2 * half], b[s:s + half] = two[s:s + half], one[s + half:s + 2 * half]
        return a, b

    (p, q), (r, s) = swap(32), swap(16)
    close(got, (p + 3 * q + 5 * r + 7 * s & 0xffffffff).astype(U32))


if __name__ == "__main__":
    main()
