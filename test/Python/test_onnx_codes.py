"""Operators of codes of 8 bits (ONNX Runtime's QOperator format, uint8 images) and ScatterND,
by the interpreter, against NumPy and ONNX's reference evaluator. Codes must be equal."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from test_onnx_fused import results  # noqa: E402
from test_onnx_models import MS, Builder, refusal  # noqa: E402

F = np.float32


def codes(real, zero):
    """Rounded half to even, moved, limited."""
    limits = np.iinfo(zero.dtype)
    return np.clip(np.round(real) + int(zero), limits.min, limits.max).astype(zero.dtype)


def saved(b, path, inputs, outputs, opset=17):
    """Codes of uint8 leave as what they are, in int32."""
    made = [(b.op("Cast", [o], to=T.INT32), T.INT32, None) for o in outputs]
    return b.save(path, inputs, made, opset)


def test_one_factor(tmp_path):
    """A sum of products is multiplied by x * w / y, one f32 number, as ONNX's evaluator and ORT do:
    (sum * (x * w)) / y gives other codes at ties. The second operand is computed, too."""
    b, path = Builder(1), tmp_path / "m.onnx"
    zero, k = np.int8(3), 32
    x, w, y = F(0.0235), F(0.0117), F(0.031)
    q = b.random.integers(-128, 128, (2, 40, k)).astype(np.int8)
    other = b.random.integers(-128, 128, (2, k, 64)).astype(np.int8)
    inputs = ["q", b.number(x), b.weight("xz", zero), "other", b.number(w),
              b.weight("wz", np.int8(-7)), b.number(y), b.weight("yz", np.int8(0))]
    b.rename(b.op("QLinearMatMul", inputs), "c")
    b.save(path, [("q", T.INT8, ["n", "m", "k"]), ("other", T.INT8, ["n", "k", 64])],
           [("c", T.INT8, None)], 17)
    sums = (q.astype(int) - 3) @ (other.astype(int) + 7)
    wanted = codes(sums.astype(F) * (x * w / y), np.int8(0))
    np.testing.assert_array_equal(results(path, q, other)[0], wanted)
    # Whole numbers and a half, which one f32 number keeps and two roundings do not.
    x, w, y = F(0.298), F(0.39), F(0.23244)
    assert x * w / y == F(0.5)
    sums = np.arange(-127, 128, dtype=np.int8)[:, None]
    assert (np.round(sums * F(x * w) / y) != np.round(sums * F(0.5))).any()
    b = Builder(2)
    b.weight("z", np.int8(0)), b.weight("one", np.ones((1, 1), np.int8))
    inputs = ["q", b.number(x), "z", "one", b.number(w), "z", b.number(y), "z"]
    b.rename(b.op("QLinearMatMul", inputs), "c")
    b.save(path, [("q", T.INT8, ["n", 1])], [("c", T.INT8, None)], 17)
    np.testing.assert_array_equal(results(path, sums)[0], np.round(sums * F(0.5)))


@pytest.mark.parametrize("zero", [np.int8(3), np.uint8(120)])
def test_pointwise(tmp_path, zero):
    """Scales of powers of two, so that sums and products are exact."""
    b, path = Builder(3), tmp_path / "m.onnx"
    kind, limits = (T.INT8, T.UINT8)[zero.dtype == np.uint8], np.iinfo(zero.dtype)
    a, c = (b.random.integers(limits.min, limits.max + 1, s).astype(zero.dtype)
            for s in ((2, 3, 4, 5), (2, 3, 4, 5)))
    real_a, real_c = (a.astype(F) - F(zero)) / 16, (c.astype(F) - F(zero)) / 8
    first = ["a", b.number(1 / 16), b.weight("az", zero)]
    second = ["c", b.number(1 / 8), b.weight("cz", zero)]
    result = [b.number(1 / 4), b.weight("yz", zero)]
    fine = [b.number(1 / 256), "yz"]
    p = np.exp(real_a - real_a.max(1, keepdims=True))
    padded = np.pad(real_a, ((0, 0), (0, 0), (1, 0), (0, 1)))
    average = sum(padded[:, :, i:i + 4, j:j + 5] for i in range(2) for j in range(2))
    widest = np.pad(a, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=limits.min)
    forms = [
        ("QLinearAdd", first + second + result, {}, codes((real_a + real_c) * 4, zero)),
        ("QLinearMul", first + second + result, {}, codes(real_a * real_c * 4, zero)),
        ("QLinearLeakyRelu", first + result, {"alpha": 0.25},
         codes(np.where(real_a < 0, real_a / 4, real_a) * 4, zero)),
        ("QLinearSigmoid", first + fine, {}, codes(256 / (1 + np.exp(-real_a)), zero)),
        ("QLinearSoftmax", first + fine, {"axis": 1, "opset": 13},
         codes(256 * p / p.sum(1, keepdims=True), zero)),
        ("QLinearConcat", result + first + second, {"axis": -1},
         codes(np.concatenate([real_a, real_c], -1) * 4, zero)),
        ("QLinearGlobalAveragePool", first + result, {},
         codes(real_a.mean((2, 3), keepdims=True, dtype=np.float64) * 4, zero)),
        ("QLinearAveragePool", first + result,
         {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1], "count_include_pad": 1},
         codes(average, zero)),
        ("MaxPool", ["a"], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]},
         np.max([widest[:, :, i:i + 4, j:j + 5] for i in range(2) for j in range(2)], 0))]
    outputs = [b.op(name, inputs, domain="" if name == "MaxPool" else MS, **attributes)
               for name, inputs, attributes, _ in forms]
    saved(b, path, [(n, kind, ["n", 3, 4, 5]) for n in "ac"], outputs)
    for form, got in zip(forms, results(path, a.view(np.int8), c.view(np.int8)), strict=True):
        np.testing.assert_array_equal(got, form[3], err_msg=form[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_convolutions(tmp_path, dtype):
    """All channels, groups and channels apart; zero points of the file, computed, and of each
    channel; around the input is its zero point."""
    b, path, zero = Builder(4), tmp_path / "m.onnx", np.array(90, dtype)
    kind, limits = (T.INT8, T.UINT8)[dtype == np.uint8], np.iinfo(dtype)
    x = b.random.integers(limits.min, limits.max + 1, (2, 6, 5, 7)).astype(dtype)
    b.weight("xz", zero)
    b.weight("wz6", b.random.integers(-9, 9, 6).astype(np.int8))
    b.weight("wz", np.array(5, np.int8)), b.weight("ws", (b.random.random(6) / 90).astype(F))
    b.weight("bias", b.random.integers(-999, 999, 6).astype(np.int32)), b.weight("yz", zero)
    window = {"pads": [1, 0, 2, 1], "strides": [2, 1]}
    outputs = []
    for groups in (1, 2, 6):
        w = b.random.integers(-128, 128, (6, 6 // groups, 3, 2)).astype(np.int8)
        name = b.weight(f"w{groups}", w)
        # The evaluator takes one zero point for each row only.
        outputs.append(b.op("QLinearConv", ["x", b.number(0.05), "xz", name, "ws", "wz6",
                                            b.number(0.61), "yz", "bias"], group=groups, **window))
        outputs.append(b.op("ConvInteger", ["x", name, "given", "wz"], group=groups, **window))
        outputs.append(b.op("ConvInteger", ["x", name, "", "wz"], group=groups, **window))
    model = saved(b, path, [("x", kind, ["n", 6, 5, 7]), ("given", kind, [])], outputs)
    evaluator = ReferenceEvaluator(model)
    for got, wanted in zip(results(path, x.view(np.int8), zero.view(np.int8)),
                           evaluator.run(None, {"x": x, "given": zero}), strict=True):
        np.testing.assert_array_equal(got, wanted)
    bad = Builder(4)
    bad.rename(bad.op("ConvInteger", ["x", "w"]), "y")
    bad.save(tmp_path / "bad.onnx", [("x", T.INT8, [1, 2, 3, 3]), ("w", T.INT8, [2, 2, 3, 3])],
             [("y", T.INT32, None)], 17)
    assert "to be integers of 8 bits of the model file" in refusal(tmp_path / "bad.onnx")


def test_uint8_borders(tmp_path):
    """Images come and go as bytes: int8 with the bits of uint8."""
    b, path = Builder(5), tmp_path / "m.onnx"
    real = b.op("Cast", ["image"], to=T.FLOAT)
    b.rename(b.op("Transpose", ["image"], perm=[1, 0]), "turned")
    b.rename(b.op("Mul", [real, b.number(0.5)]), "half")
    b.rename(b.op("QuantizeLinear", ["half", b.number(0.5), b.weight("z", np.uint8(1))]), "back")
    b.save(path, [("image", T.UINT8, ["n", 256])],
           [("turned", T.UINT8, None), ("half", T.FLOAT, None), ("back", T.UINT8, None)], 17)
    image = np.stack([np.arange(256), np.arange(256)[::-1]]).astype(np.uint8)
    turned, half, back = results(path, image.view(np.int8))
    np.testing.assert_array_equal(turned.astype(np.int8).view(np.uint8), image.T)
    np.testing.assert_array_equal(half, image / 2)
    np.testing.assert_array_equal(back.astype(np.int8).view(np.uint8),
                                  np.minimum(image.astype(int) + 1, 255))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scatter(tmp_path, depth):
    """Indices of the file and of a call, also from the end."""
    b, path = Builder(6), tmp_path / "m.onnx"
    index = np.array([[1, -1, 2], [4, 0, 0], [-5, 3, 1], [2, 2, 2]])[:, :depth].reshape(2, 2, depth)
    data = b.random.standard_normal((5, 4, 3)).astype(F)
    updates = b.random.standard_normal((2, 2, *data.shape[depth:])).astype(F)
    outputs = [b.op("ScatterND", ["data", b.weight("i", index), "updates"]),
               b.op("ScatterND", ["data", "at", "updates"])]
    b.save(path, [("data", T.FLOAT, [5, 4, 3]), ("updates", T.FLOAT, [2, 2, *data.shape[depth:]]),
                  ("at", T.INT64, [2, 2, depth])], [(o, T.FLOAT, None) for o in outputs], 18)
    wanted = data.copy()
    for place in np.ndindex(2, 2):
        wanted[tuple(index[place])] = updates[place]
    for got in results(path, data, updates, index):
        np.testing.assert_array_equal(got, wanted)


def test_scatter_rows_of_open_count(tmp_path):
    """Rows that each call counts; of equal indices the last is kept, and what is outside is not
    written. A reduction of any number of them and a table of open size are refused."""
    b, path = Builder(7), tmp_path / "m.onnx"
    b.rename(b.op("ScatterND", ["data", "at", "updates"]), "y")
    shapes = [("data", T.FLOAT, [9, "c"]), ("at", T.INT64, ["m", 1]),
              ("updates", T.FLOAT, ["m", "c"])]
    b.save(path, shapes, [("y", T.FLOAT, None)], 18)
    data, updates = (b.random.standard_normal((n, 2)).astype(F) for n in (9, 5))
    wanted = data.copy()
    wanted[[3, 8]] = updates[[3, 4]]
    got, = results(path, data, np.array([[3], [9], [-10], [3], [-1]]), updates)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(
        results(path, data, np.zeros((0, 1), np.int64), np.zeros((0, 2), F))[0], data)
    for attributes, rows, text in [({"reduction": "add"}, 9, "expected at most 64 updates"),
                                   ({"reduction": "mean"}, 9, "none, add, mul, max or min"),
                                   ({}, "rows", "fix a size with --dim")]:
        bad = Builder(7)
        bad.rename(bad.op("ScatterND", ["data", "at", "updates"], **attributes), "y")
        bad.save(tmp_path / "bad.onnx", [("data", T.FLOAT, [rows, "c"]), *shapes[1:]],
                 [("y", T.FLOAT, None)], 18)
        assert text in refusal(tmp_path / "bad.onnx")


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_scatter_joins(tmp_path, reduction):
    """Updates of a place one after the other, by indices of the file and of a call, two of which
    are equal and one from the end; along an axis, too, with an open dim beside it."""
    b, path = Builder(6), tmp_path / "m.onnx"
    index, along = np.array([[1], [-1], [1], [1]]), np.array([[0, -1, 0], [2, 2, 2]])
    data = b.random.standard_normal((5, 3)).astype(F)
    updates = b.random.standard_normal((4, 3)).astype(F)
    data[4, 0], updates[0, 1] = np.nan, np.nan
    outputs = [b.op("ScatterND", ["data", b.weight("i", index), "updates"], reduction=reduction),
               b.op("ScatterND", ["data", "at", "updates"], reduction=reduction),
               b.op("ScatterElements", ["open", "along", "more"], axis=-1, reduction=reduction),
               b.op("ScatterElements", ["open", "along", "more"], axis=1)]
    b.save(path, [("data", T.FLOAT, [5, 3]), ("updates", T.FLOAT, [4, 3]), ("at", T.INT64, [4, 1]),
                  ("open", T.FLOAT, ["n", 4]), ("along", T.INT64, ["n", 3]),
                  ("more", T.FLOAT, ["n", 3])], [(o, T.FLOAT, None) for o in outputs], 18)
    join = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
    more = updates[1:3]
    wanted, given = data.copy(), data[:2].repeat(2, 1)[:, 1:5].copy()
    for place, update in zip(index[:, 0], updates, strict=True):
        wanted[place] = join(wanted[place], update)
    joined, written = given.copy(), given.copy()
    for row, step in np.ndindex(along.shape):
        place = row, along[row, step]
        joined[place], written[place] = join(joined[place], more[row, step]), more[row, step]
    got = results(path, data, updates, index, given, along, more)
    for one, other in zip(got, [wanted, wanted, joined, written], strict=True):
        np.testing.assert_allclose(one, other, rtol=2**-22, atol=0)


def test_scatter_along_an_axis_is_refused(tmp_path):
    """Where its steps cannot be written out, or where it leaves rows alone."""
    for indices, text in [(["n", 65], "expected at most 64 updates"), (["n", "k"], "fix a size"),
                          ([2, 3], "indices and updates of")]:
        b = Builder(6)
        b.rename(b.op("ScatterElements", ["data", "at", "updates"], axis=1), "y")
        b.save(tmp_path / "m.onnx", [("data", T.FLOAT, ["n", 99]), ("at", T.INT64, indices),
                                     ("updates", T.FLOAT, indices)], [("y", T.FLOAT, None)], 18)
        assert text in refusal(tmp_path / "m.onnx")


def test_sorted_lengths_and_counted_elements(tmp_path):
    """What exporters write of packed sequences, whose lengths they sort, and of variances, whose
    elements they count; a product of what is computed is refused."""
    b, path = Builder(9), tmp_path / "m.onnx"
    ordered = b.op("TopK", ["lens", b.integers(3)], 2, largest=1)
    count = b.op("ReduceProd", [b.op("Shape", ["x"])], keepdims=0)
    b.rename(b.op("Mul", ["x", b.op("Cast", [count], to=T.FLOAT)]), "y")
    b.save(path, [("lens", T.INT64, [3]), ("x", T.FLOAT, ["n", 2])],
           [(o, T.INT64, None) for o in ordered] + [("y", T.FLOAT, None)], 17)
    lens, x = np.array([2, 7, 5]), b.random.standard_normal((3, 2)).astype(F)
    longest, places, scaled = results(path, lens, x)
    assert longest.tolist() == [7, 5, 2] and places.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(scaled, x * F(6))
    bad = Builder(9)
    bad.rename(bad.op("ReduceProd", ["x"]), "y")
    bad.save(tmp_path / "bad.onnx", [("x", T.FLOAT, [3])], [("y", T.FLOAT, None)], 17)
    assert "multiply them with Mul" in refusal(tmp_path / "bad.onnx")


def test_sizes_computed_in_reals(tmp_path):
    """The side of a square grid by Pow and Cast, windows by Ceil, repeats to a product of sizes:
    the tracing exporter's DINOv2, MobileViT and DeBERTa."""
    b, path = Builder(8), tmp_path / "m.onnx"
    side = b.op("Cast", [b.op("Pow", [b.number(16), b.number(0.5)])], to=T.INT64)
    windows = b.op("Cast", [b.op("Mul", [b.op("Ceil", [b.op("Div", [b.number(7), b.number(4)])]),
                                         b.number(2)])], to=T.INT64)
    parts = [b.op("Unsqueeze", [n, b.integers(0)]) for n in (side, windows)]
    b.rename(b.op("Reshape", ["x", b.op("Concat", [b.integers(-1), *parts], axis=0)]), "y")
    count = b.op("Slice", [b.op("Shape", ["x"]), b.integers(0), b.integers(1)])
    shape = b.op("Concat", [b.op("Mul", [count, b.integers(4)]), b.integers(3)], axis=0)
    b.rename(b.op("Expand", [b.matrix("row", 1, 3), shape]), "z")
    width = b.op("Gather", [b.op("Shape", ["x"]), b.weight("one", np.array(1))])
    side = b.op("Cast", [b.op("Pow", [b.op("Cast", [width], to=T.FLOAT), b.number(0.5)])],
                to=T.INT64)
    parts = [b.integers(-1), b.op("Unsqueeze", [side, b.integers(0)])]
    b.rename(b.op("Reshape", ["x", b.op("Concat", parts, axis=0)]), "s")
    steps = b.op("Range", [width, b.op("Neg", [width]), b.weight("down", np.array(-4))])
    b.rename(b.op("Identity", [b.op("Cast", [steps], to=T.FLOAT)]), "r")
    b.save(path, [("x", T.FLOAT, ["n", 16])], [(o, T.FLOAT, None) for o in "yzsr"], 17)
    x = b.random.standard_normal((3, 16)).astype(F)
    y, z, s, r = results(path, x)
    np.testing.assert_array_equal(r, np.arange(16, -16, -4))
    np.testing.assert_array_equal(s, x.reshape(-1, 4))
    np.testing.assert_array_equal(y, x.reshape(-1, 4, 4))
    np.testing.assert_array_equal(z, np.tile(b.weights["row"], (12, 1)))


def test_few_numbers_of_float8(tmp_path):
    """Numbers of a file that are cast at import: reals of 8 bits have theirs, too."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b, path = Builder(9), tmp_path / "m.onnx"
    few = np.array([0.5, -3, 448, 0.25]).astype(ml_dtypes.float8_e4m3fn)
    b.rename(b.op("Add", ["x", b.op("Cast", ["few"], to=T.FLOAT)]), "y")
    model = b.save(path, [("x", T.FLOAT, ["n", 4])], [("y", T.FLOAT, None)], 21)
    model.graph.initializer.append(helper.make_tensor("few", T.FLOAT8E4M3FN, [4], few.tobytes(),
                                                      raw=True))
    onnx.save(model, path)
    np.testing.assert_array_equal(results(path, np.ones((1, 4), F))[0][0], [1.5, -2, 449, 1.25])
