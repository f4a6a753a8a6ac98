"""Overflow: what is infinite for certain has no noise, so that kernels are held to it; where
the order of a sum or the noise of a value decides, anything is right, also for what is
computed from it."""

import numpy as np

from oracle import Case, check, f32, finish, run, tensor

H, INF, NAN = 3e38, np.inf, np.nan


ANY = None  # of an expected result: anything is right


def bounded(name, case, expected, exact=True):
    """Without a bound where anything is right, and only there."""
    expected = np.array(expected, object)
    open_ = np.equal(expected, ANY)
    if (np.isinf(case.bounds[0]) != open_).any():
        raise SystemExit(f"FAILED {name}: bounds {case.bounds[0]}, values {case.values[0]}")
    case.bounds[0] = np.where(open_, 0, case.bounds[0])
    check(name, case, np.where(open_, case.values[0], expected), exact=exact)


# Sums in any order: of terms that overflow to one side, to either before they cancel, and
# of an infinity that others may meet on the other side.
rows = f32([[H, H, 1, 1], [-H, -H, 1, 1], [H, H, H, -H], [H, H, -H, -H], [H, -H, H, -H], [INF, -1, 1, 1],
            [INF, H, H, 1], [INF, -H, -H, 1], [-INF, H, H, 1], [INF, -INF, 1, 1], [NAN, -H, -H, 1]])
sums = [INF, -INF, INF, ANY, ANY, INF, INF, ANY, ANY, NAN, NAN]
bounded("reduce sum", run("hk.reduce sum %0 : INS -> OUTS", [(rows, "f32")], [((11, 1), "f32")]), [[s] for s in sums])
case = run("hk.cumsum inclusive %0 dim 1 : INS -> OUTS", [(rows, "f32")], [((11, 4), "f32")])
case.values[0], case.bounds[0] = case.values[0][:, 3], case.bounds[0][:, 3]
bounded("cumsum", case, sums)
case = run("hk.causal_conv1d channel_first %0, %1 : INS -> OUTS", [(rows[:, None], "f32"), (np.ones((1, 4)), "f32")],
           [((11, 1, 4), "f32")])
case.values[0], case.bounds[0] = case.values[0][:, 0, 3], case.bounds[0][:, 0, 3]
bounded("causal_conv1d", case, sums)

# Squares overflow: the norm is zero for certain.
x = f32([[H, 1, 2], [INF, 1, 2], [H, -H, H]])
for norm in ("rms_norm", "l2_norm"):
    bounded(norm, run(f"hk.{norm} %0 epsilon 1.0e-05 : INS -> OUTS", [(x, "f32")], [(x.shape, "f32")]),
            [[0, 0, 0], [NAN, 0, 0], [0, 0, 0]])
w = np.array([1.0, 2, 3])
case = run(f"hk.layer_norm %0, %1, %1 epsilon 1.0e-05 : INS, {tensor(w, 'f32')} -> OUTS", [(x, "f32"), (w, "f32")],
           [(x.shape, "f32")])
bounded("layer_norm", case, [w, [NAN] * 3, [ANY] * 3], exact=False)

# Products; a rotation may add a product that no rounding made infinite.
x = f32([[1e30, 1, INF, 2, 1e30, INF, -1, 1]])
case = run("hk.gated_activation relu %0 : INS -> OUTS", [(x, "f32")], [((1, 4), "f32")])
bounded("gate", case, [[INF, INF, -INF, 2]], exact=False)
x, angle = f32([[[H, H, H, INF], [H, -H, 1, 1]]]), np.array([[2.0, 2.0]])
case = run(f"hk.rope neox %0, %1, %2 : {tensor(x, 'f32')}, tensor<1x2xf32>, tensor<1x2xf32> -> OUTS",
           [(x, "f32"), (angle, "f32"), (angle, "f32")], [(x.shape, "f32")])
bounded("rope", case, [[[ANY, ANY, INF, INF], [INF, -INF, INF, -INF]]])


