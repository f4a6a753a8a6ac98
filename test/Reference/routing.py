"""Prefix sums, counting, sorting and segments against NumPy."""

import numpy as np

from oracle import Case, check, f32, finish, run, to

rng = np.random.default_rng(5)


def runs_of(length, cu, chunk):
    """(begin, end) of every run along a line."""
    for begin, end in zip(cu[:-1], cu[1:]) if cu is not None else [(0, length)]:
        step = chunk or max(end - begin, 1)
        for b in range(begin, end, step):
            yield b, min(b + step, end)


def cumsum(x, axis, kind, cu=None, chunk=None, reverse=False):
    x = np.moveaxis(x, axis, -1)
    y = np.zeros(x.shape)
    for b, e in runs_of(x.shape[-1], cu, chunk):
        part = x[..., b:e][..., ::-1] if reverse else x[..., b:e]
        sums = np.cumsum(part, -1)
        if kind != "inclusive":
            sums = np.concatenate([np.zeros(sums.shape[:-1] + (1,)), sums[..., :-1]], -1)
        y[..., b:e] = sums[..., ::-1] if reverse else sums
    if kind == "offsets":
        y = np.concatenate([y, x.sum(-1, keepdims=True)], -1)
    return np.moveaxis(y, -1, axis)


x = f32(rng.normal(size=(2, 150, 3)))
cu = np.array([0, 0, 70, 71, 71, 140], np.int32)
for dtype, kind, bounds, chunk, reverse in [
        ("f32", "inclusive", None, 64, False), ("f32", "inclusive", None, 64, True),
        ("f32", "exclusive", None, None, True), ("f32", "exclusive", cu, 32, False),
        ("f32", "inclusive", cu, None, True), ("f32", "offsets", None, None, False),
        ("bf16", "inclusive", cu, 64, False)]:
    data = to(dtype, x)
    line = f"hk.cumsum {kind} %0" + (" bounds %1" if bounds is not None else "")
    line += " dim 1" + (f" chunk {chunk}" if chunk else "") + (" reverse" if reverse else "") + " : "
    operands = [(data, dtype)]
    types = "tensor<2x150x3x" + dtype + ">"
    if bounds is not None:
        operands.append((bounds, "i32"))
        types += " bounds tensor<6xi32>"
    want = cumsum(data, 1, kind, bounds, chunk, reverse)
    case = run(line + types + " -> OUTS", operands, [(want.shape, "f32")])
    # Near a zero crossing a sum is worth far less than the noise of its terms.
    check(f"cumsum {dtype} {kind} {chunk} {reverse}", case, want)
    # Not so wide that it proves nothing.
    assert (case.bounds[0] <= 1e-4 * (1 + np.abs(data).sum(1, keepdims=True))).all()

ints = rng.integers(-(2**31), 2**31, (4, 50)).astype(np.int32)
wrapped = np.cumsum(ints.astype(np.int64), 0).astype(np.int32)
check("cumsum i32 wraps", run("hk.cumsum inclusive %0 : INS -> OUTS", [(ints, "i32")], [(ints.shape, "i32")]),
      wrapped, exact=True)
check("cumsum i64", run("hk.cumsum inclusive %0 : INS -> OUTS", [(ints, "i32")], [(ints.shape, "i64")]),
      np.cumsum(ints.astype(np.int64), 0), exact=True)
mask = rng.integers(0, 2, 20).astype(np.uint8)
check("cumsum i1", run("hk.cumsum offsets %0 : INS -> OUTS", [(mask, "i1")], [((21,), "i32")]),
      np.concatenate([[0], np.cumsum(mask)]), exact=True)

