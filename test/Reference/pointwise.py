"""Pointwise operators against NumPy."""

import numpy as np
from math import erf

from oracle import Case, check, f32, finish, run, to

rng = np.random.default_rng(1)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 88.5, -88.5, 1e30])
x = to("f32", np.concatenate([SPECIAL, rng.normal(size=53) * 4]))
b = to("bf16", x)


def sigmoid(v):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-v))


def gelu(v):
    return 0.5 * v * (1 + np.vectorize(erf)(v / np.sqrt(2)))


def gelu_tanh(v):
    return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))


def silu(v):
    return np.where(v == -np.inf, np.nan, v * sigmoid(v))


# name, formula, exact, largest bound in ulp of f32 near normal results
UNARY = [
    ("neg", lambda v: -v, True), ("abs", np.abs, True), ("exp", np.exp, False),
    ("exp2", np.exp2, False), ("log", np.log, False), ("log2", np.log2, False),
    ("sqrt", np.sqrt, True), ("rsqrt", lambda v: 1 / np.sqrt(v), False),
    ("reciprocal", lambda v: 1 / v, True), ("tanh", np.tanh, False),
    ("expm1", np.expm1, False), ("log1p", np.log1p, False), ("erf", np.vectorize(erf), False), ("sigmoid", sigmoid, False),
    ("relu", lambda v: np.where(np.isnan(v), v, np.maximum(v, 0)), True),
    ("floor", np.floor, True), ("round", np.rint, True),
]
with np.errstate(all="ignore"):
    for name, formula, exact in UNARY:
        case = run(f"hk.{name} %0 : INS -> OUTS", [(x, "f32")], [(x.shape, "f32")])
        check(name, case, f32(formula(x)), exact=exact)
        case = run(f"hk.{name} %0 : INS -> OUTS", [(b, "bf16")], [(b.shape, "bf16")])
        check(name + " bf16", case, to("bf16", f32(formula(b))), exact=exact, max_ulps=2.5, dtype="bf16")
    finite = x[np.isfinite(x)]
    for name, formula in [("silu", silu), ("gelu", gelu), ("gelu_tanh", gelu_tanh)]:
        case = run(f"hk.{name} %0 : INS -> OUTS", [(x, "f32")], [(x.shape, "f32")])
        want = f32(formula(x))
        # gelu(-inf) is -inf * 0.
        check(name, case, want)
    # PyTorch's: x itself above 20, ln(1 + e^x) without loss elsewhere.
    special = to("f32", np.concatenate([x, [19.9, 20.0, 20.1, -20.0, -87.0, -103.0]]))
    case = run("hk.softplus %0 : INS -> OUTS", [(special, "f32")], [(special.shape, "f32")])
    check("softplus", case, f32(np.where(special > 20, special, np.log1p(np.exp(special)))))
    for low, high in [(-1.5, 2.0), (-np.inf, 0.25), (0.0, np.inf)]:
        spell = lambda v: {np.inf: "0x7F800000", -np.inf: "0xFF800000"}.get(v, str(v))
        case = run(f"hk.clamp %0 min {spell(low)} max {spell(high)} : INS -> OUTS", [(x, "f32")], [(x.shape, "bf16")])
        check("clamp", case, to("bf16", np.where(np.isnan(x), x, np.clip(x, low, high))), exact=True, dtype="bf16")
    small = to("f32", rng.uniform(-100, 100, 64))
    # 8 standard deviations of 3 ulp / sqrt(3) and of a rounding, and an ulp: 15.4.
    for name, formula in [("sin", np.sin), ("cos", np.cos)]:
        case = run(f"hk.{name} %0 : INS -> OUTS", [(small, "f32")], [(small.shape, "f32")])
        check(name, case, f32(formula(small)), max_ulps=16)

    # Broadcasting and single f32 operations, then the rounding to the result.
    p = to("bf16", rng.normal(size=(5, 1, 7)))
    q = to("f16", rng.normal(size=(4, 1)))
    for name, formula in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide),
                          ("max", np.maximum), ("min", np.minimum)]:
        case = run(f"hk.{name} %0, %1 : INS -> OUTS", [(p, "bf16"), (q, "f16")], [((5, 4, 7), "bf16")])
        check(name, case, to("bf16", f32(formula(p, q))), exact=True)
    y = to("f32", np.roll(x, 3))
    for name, formula in [("max", np.maximum), ("min", np.minimum), ("add", np.add), ("div", np.divide)]:
        case = run(f"hk.{name} %0, %1 : INS -> OUTS", [(x, "f32"), (y, "f32")], [(x.shape, "f32")])
        check(name + " special", case, f32(formula(x, y)), exact=True)

    i = np.array([5, -7, 2**31 - 1, -(2**31), 0, 100], np.int64)
    j = np.array([3, 2, 1, -1, 0, -30], np.int64)
    wrap = lambda v: ((v + 2**31) % 2**32) - 2**31
    for name, want in [("add", wrap(i + j)), ("mul", wrap(i * j)), ("sub", wrap(i - j)),
                       ("div", [1, -3, 2**31 - 1, -(2**31), 0, -3]), ("max", np.maximum(i, j))]:
        case = run(f"hk.{name} %0, %1 : INS -> OUTS", [(i, "i32"), (j, "i32")], [(i.shape, "i32")])
        check(name + " i32", case, np.array(want), exact=True)

    for name, formula in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                          ("gt", np.greater), ("ge", np.greater_equal)]:
        case = run(f"hk.compare {name} %0, %1 : INS -> OUTS", [(x, "f32"), (y, "f32")], [(x.shape, "i1")])
        check("compare " + name, case, formula(x, y), exact=True)
    c = rng.integers(0, 2, (5, 1, 1)).astype(np.uint8)
    case = run("hk.select %0, %1, %2 : INS -> OUTS", [(c, "i1"), (p, "bf16"), (np.full((), np.nan), "bf16")],
               [(p.shape, "bf16")])
    check("select", case, np.where(c != 0, p, np.nan), exact=True)

    v = np.concatenate([SPECIAL, rng.normal(size=200) * 100, [239, 247, 248, 256, 449, 464, 465, 60000, 5.1, 2.5, 0.25,
                                                              -0.1, 65519, 65520, 1e-8, 2**-9, 2**-10, 127.5, -129]])
    v = to("f32", v)
    for t in ["bf16", "f16", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"]:
        case = run("hk.cast %0 : INS -> OUTS", [(v, "f32")], [(v.shape, t)])
        check("cast " + t, case, to(t, v), exact=True)
    even = v[: len(v) // 2 * 2]
    case = run("hk.cast %0 : INS -> OUTS", [(even, "f32")], [(even.shape, "f4E2M1FN")])
    check("cast f4", case, to("f4E2M1FN", even), exact=True)
    case = run("hk.cast %0 : INS -> OUTS", [(v, "f32")], [(v.shape, "i8")])
    check("cast i8", case, np.clip(np.rint(np.nan_to_num(v, posinf=1e9, neginf=-1e9)), -128, 127), exact=True)
    case = run("hk.cast %0 : INS -> OUTS", [(v, "f32")], [(v.shape, "i32")])
    check("cast i32", case, np.clip(np.trunc(np.nan_to_num(v, posinf=1e30, neginf=-1e30)), -(2**31), 2**31 - 1),
          exact=True)
# A logarithm's noise is none behind a cast that it cannot move to another integer, as where a
# distance chooses a row of a table; where it can, anything may be chosen. e^2 is such a place.
distances = np.array([1.0, 5.0, 12.0, 20.5, np.e**2], np.float32)
table = rng.normal(size=(8, 3)).astype(np.float32)
case = Case("""func.func @main(%x: tensor<5xf32>, %table: tensor<8x3xf32>) -> tensor<5x3xf32> {
  %l = hk.log %x : tensor<5xf32>
  %i = hk.cast %l : tensor<5xf32> -> tensor<5xi64>
  %y = hk.gather_rows %table, %i : tensor<8x3xf32>, tensor<5xi64> -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
""", [distances, table])
check("rows by a cast", case, table[np.log(np.float64(distances)).astype(int)])
if not (np.isfinite(case.bounds[0][:4]).all() and np.isinf(case.bounds[0][4]).all()):
    print("FAIL bounds of rows by a cast:", case.bounds[0])
    raise SystemExit(1)
for t in ["i32", "i64", "f32"]:
    case = run("hk.iota like %0 dim 1 : OUTS like INS", [(rng.normal(size=(2, 300, 3)), "f32")], [((300,), t)])
    check("iota " + t, case, np.arange(300), exact=True)
# 16 bit integers: conversions saturate, arithmetic wraps.
small = np.array([-40000.7, -32768, -1.9, 0, 1.9, 32767, 1e9, np.nan], np.float32).astype(np.float64)
check("cast to i16", run("hk.cast %0 : INS -> OUTS", [(f32(small), "f32")], [((8,), "i16")]),
      np.trunc(np.clip(np.nan_to_num(f32(small)), -32768, 32767)), exact=True)
wide = np.array([-70000, -32769, -5, 0, 32767, 32768, 65535], np.int32)
check("narrow to i16", run("hk.cast %0 : INS -> OUTS", [(wide, "i32")], [((7,), "i16")]),
      np.clip(wide, -32768, 32767), exact=True)
shorts = rng.integers(-(2**15), 2**15, (2, 50)).astype(np.int16)
check("i16 wraps", run("hk.mul %0, %1 : INS -> OUTS", [(shorts[0], "i16"), (shorts[1], "i16")], [((50,), "i16")]),
      (shorts[0].astype(np.int64) * shorts[1]).astype(np.int16), exact=True)
# 64 bit integers: the largest is what conversions saturate to, and arithmetic wraps from there; a sum that
# no f64 holds has no bound, and what is not exact decides no comparison.
far = np.array([1e30, np.inf, -1e30, 2.0**53, 2.0**60, -3.7, np.nan, 0], np.float32)
most = 2.0**63
check("cast to i64", run("hk.cast %0 : INS -> OUTS", [(far, "f32")], [((8,), "i64")]),
      np.array([most, most, -most, 2.0**53, 2.0**60, -3, 0, 0]), exact=True)
case = Case("""func.func @main(%x: tensor<8xf32>) -> (tensor<8xi64>, tensor<8xi1>) {
  %i = hk.cast %x : tensor<8xf32> -> tensor<8xi64>
  %j = hk.add %i, 1 : tensor<8xi64>
  %c = hk.compare lt %j, %i : tensor<8xi64> -> tensor<8xi1>
  return %j, %c : tensor<8xi64>, tensor<8xi1>
}
""", [far])
held = np.array([1, 1, 0, 0, 0, 1, 1, 1], bool)  # the others are odd numbers beyond 2^53
wraps = [-most, -most, 0, 0, 0, -2, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0]
for found, bounds, expected in zip(case.values, case.bounds, wraps):
    if (found[held] != np.array(expected)[held]).any() or (bounds[held] != 0).any() or (bounds[~held] == 0).any():
        print("FAIL i64 wraps:", found, bounds)
        raise SystemExit(1)

finish()
