"""Selections, gathers, bit matrices and reductions against NumPy."""

import numpy as np

from oracle import Case, check, finish, f32, run, to

rng = np.random.default_rng(7)


def topk(x, k, highest, by_index):
    """Sorts every row by Python tuples: NaN first, then value, then place."""
    values, indices = [], []
    for row in x.reshape(-1, x.shape[-1]):
        key = lambda i: (not np.isnan(row[i]), 0 if np.isnan(row[i]) else -row[i], -i if highest else i)
        order = sorted(range(len(row)), key=key)[:k]
        order = sorted(order) if by_index else order
        missing = k - len(order)
        values.append([row[i] for i in order] + [-np.inf] * missing)
        indices.append(order + [-1] * missing)
    shape = x.shape[:-1] + (k,)
    return [np.array(values, np.float64).reshape(shape), np.array(indices, np.float64).reshape(shape)]


def special(shape):
    x = rng.integers(-3, 4, shape).astype(np.float64)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        x[rng.random(shape) < 0.1] = value
    return x


for shape in [(7, 16), (3, 1), (2, 3, 40), (0, 9), (9,)]:
    for dtype in ["f32", "bf16"]:
        x = to(dtype, special(shape))
        for k in {1, min(5, shape[-1]), shape[-1]}:
            for ties in ["lowest", "highest"]:
                for order in ["value", "index"]:
                    result = shape[:-1] + (k,)
                    case = run(f"hk.topk %0 ties {ties}_index order by_{order} : INS -> OUTS", [(x, dtype)],
                               [(result, dtype), (result, "i64" if k == 1 else "i32")])
                    check(f"topk {shape} {k} {ties} {order}", case, topk(x, k, ties == "highest", order == "index"),
                          exact=True)

# Every id is in range and there once, whatever the row holds.
x = np.full((4, 12), np.nan)
x[1] = -np.inf
x[2, ::2] = np.inf
case = run("hk.topk %0 ties highest_index order by_index : INS -> OUTS", [(x, "f32")],
           [((4, 6), "f32"), ((4, 6), "i32")])
for row in case.values[1]:
    assert len(set(row)) == 6 and min(row) >= 0 and max(row) < 12, row

# A sum that the order decides may be infinite or NaN: it may stand in front of an infinity, too.
x = np.array([[np.inf, 3e38, 1], [0, 3e38, 0], [0, -3e38, 0]])
case = Case("""func.func @main(%x: tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %s = hk.cumsum inclusive %x dim 0 : tensor<3x3xf32>
  %v, %i = hk.topk %s : tensor<3x3xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  return %v, %i : tensor<3x2xf32>, tensor<3x2xi32>
}
""", [x])
assert np.isinf(case.bounds[1][2]).all(), case.bounds[1]
assert (case.bounds[1][0] == 0).all() and (case.values[1][0] == [0, 1]).all(), case.values[1]

x = special((5, 9))
ids = rng.integers(-2, 12, (5, 4))
want = np.where((ids >= 0) & (ids < 9), np.take_along_axis(x, np.clip(ids, 0, 8), 1), 0)
for kind in ["i32", "i64"]:
    check("gather_last", run("hk.gather_last %0, %1 : INS -> OUTS", [(x, "f32"), (ids, kind)], [((5, 4), "f32")]),
          want, exact=True)

bits = np.zeros((5, 64), bool)
for r, row in enumerate(ids * 5):
    bits[r, [i for i in row if 0 <= i < 64]] = True
words = (bits.reshape(5, 2, 32) @ (1 << np.arange(32, dtype=np.int64))).astype(np.uint32).astype(np.int32)
check("bitmatrix", run("hk.bitmatrix %0 : INS -> OUTS", [(ids * 5, "i32")], [((5, 2), "i32")]),
      words.astype(np.float64), exact=True)


def group_limit(x, groups, top, score, fill=-np.inf):
    y = np.full_like(x, fill)
    for r, row in enumerate(x):
        parts = row.reshape(groups, -1)
        best = np.array([topk(part[None], min(2, part.size), False, False)[0][0] for part in parts])
        with np.errstate(invalid="ignore"):
            scores = best[:, 0] if score == "maximum" else f32(best[:, 0] + best[:, 1])
        for g in topk(scores[None], top, False, False)[1][0].astype(int):
            y[r].reshape(groups, -1)[g] = parts[g]
    return y


for score in ["maximum", "top2_sum"]:
    for groups, top in [(4, 2), (8, 8), (2, 1)]:
        x = to("bf16", special((20, 16)))
        line = f"hk.group_limit {score} %0 groups {groups} top_groups {top} : INS -> OUTS"
        check(f"group_limit {score} {groups}", run(line, [(x, "bf16")], [(x.shape, "bf16")]),
              group_limit(x, groups, top, score), exact=True)
x = to("bf16", special((20, 16)))
check("group_limit with a number", run("hk.group_limit maximum %0 groups 4 top_groups 2 fill 0.5 : INS -> OUTS",
                                       [(x, "bf16")], [(x.shape, "bf16")]), group_limit(x, 4, 2, "maximum", 0.5), exact=True)

x = to("bf16", rng.normal(size=(6, 37)))
check("sum", run("hk.reduce sum %0 : INS -> OUTS", [(np.abs(x), "bf16")], [((6, 1), "f32")]),
      f32(np.abs(x).sum(-1, keepdims=True)), max_ulps=24 + 8 * np.sqrt(37))
check("max", run("hk.reduce max %0 : INS -> OUTS", [(x, "bf16")], [((6, 1), "f32")]), x.max(-1, keepdims=True),
      exact=True)
with np.errstate(invalid="ignore"):
    x = np.array([[np.nan, 1, 2], [np.inf, 1, 2], [np.inf, -np.inf, 0], [-np.inf] * 3])
    check("sum of specials", run("hk.reduce sum %0 : INS -> OUTS", [(x, "f32")], [((4, 1), "f32")]),
          x.sum(-1, keepdims=True), exact=True)
    check("max of specials", run("hk.reduce max %0 : INS -> OUTS", [(x, "f32")], [((4, 1), "f32")]),
          x.max(-1, keepdims=True), exact=True)
check("sum of nothing", run("hk.reduce sum %0 : INS -> OUTS", [(np.zeros((2, 0)), "f32")], [((2, 1), "f32")]),
      np.zeros((2, 1)))

# Noise decides nothing that is clear: softmax keeps the order of distant logits
# and says of near ones that it does not know.
text = """func.func @main(%x: tensor<1x4xf32>) -> (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x1xi32>) {
  %p = hk.softmax %x : tensor<1x4xf32>
  %v, %i = hk.topk %p : tensor<1x4xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %b = hk.bitmatrix %i : tensor<1x2xi32> -> tensor<1x1xi32>
  return %v, %i, %b : tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x1xi32>
}"""
clear = Case(text, [np.array([[1.0, 3.0, 0.0, 2.0]])])
assert list(clear.values[1][0]) == [1, 3] and not clear.bounds[1].any() and not clear.bounds[2].any()
near = Case(text, [np.array([[1.0, 3.0, 0.0, 1.00000012]])])
assert near.bounds[1][0][0] == 0 and np.isinf(near.bounds[1][0][1]) and np.isinf(near.bounds[2]).all()
assert (near.bounds[0] < 1e-5).all()
finish()