# What noise may carry across the largest number, and what anything is right for.
def function(*lines, inputs=1, kind="f32", last):
    body = "\n".join(f"  %{i} = {line}".replace("T", "tensor<1x4xf32>") for i, line in enumerate(lines))
    arguments = ", ".join(f"%x{i}: tensor<1x4xf32>" for i in range(inputs))
    return (f"func.func @main({arguments}) -> tensor<1x{last}x{kind}> {{\n{body}\n"
            f"  return %{len(lines) - 1} : tensor<1x{last}x{kind}>\n}}\n")


# Any number in [-1, 1] is the cosine of a huge angle.
text = function("hk.cos %x0 : T -> T", "hk.mul %0, %x1 : T, T -> T", "hk.mul %1, %x2 : T, T -> T", inputs=3, last=4)
case = Case(text, [np.full((1, 4), 1e30), f32([[H, H, 1e30, 1]]), np.array([[0.0, 1, 0, 0]])])
assert np.isinf(case.bounds[0][0, :2]).all() and not np.isinf(case.bounds[0][0, 2:]).any(), case.bounds
text = function("hk.cos %x0 : T -> T", "hk.mul %0, %x1 : T, T -> T", "hk.rms_norm %1 epsilon 1.0e-05 : T -> T",
                inputs=2, last=4)
case = Case(text, [np.full((1, 4), 1e30), np.full((1, 4), f32(H))])
assert np.isinf(case.bounds[0]).all(), case.bounds
# A sum that the order decides, in a maximum, a comparison, and a gate that may be open.
any_sum = "hk.cumsum inclusive %x0 dim 1 : T -> T"
x = f32([[H, H, -H, -H]])
case = Case(function(any_sum, "hk.relu %0 : T -> T", last=4), [f32([[-INF, H, H, 1]])])
assert np.isinf(case.bounds[0][0, 3]), ("relu", case.values, case.bounds)
for name, line in [("max", "hk.max %1, %x0 : T, T -> T"), ("softmax", "hk.softmax %0 : T -> T")]:
    case = Case(function(any_sum, "hk.div %0, %0 : T, T -> T", line, last=4), [x])
    assert np.isinf(case.bounds[0][0, 3]), (name, case.values, case.bounds)
case = Case(function(any_sum, "hk.compare lt %0, %0 : T, T -> tensor<1x4xi1>", kind="i1", last=4), [x])
assert case.bounds[0][0, 3] > 0, case.bounds
case = Case(function(any_sum, "hk.gated_activation relu %0 : T -> tensor<1x2xf32>", last=2), [f32([[H, -H, -H, H]])])
assert np.isinf(case.bounds[0]).any(), case.bounds
case = Case(function("hk.softmax %x0 : T -> T", "hk.sub %0, %x1 : T, T -> T",
                     "hk.gated_activation relu %1 : T -> tensor<1x2xf32>", inputs=2, last=2),
            [np.zeros((1, 4)), np.array([[0.25 + 2**-26, 0.25, 0, 0]])])
assert (case.bounds[0] > 0).all(), ("a gate that noise may open", case.values, case.bounds)
# A query of which nothing is known chooses any key.
text = """func.func @main(%x: tensor<1x1x8xf32>, %k: tensor<2x1x8xf32>, %v: tensor<2x1x4xf32>) -> tensor<1x1x4xf32> {
  %q = hk.cos %x : tensor<1x1x8xf32>
  %o = hk.attention %q, %k, %v scale 1.0 : tensor<1x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x4xf32> -> tensor<1x1x4xf32>
  return %o : tensor<1x1x4xf32>
}
"""
k = np.stack([np.full((1, 8), 1e6), np.full((1, 8), -1e6)])
v = np.array([1.0, -2]).reshape(2, 1, 1) * np.ones((2, 1, 4))
case = Case(text, [np.full((1, 1, 8), 1e30), k, v])
assert (np.abs(case.values[0][0, 0] - 1) <= case.bounds[0][0, 0]).all(), case.bounds
assert (np.abs(case.values[0][0, 0] + 2) <= case.bounds[0][0, 0]).all(), case.bounds
finish()
