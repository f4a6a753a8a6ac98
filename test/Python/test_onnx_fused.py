"""Forms that exporters and ONNX Runtime's optimiser write, by the interpreter."""

import subprocess

import hk
import numpy as np
import pytest
from hk import _paths

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from test_onnx_models import MS, Builder, refusal  # noqa: E402

ACTIVATIONS = {
    "": ([], lambda x: x), "Relu": ([], lambda x: np.maximum(x, 0)), "Tanh": ([], np.tanh),
    "Sigmoid": ([], lambda x: 1 / (1 + np.exp(-x))),
    "LeakyRelu": ([0.25], lambda x: np.where(x < 0, x / 4, x)),
    "Clip": ([-0.5, 0.75], lambda x: np.clip(x, -0.5, 0.75)),
    "HardSigmoid": ([0.5, 0.25], lambda x: np.clip(x / 2 + 0.25, 0, 1)),
}


def results(path, *arrays):
    mlir = path.with_suffix(".mlir")
    subprocess.run([_paths.tool("hk-import"), path, "-o", mlir, "--function=m"], check=True)
    weights = mlir.with_suffix(".safetensors")
    made = hk.run_reference(mlir, list(arrays), function="m",
                            weights=weights if weights.exists() else None)
    return [result.values for result in made]


def test_fused_convolutions(tmp_path):
    """A convolution, what is added to it, then an activation."""
    b, path = Builder(1), tmp_path / "m.onnx"
    inputs = ["x", b.matrix("w", 4, 3, 3, 3), b.matrix("bias", 4)]
    plain = Builder(1)
    plain.weights = dict(b.weights)
    plain.rename(plain.op("Conv", inputs, pads=[1, 1, 1, 1]), "y")
    image = [("x", T.FLOAT, ["n", 3, 5, 6])]
    expected = ReferenceEvaluator(plain.save(path, image, [("y", T.FLOAT, None)], 17))
    outputs = []
    for name, (numbers, _) in ACTIVATIONS.items():
        attributes = {"activation": name} if name else {}
        if numbers:
            attributes["activation_params"] = numbers
        more = [] if name == "Tanh" else ["z"]
        outputs.append(b.op("FusedConv", inputs + more, domain=MS, pads=[1, 1, 1, 1], **attributes))
    b.save(path, [*image, ("z", T.FLOAT, ["n", 4, 5, 6])], [(o, T.FLOAT, None) for o in outputs], 17)
    x = b.random.standard_normal((2, 3, 5, 6)).astype(np.float32)
    z = b.random.standard_normal((2, 4, 5, 6)).astype(np.float32)
    sums = expected.run(None, {"x": x})[0]
    for (name, (_, act)), got in zip(ACTIVATIONS.items(), results(path, x, z), strict=True):
        wanted = act(sums if name == "Tanh" else sums + z)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=name)
    for attributes, text in [({"activation": "Gelu"}, "LeakyRelu, Clip or HardSigmoid, but got 'Gelu'"),
                             ({"activation": "Clip"}, "2 numbers for activation 'Clip', but got 0")]:
        bad = Builder(1)
        bad.weights = b.weights
        bad.rename(bad.op("FusedConv", inputs, domain=MS, **attributes), "y")
        bad.save(tmp_path / "bad.onnx", image, [("y", T.FLOAT, None)], 17)
        assert text in refusal(tmp_path / "bad.onnx")


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("real", [False, True])
def test_qgemm(tmp_path, transposed, real):
    """Scales of powers of two, so that no quotient is rounded before its code is."""
    b, path = Builder(2), tmp_path / "m.onnx"
    w = b.random.integers(-128, 128, (12, 7)).astype(np.int8)
    scales = (2.0 ** b.random.integers(-6, -2, 7)).astype(np.float32)
    zeros = b.random.integers(-9, 9, 7).astype(np.int8)
    bias = b.random.integers(-500, 500, 7).astype(np.int32)
    inputs = ["x", b.number(0.125), b.weight("xz", np.array(5, np.int8)),
              b.weight("w", w.T.copy() if transposed else w), b.weight("ws", scales),
              b.weight("wz", zeros), b.weight("bias", bias)]
    if not real:
        inputs += [b.number(16), b.weight("yz", np.array(-3, np.int8))]
    b.rename(b.op("QGemm", inputs, domain=MS, transB=transposed, alpha=0.5), "y")
    b.save(path, [("x", T.INT8, ["n", 12])], [("y", T.FLOAT if real else T.INT8, None)], 17)
    x = b.random.integers(-128, 128, (5, 12)).astype(np.int8)
    wanted = ((x.astype(int) - 5) @ (w.astype(int) - zeros) + bias) * 0.0625 * scales
    if not real:
        wanted = np.clip(np.round(wanted / 16) - 3, -128, 127)
    np.testing.assert_array_equal(results(path, x)[0], wanted)


