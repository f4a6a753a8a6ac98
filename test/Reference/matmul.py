"""Matrix products against NumPy."""

import numpy as np

from oracle import Case, check, f32, finish, run, to

rng = np.random.default_rng(4)


def random(shape, dtype):
    return rng.integers(-128, 128, shape).astype(np.float64) if dtype == "i8" else to(dtype, rng.normal(size=shape))


for dtype, out in [("f32", "f32"), ("bf16", "bf16"), ("bf16", "f32"), ("f16", "f16"), ("f8E4M3FN", "bf16"),
                   ("f8E4M3FNUZ", "f32"), ("i8", "i32"), ("i8", "f32")]:
    for ta in [False, True]:
        for tb in [False, True]:
            for batch, shared in [((), True), ((2, 3), False), ((2, 3), True)]:
                m, n, k = 11, 150, 70
                a = random(batch + (m, k), dtype)
                b = random((() if shared else batch) + (k, n), dtype)
                words = " ".join(w for w in ["transpose_a" * ta, "transpose_b" * tb] if w)
                operands = [(a.swapaxes(-1, -2) if ta else a, dtype), (b.swapaxes(-1, -2) if tb else b, dtype)]
                case = run("hk.matmul %0, %1" + (" " + words if words else "") + " : INS -> OUTS", operands,
                           [(batch + (m, n), out)])
                want = a @ b
                exact = out == "i32"
                check(f"matmul {dtype} {out} {words} {batch}", case, want if exact else to(out, want), exact=exact)

m, n, k = 5, 200, 300
for dtype in ["f8E4M3FN", "i8"]:
    a, b = random((m, k), dtype), random((n, k), dtype)
    single = f32(rng.uniform(0.5, 2, (1,)))
    rows, columns = f32(rng.uniform(0.5, 2, (m, 1))), f32(rng.uniform(0.5, 2, (n, 1)))
    row_blocks, blocks = f32(rng.uniform(0.5, 2, (m, 3))), f32(rng.uniform(0.5, 2, (2, 3)))
    for sa, wa in [(single, np.full((m, k), single)), (rows, np.repeat(rows, k, 1)),
                   (row_blocks, np.repeat(row_blocks, 128, 1)[:, :k])]:
        for sb, wb in [(single, np.full((n, k), single)), (columns, np.repeat(columns, k, 1)),
                       (blocks, np.repeat(np.repeat(blocks, 128, 0), 128, 1)[:n, :k])]:
            types = f"tensor<{m}x{k}x{dtype}>, tensor<{n}x{k}x{dtype}> scales (" + ", ".join(
                "tensor<" + "x".join(map(str, s.shape)) + "xf32>" for s in (sa, sb)) + ")"
            case = run(f"hk.matmul %0, %1 scales (%2, %3) transpose_b : {types} -> OUTS",
                       [(a, dtype), (b, dtype), (sa, "f32"), (sb, "f32")], [((m, n), "f32")])
            check(f"scaled {dtype} {sa.shape} {sb.shape}", case, f32((a * wa) @ (b * wb).T))

# Slices of k, and their sum: exact for integers.
a, b = random((2, m, k), "i8"), random((2, n, k), "i8")
case = run("hk.matmul %0, %1 transpose_b k_slices 4 : INS -> OUTS", [(a, "i8"), (b, "i8")], [((4, 2, m, n), "i32")])
want = [a[..., i : i + 128] @ b[..., i : i + 128].swapaxes(-1, -2) for i in (0, 128, 256)] + [np.zeros((2, m, n))]
check("integer slices", case, np.stack(want), exact=True)
check("sum of integers", run("hk.sum_slices %0 : INS -> OUTS", [(case.values[0], "i32")], [((2, m, n), "f32")]),
      f32(a @ b.swapaxes(-1, -2)))
a, b = random((m, k), "bf16"), random((k, n), "bf16")
case = run("hk.matmul %0, %1 k_slices 2 : INS -> OUTS", [(a, "bf16"), (b, "bf16")], [((2, m, n), "f32")])
check("slices", case, f32(np.stack([a[:, :256] @ b[:256], a[:, 256:] @ b[256:]])))
for dtype in ["f32", "bf16"]:
    x = np.abs(random((5, 3, 40), "f32"))
    check(f"sum {dtype}", run("hk.sum_slices %0 : INS -> OUTS", [(x, "f32")], [((3, 40), dtype)]), to(dtype, x.sum(0)),
          max_ulps=24, dtype=dtype)