for n, low, high in [(100, -1, 16), (0, 0, 1), (40, 3, 4), (7, -1, 0)]:
    ids = rng.integers(low, high, n).astype(np.int32)
    E = 12
    counts = np.array([(ids == e).sum() for e in range(E)])
    check("histogram", run("hk.histogram %0 : INS -> OUTS", [(ids, "i32")], [((E,), "i32")]), counts, exact=True)
    for block in (1, 16):
        length = n + E * (block - 1)
        order, position, at = np.full(length, n), np.full(n, -1), 0
        for e in range(E):
            members = np.flatnonzero(ids == e)
            order[at:at + len(members)] = members
            position[members] = at + np.arange(len(members))
            at += -(-len(members) // block) * block
        case = run(f"hk.sort_by_key %0 bins {E} block {block} : INS -> OUTS",
                   [(ids, "i32")], [((length,), "i32"), ((n,), "i32")])
        check("sort", case, [order, position], exact=True)
    case = run(f"hk.sort_by_key %0 bins {E} : INS -> OUTS", [(ids, "i32")], [((5,), "i32"), ((n,), "i32")])
    full = np.concatenate([np.argsort(np.where((ids < 0) | (ids >= E), E, ids), kind="stable")[:counts.sum()],
                           np.full(5, n)])
    check("short order", case, full[:5], exact=True)

rows = rng.integers(0, 2, (37, 64))
words = np.zeros((2, 37), np.uint32)
for c in range(64):
    words[c // 32] |= (rows[:, c] << (c % 32)).astype(np.uint32)
check("count_bits", run("hk.count_bits %0 : INS -> OUTS", [(words.view(np.int32), "i32")], [((50,), "i32")]),
      rows.sum(0)[:50], exact=True)
for block in (1, 5, 32, 64):
    blocks = -(-37 // block)
    before = np.array([rows[: block * t].sum(0) for t in range(blocks)])
    check("count_bits before", run(f"hk.count_bits %0 block {block} : INS -> OUTS",
                                   [(words.view(np.int32), "i32")], [((50,), "i32"), ((blocks, 50), "i32")]),
          [rows.sum(0)[:50], before[:, :50]], exact=True)


def segments(lengths, block, size):
    ids = [s for s, l in enumerate(lengths) for _ in range(-(-max(l, 0) // block))]
    ranks = [r for l in lengths for r in range(-(-max(l, 0) // block))]
    pad = [-1] * max(size - len(ids), 0)
    places = [-(-max(l, 0) // block) for l in lengths]
    return [np.array((ids + pad)[:size]), np.array((ranks + pad)[:size]), np.concatenate([[0], np.cumsum(places)])]


lengths = np.array([0, 5, 0, 0, 17, -3, 1, 0], np.int32)
bounds = np.concatenate([[3], 3 + np.cumsum(np.maximum(lengths, 0))]).astype(np.int32)
for block, size in [(1, 23), (1, 30), (4, 9), (4, 3)]:
    want = segments(lengths, block, size)
    results = [((size,), "i32"), ((size,), "i32"), ((9,), "i32")]
    attr = f"block {block} : INS -> OUTS"
    check("segments lengths", run("hk.segments lengths %0 " + attr, [(lengths, "i32")], results), want, exact=True)
    check("segments bounds", run("hk.segments bounds %0 " + attr, [(bounds, "i32")], results), want, exact=True)

# Ids that noise decides: what counts and sorts them is open, and stays so.
text = """func.func @main(%x: tensor<1x4xf32>) -> (tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<5xi32>) {
  %s = hk.softmax %x : tensor<1x4xf32>
  %v, %i = hk.topk %s : tensor<1x4xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %ids = tensor.collapse_shape %i [[0, 1]] : tensor<1x2xi32> into tensor<2xi32>
  %h = hk.histogram %ids : tensor<2xi32> -> tensor<4xi32>
  %o, %p = hk.sort_by_key %ids bins 4 : tensor<2xi32> -> tensor<2xi32>, tensor<2xi32>
  %w = hk.bitmatrix %i : tensor<1x2xi32> -> tensor<1x1xi32>
  %c = hk.count_bits %w : tensor<1x1xi32> -> tensor<4xi32>
  %f = hk.cumsum offsets %h : tensor<4xi32> -> tensor<5xi32>
  return %h, %o, %p, %c, %f : tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<5xi32>
}
"""
near = Case(text, [np.array([[0.5, np.nextafter(np.float32(0.5), np.float32(1)), 3.0, -1.0]], np.float32)])
far = Case(text, [np.array([[0.5, 1.5, 3.0, -1.0]], np.float32)])
for bound in near.bounds:
    assert bound.size and np.isinf(bound[-1])
assert not any(bound.any() for bound in far.bounds)

finish()