def test_forms_of_exporters(tmp_path):
    """An index for each of two dims of three; a policy beside scales, which do not need it; a
    matrix as often as a call says."""
    b, path = Builder(3), tmp_path / "m.onnx"
    image = b.op("Reshape", ["x", b.integers(0, -1, 2, 3)])
    count = b.op("Slice", [b.op("Shape", ["at"]), b.integers(0), b.integers(1)])
    table = b.op("Tile", [b.matrix("table", 3, 4), b.op("Concat", [count, b.integers(2)], axis=0)])
    outputs = [b.op("GatherND", ["x", "at"]), b.op("Identity", [table]),
               b.op("Resize", [image, "", b.weight("s", np.array([1, 1, 2, 2], np.float32))],
                    mode="nearest", keep_aspect_ratio_policy="stretch",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    b.save(path, [("x", T.FLOAT, ["n", "m", 6]), ("at", T.INT64, ["k", 2])],
           [(o, T.FLOAT, None) for o in outputs], 18)
    x = b.random.standard_normal((4, 5, 6)).astype(np.float32)
    at = np.array([[0, 4], [3, -1], [-2, 0], [-4, -5], [2, 3]])
    gathered, tiled, resized = results(path, x, at)
    np.testing.assert_array_equal(gathered, x[at[:, 0], at[:, 1]])
    np.testing.assert_array_equal(tiled, np.tile(b.weights["table"], (5, 2)))
    np.testing.assert_array_equal(resized, x.reshape(4, 5, 2, 3).repeat(2, 2).repeat(2, 3))


def test_shrink(tmp_path):
    """ONNX's own tests of it are of an older opset."""
    b, path = Builder(3), tmp_path / "m.onnx"
    b.rename(b.op("Shrink", ["x"], bias=0.25, lambd=0.75), "y")
    b.save(path, [("x", T.FLOAT, ["n", 5])], [("y", T.FLOAT, None)], 17)
    x = np.array([[-2, -0.75, 0, 0.75, 1]], np.float32)
    np.testing.assert_array_equal(results(path, x)[0], [[-1.75, 0, 0, 0, 0.75]])


@pytest.mark.parametrize("past", [0, 5])
def test_smooth_softmax(tmp_path, past):
    """One more weight, of the score 0, in the denominator."""
    b, path, tokens = Builder(4), tmp_path / "m.onnx", 3
    b.rename(b.op("GroupQueryAttention", ["q", "k", "v", "keys", "values", "last", "total"], 3,
                  domain=MS, num_heads=2, kv_num_heads=1, smooth_softmax=1)[0], "y")
    rows = [(n, T.FLOAT, [1, tokens, h * 8]) for n, h in (("q", 2), ("k", 1), ("v", 1))]
    caches = [(n, T.FLOAT, [1, 1, 12, 8]) for n in ("keys", "values")]
    b.save(path, [*rows, *caches, ("last", T.INT32, [1]), ("total", T.INT32, [])],
           [("y", T.FLOAT, None)], 17)
    q, k, v, keys, values = (b.random.standard_normal(s).astype(np.float32)
                             for _, _, s in (*rows, *caches))
    total = np.array(past + tokens, np.int32)
    got = results(path, q, k, v, keys, values, total[None] - 1, total)[0]
    for name, x in (("keys", k), ("values", v)):
        cache = keys if name == "keys" else values
        cache[0, 0, past:past + tokens] = x[0]
    scores = np.einsum("thd,sd->hts", q.reshape(tokens, 2, 8), keys[0, 0]) / np.sqrt(8)
    seen = np.arange(12) <= past + np.arange(tokens)[:, None]
    weights = np.where(seen, np.exp(scores), 0)
    weights /= 1 + weights.sum(-1, keepdims=True)
    expected = np.einsum("hts,sd->thd", weights, values[0, 0]).reshape(1, tokens, 16)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