x = random((1, 7), "f16")
check("sum of one", run("hk.sum_slices %0 : INS -> OUTS", [(x, "f16")], [((7,), "f16")]), x[0], exact=True)

# The bound of a long sum is of the size of its noise, not of its terms.
a, b = random((4, 4096), "bf16"), random((4096, 16), "bf16")
case = run("hk.matmul %0, %1 : INS -> OUTS", [(a, "bf16"), (b, "bf16")], [((4, 16), "f32")])
check("long sum", case, f32(a @ b))
single = np.float32(0) + np.cumsum(a[0].astype(np.float32) * b[:, 0].astype(np.float32), dtype=np.float32)[-1]
assert abs(single - case.values[0][0, 0]) <= case.bounds[0][0, 0], "a plain f32 loop is within the bound"
assert case.bounds[0].max() < 8 * 4096 * 2.0**-24 * 2, case.bounds[0].max()

# fp8 sums as a matrix instruction makes them: of 32 products and the sum before, all cut
# to 13 bits behind the leading bit of the largest; added in f32 every 128 elements.
def cut(x, leading):
    step = 2.0 ** (leading - 13)
    return np.trunc(x / step) * step


def tensor_core(a, b):
    total = np.zeros((a.shape[0], b.shape[0]), np.float32)
    for block in range(0, a.shape[1], 128):
        part = np.zeros(total.shape)
        for k in range(block, min(block + 128, a.shape[1]), 32):
            terms = np.concatenate([a[:, None, k : k + 32] * b[None, :, k : k + 32], part[..., None]], -1)
            largest = np.abs(terms).max(-1, keepdims=True)
            leading = np.floor(np.log2(np.where(largest == 0, 1, largest)))
            part = cut(terms, leading).sum(-1)
            part = cut(part, np.floor(np.log2(np.where(part == 0, 1, np.abs(part)))))
        total += part.astype(np.float32)
    return total


for name, k, sign in [("random", 400, 1), ("long", 4096, 1), ("one sign", 4096, 0)]:
    a, b = random((24, k), "f8E4M3FN"), random((40, k), "f8E4M3FN")
    if not sign:
        a, b = np.abs(a), np.abs(b)
    got, want = tensor_core(a, b), f32(a @ b.T)
    allowed = run("hk.matmul %0, %1 transpose_b accumulation tensor_core : INS -> OUTS",
                  [(a, "f8E4M3FN"), (b, "f8E4M3FN")], [((24, 40), "f32")])
    check(f"tensor core {name}", allowed, want)
    assert (np.abs(got - allowed.values[0]) <= allowed.bounds[0]).all(), name
    # It is no bound that a missing term would meet: that is the size of the terms.
    terms = np.sqrt((a**2) @ (b**2).T)
    assert (allowed.bounds[0] < (0.5 if sign else 2) * terms).all(), name
    strict = run("hk.matmul %0, %1 transpose_b : INS -> OUTS", [(a, "f8E4M3FN"), (b, "f8E4M3FN")], [((24, 40), "f32")])
    assert (np.abs(got - strict.values[0]) > strict.bounds[0]).any(), "a strict product is another thing"
    # Of groups it is the same, value and bound.
    types = f"tensor<24x{k}xf8E4M3FN>, tensor<2x40x{k}xf8E4M3FN>"
    grouped = Case(f"""func.func @main(%x: tensor<24x{k}xf8E4M3FN>, %w: tensor<2x40x{k}xf8E4M3FN>, %l: tensor<2xi32>) -> tensor<24x40xf32> {{
  %y = hk.grouped_matmul %x, %w lengths %l transpose_b accumulation tensor_core : {types} groups tensor<2xi32> -> tensor<24x40xf32>
  return %y : tensor<24x40xf32>
}}""", [a, np.stack([b, -b]), np.array([24, 0], np.int32)])
    assert (grouped.values[0] == allowed.values[0]).all() and (grouped.bounds[0] == allowed.bounds[0]).all(), name
# f32 overflow of a sum is infinity.
huge = np.full((1, 8), 3e38)
check("overflow", run("hk.matmul %0, %1 transpose_b : INS -> OUTS", [(huge, "f32"), (huge, "f32")], [((1, 1), "f32")]),
      np.array([[np.inf]]))
finish()
