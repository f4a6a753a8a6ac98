"""Quantised operators, mixtures of experts and functions of ONNX models, against NumPy."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from test_onnx_models import MS, Builder, compiled, refusal  # noqa: E402

K, N, BLOCK = 64, 48, 16


def save(b, path, rows, outputs, opset=21):
    """A model of x [rows, K] and these outputs, all of two dims."""
    return b.save(path, [("x", T.FLOAT, rows)], [(o, T.FLOAT, None) for o in outputs], opset)


def uses(path, word):
    return path.with_suffix(".mlir").read_text().count(word)


def close(got, expected, factor=3e-6):
    """f32 sums in another order: a few roundings of the largest sum."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=factor * np.abs(expected).max())


def quantised(b, name, values, dtype, axis=None, zero=None):
    """A weight in QDQ form: the node's result, and the values that it means."""
    limits = np.iinfo(dtype)
    kept = {"axis": 1 - axis, "keepdims": True} if axis is not None else {}
    scale = (np.abs(values).max(**kept) / 100).astype(np.float32)
    zero = np.zeros_like(scale, dtype) if zero is None else np.full_like(scale, zero, dtype)
    codes = np.clip(np.round(values / scale) + zero.astype(int), limits.min, limits.max)
    codes = codes.astype(dtype)
    flat = (lambda a: a.reshape(-1)) if axis is not None else (lambda a: a)
    inputs = [b.weight(f"{name}.q", codes), b.weight(f"{name}.s", flat(scale)),
              b.weight(f"{name}.z", flat(zero))]
    attributes = {} if axis is None else {"axis": axis}
    return (b.op("DequantizeLinear", inputs, **attributes),
            (codes.astype(np.float64) - zero) * scale)


def requantised(b, x, scale, zero):
    """QuantizeLinear and DequantizeLinear of an activation."""
    parameters = [b.number(scale), b.weight(f"zero_{len(b.weights)}", zero)]
    return b.op("DequantizeLinear", [b.op("QuantizeLinear", [x, *parameters]), *parameters])


@pytest.mark.parametrize(("zero", "weight_zero", "dtype", "axis"), [
    (np.int8(0), 0, np.int8, 1), (np.int8(3), 0, np.int8, 1), (np.uint8(120), 0, np.int8, None),
    (np.uint8(128), 128, np.uint8, 1), (np.uint8(0), 7, np.uint8, 1),
    (np.int8(-5), -90, np.int8, 1),
])
def test_qdq_products(tmp_path, zero, weight_zero, dtype, axis):
    """MatMul and Gemm of dequantised values are products of integers."""
    b = Builder(1)
    w, values = quantised(b, "w", b.random.standard_normal((K, N)), dtype, axis, weight_zero)
    g, gemm = quantised(b, "g", b.random.standard_normal((N, K)), dtype,
                        None if axis is None else 0, weight_zero)
    scale = np.float32(0.031)
    x = requantised(b, "x", scale, zero)
    b.rename(b.op("MatMul", [x, w]), "y")
    b.rename(b.op("Gemm", [x, g, b.matrix("c", N)], transB=1, alpha=0.5), "z")
    path = tmp_path / "m.onnx"
    model = save(b, path, ["n", K], ["y", "z"])
    module = compiled(path)
    moved = int(zero) - (128 if zero.dtype == np.uint8 else 0)  # as hk stores it
    assert (uses(path, "xi32>") > 0) == (moved != 0)
    assert uses(path, "hk.matmul") >= 2
    for rows in (5, 1, 33):
        x = (3 * b.random.standard_normal((rows, K))).astype(np.float32)
        limits = np.iinfo(zero.dtype)
        q = np.clip(np.round(x / scale) + int(zero), limits.min, limits.max)
        q = (q - int(zero)) * np.float64(scale)
        got = module.m(x=x)
        close(got.y.numpy(), q @ values)
        close(got.z.numpy(), 0.5 * (q @ gemm.T) + b.weights["c"])
        for name, expected in zip("yz", ReferenceEvaluator(model).run(None, {"x": x}), strict=True):
            close(getattr(got, name).numpy(), expected, 1e-5)


def test_qdq_of_float8(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    f8 = ml_dtypes.float8_e4m3fn
    b = Builder(2)
    codes = (20 * b.random.standard_normal((K, N))).astype(f8)
    tensor = helper.make_tensor("w.q", T.FLOAT8E4M3FN, codes.shape, codes.tobytes(), raw=True)
    scales = b.weight("w.s", (b.random.random(N) / 50).astype(np.float32))
    w = b.op("DequantizeLinear", ["w.q", scales], axis=1)
    x = b.op("DequantizeLinear", [b.op("QuantizeLinear", ["x", b.number(0.01)],
                                       output_dtype=T.FLOAT8E4M3FN), b.number(0.01)])
    b.rename(b.op("MatMul", [x, w]), "y")
    path = tmp_path / "m.onnx"
    model = save(b, path, ["n", K], ["y"], 24)
    model.graph.initializer.append(tensor)
    onnx.save(model, path)
    module = compiled(path)
    assert uses(path, "hk.dequantize") == 0 and uses(path, "xf8E4M3FN>") > 0
    x = b.random.standard_normal((7, K)).astype(np.float32)
    x[0, :2] = 1e9, -1e9  # saturates
    q = np.clip(x / np.float32(0.01), -448, 448).astype(f8).astype(np.float64) * np.float32(0.01)
    close(module.m(x=x).y.numpy(), q @ (codes.astype(np.float64) * b.weights["w.s"]))


@pytest.mark.parametrize(("dtype", "zero"), [(np.int8, None), (np.uint8, 128), (np.uint8, 3)])
@pytest.mark.parametrize("form", ["nodes", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
def test_dynamic_quantisation(tmp_path, dtype, zero, form):
    """What onnxruntime's quantize_dynamic writes: scale and zero point of every call's rows."""
    b = Builder(3)
    limits = np.iinfo(dtype)
    w = b.random.integers(limits.min, limits.max + 1, (K, N)).astype(dtype)
    zeros = [b.weight("w.z", np.array(zero, dtype))] if zero is not None else []
    b.weight("w", w), b.weight("w.s", (b.random.random(N) / 100).astype(np.float32))
    bias = b.matrix("bias", N)
    if form == "DynamicQuantizeMatMul":
        b.rename(b.op(form, ["x", "w", "w.s", *(zeros or [""]), bias], domain=MS), "y")
    else:
        q, s, z = b.op("DynamicQuantizeLinear", ["x"], 3)
        if form == "nodes":
            sums = b.op("Cast", [b.op("MatMulInteger", [q, "w", z, *zeros])], to=T.FLOAT)
            y = b.op("Mul", [sums, b.op("Mul", [s, "w.s"])])
            b.rename(b.op("Add", [y, bias]), "y")
        else:
            b.rename(b.op(form, [q, "w", s, "w.s", z, *(zeros or [""]), bias], domain=MS), "y")
    path = tmp_path / "m.onnx"
    save(b, path, ["n", K], ["y"])
    module = compiled(path)
    for rows, shift in ((4, 0), (1, 5), (9, -5)):
        x = (b.random.standard_normal((rows, K)) + shift).astype(np.float32)
        least, most = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
        scale = (most - least) / np.float32(255)
        at = np.round(-least / scale)
        q = np.clip(np.round(x / scale) + at, 0, 255) - at
        expected = (q.astype(np.float64) @ (w.astype(np.float64) - (zero or 0))) * scale
        close(module.m(x=x).y.numpy(), expected * b.weights["w.s"] + b.weights["bias"])
    # A range of nothing, which has no scale.
    np.testing.assert_array_equal(module.m(x=np.zeros((2, K), np.float32)).y.numpy(),
                                  np.broadcast_to(b.weights["bias"], (2, N)))


def packed(codes, bits):
    """Low bits of a byte first."""
    parts = codes.reshape(*codes.shape[:-1], -1, 8 // bits).astype(np.uint8)
    return sum(parts[..., i] << np.uint8(bits * i) for i in range(8 // bits)).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "real"])
def test_nbits(tmp_path, bits, zeros):
    """MatMulNBits and GatherBlockQuantized; K is no multiple of the block."""
    b = Builder(4)
    k, blocks = 56, 4
    codes = b.random.integers(0, 2 ** bits, (N, blocks * BLOCK))
    scales = (b.random.random((N, blocks)) / 2 ** bits).astype(np.float32)
    zero = np.full((N, blocks), 2 ** (bits - 1))
    inputs = ["x", b.weight("w", packed(codes, bits).reshape(N, blocks, -1)),
              b.weight("w.s", scales)]
    if zeros == "packed":
        zero = b.random.integers(0, 2 ** bits, (N, blocks))
        inputs.append(b.weight("w.z", packed(zero, bits)))
    elif zeros == "real":
        zero = (2 ** bits * b.random.random((N, blocks))).astype(np.float32)
        inputs.append(b.weight("w.z", zero))
    b.rename(b.op("MatMulNBits", inputs, domain=MS, K=k, N=N, bits=bits, block_size=BLOCK), "y")
    path = tmp_path / "m.onnx"
    save(b, path, ["n", k], ["y"])
    module = compiled(path)
    assert (uses(path, "ui4>") > 0) == (bits == 4)
    w = (codes - np.repeat(zero, BLOCK, 1)) * np.repeat(scales.astype(np.float64), BLOCK, 1)
    for rows in (1, 6):
        x = b.random.standard_normal((rows, k)).astype(np.float32)
        close(module.m(x=x).y.numpy(), x @ w[:, :k].T)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("has_zeros", [False, True])
def test_gather_block_quantized(tmp_path, bits, has_zeros):
    b = Builder(5)
    rows, blocks = 11, 4
    codes = b.random.integers(0, 2 ** bits, (rows, K))
    scales = b.random.random((rows, blocks)).astype(np.float32)
    zero = np.full((rows, blocks), 2 ** (bits - 1))
    inputs = [b.weight("w", packed(codes, bits)), "ids", b.weight("w.s", scales)]
    if has_zeros:
        zero = b.random.integers(0, 2 ** bits, (rows, blocks))
        inputs.append(b.weight("w.z", packed(zero, bits)))
    b.rename(b.op("GatherBlockQuantized", inputs, domain=MS, bits=bits, block_size=BLOCK), "y")
    path = tmp_path / "m.onnx"
    b.save(path, [("ids", T.INT64, ["n", "m"])], [("y", T.FLOAT, None)], 21)
    ids = np.array([[0, 10, 3], [-1, -11, 5]])
    table = (codes - np.repeat(zero, BLOCK, 1)) * np.repeat(scales, BLOCK, 1)
    np.testing.assert_allclose(compiled(path).m(ids=ids).y.numpy(), table[ids], rtol=1e-6)


EXPERTS, H, I, TOP = 6, 32, 16, 2


def mixture(x, router, fc1, fc2, act, bias1=0, bias2=0, normalise=True, fc3=None, weights=None):
    """[T, H] by loops over tokens, in f64."""
    out = np.zeros_like(x)
    for t, (row, logits) in enumerate(zip(x, router, strict=True)):
        p = np.exp(logits - logits.max())
        p /= p.sum()
        best = np.argsort(-(logits if weights is not None else p), kind="stable")[:TOP]
        w = p[best] if weights is None else weights[t][best]
        w = w / w.sum() if normalise else w
        for e, share in zip(best, w, strict=True):
            h = fc1[e] @ row + (bias1[e] if np.ndim(bias1) else 0)
            h = act(h) if fc3 is None else act(h, fc3[e] @ row)
            out[t] += share * (fc2[e] @ h + (bias2[e] if np.ndim(bias2) else 0))
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def swiglu(alpha, beta, limit, pairs):
    def act(h, linear=None):
        g, up = (h, linear) if linear is not None else (
            (h[::2], h[1::2]) if pairs else np.split(h, 2))
        if limit:
            g, up = np.minimum(g, limit), np.clip(up, -limit, limit)
        return g * sigmoid(alpha * g) * (up + beta)
    return act


ACTIVATIONS = {
    "relu": (1, {}, lambda h: np.maximum(h, 0)),
    "silu": (1, {}, lambda h: h * sigmoid(h)),
    "gelu": (1, {}, lambda h: 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi)
                                                     * (h + 0.044715 * h ** 3)))),
    "identity": (1, {}, lambda h: h),
    "oai": (2, {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0,
                "swiglu_limit": 0.7}, swiglu(1.702, 1, 0.7, True)),
    "halves": (2, {"swiglu_fusion": 2}, swiglu(1, 0, None, False)),
    "other": (2, {"swiglu_fusion": 1, "activation_alpha": 1.5, "activation_beta": 0.5,
                  "swiglu_limit": 0.5}, swiglu(1.5, 0.5, 0.5, True)),
    "fc3": (1, {"activation_alpha": 1.702, "activation_beta": 1.0}, swiglu(1.702, 1, None, True)),
}


def experts(b, name, width):
    return (b.weight("fc1", (b.random.standard_normal((EXPERTS, width * I, H)) / 6
                             ).astype(np.float32)),
            b.weight("fc2", (b.random.standard_normal((EXPERTS, H, I)) / 4).astype(np.float32)))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_moe(tmp_path, name):
    width, attributes, act = ACTIVATIONS[name]
    b = Builder(6)
    fc1, fc2 = experts(b, name, width)
    has_bias = name in ("relu", "oai")
    biases = [b.weight("b1", b.random.standard_normal((EXPERTS, width * I)).astype(np.float32)),
              b.weight("b2", b.random.standard_normal((EXPERTS, H)).astype(np.float32))]
    router = b.op("MatMul", [b.op("Reshape", ["x", b.integers(-1, H)]),
                             b.matrix("router", H, EXPERTS)])
    inputs = ["x", router, fc1, biases[0] if has_bias else "", fc2, biases[1] if has_bias else ""]
    fc3 = None
    if name == "fc3":
        fc3 = b.random.standard_normal((EXPERTS, I, H)).astype(np.float32)
        inputs.append(b.weight("fc3", fc3))
    kind = name if name in ("relu", "silu", "gelu", "identity") else "swiglu"
    b.rename(b.op("MoE", inputs, domain=MS, k=TOP, activation_type=kind,
                  normalize_routing_weights=int(name != "relu"), **attributes), "y")
    path = tmp_path / "m.onnx"
    b.save(path, [("x", T.FLOAT, ["batch", "seq", H])], [("y", T.FLOAT, ["batch", "seq", H])], 21)
    module = compiled(path)
    assert uses(path, "hk.grouped_matmul") == (3 if name in ("fc3", "other") else 2)
    w = {n: a.astype(np.float64) for n, a in b.weights.items()}
    for shape in ((2, 5, H), (1, 1, H), (3, 0, H)):
        x = b.random.standard_normal(shape).astype(np.float32)
        rows = x.reshape(-1, H).astype(np.float64)
        expected = mixture(rows, rows @ w["router"], w["fc1"], w["fc2"], act,
                           *((w["b1"], w["b2"]) if has_bias else (0, 0)), name != "relu", fc3)
        got = module.m(x=x).y.numpy()
        np.testing.assert_allclose(got, expected.reshape(shape), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("bits", "block", "zeros", "apart"), [
    (4, 16, True, False), (4, 0, True, False), (8, 16, True, True), (8, 0, False, False),
    (2, 16, False, True), (4, 16, False, False),
])
def test_qmoe(tmp_path, bits, block, zeros, apart):
    """Blocks and whole rows, with zero points, and a router of which weights are apart."""
    b = Builder(7)
    inputs, values, zero_inputs = {}, {}, []
    for at, (name, n, k) in zip((2, 5), (("fc1", 2 * I, H), ("fc2", H, I)), strict=True):
        blocks = k // block if block else 1
        codes = b.random.integers(0, 2 ** bits, (EXPERTS, n, k))
        scale = (b.random.random((EXPERTS, n, blocks)) / 2 ** bits / 2).astype(np.float32)
        zero = np.full((EXPERTS, n, blocks), 2 ** (bits - 1))
        inputs[at] = b.weight(name, packed(codes, bits))
        inputs[at + 1] = b.weight(f"{name}.s", scale if block else scale[..., 0])
        zero_inputs.append("")
        if zeros:
            zero = b.random.integers(0, 2 ** bits, zero.shape)
            padded = zero if block else zero[..., 0]
            missing = -padded.shape[-1] % (8 // bits)
            padded = np.concatenate([padded, np.zeros((*padded.shape[:-1], missing), int)], -1)
            zero_inputs[-1] = b.weight(f"{name}.z", packed(padded, bits))
        spread = [np.repeat(a, k // blocks, -1) for a in (zero, scale.astype(np.float64))]
        values[name] = (codes - spread[0]) * spread[1]
    names = ["x", "router"] + [inputs.get(i, "") for i in range(2, 11)] + zero_inputs
    if apart:
        names += ["", "weights"]
    b.rename(b.op("QMoE", names, domain=MS, k=TOP, activation_type="swiglu", swiglu_fusion=1,
                  activation_alpha=1.702, activation_beta=1.0, expert_weight_bits=bits,
                  normalize_routing_weights=1, **({"block_size": block} if block else {})), "y")
    path = tmp_path / "m.onnx"
    arguments = ["x", "router"] + ["weights"] * apart
    b.save(path, [(a, T.FLOAT, ["n", H if a == "x" else EXPERTS]) for a in arguments],
           [("y", T.FLOAT, ["n", H])], 21)
    module = compiled(path)
    for rows in (6, 1):
        x = {a: b.random.standard_normal((rows, H if a == "x" else EXPERTS)).astype(np.float32)
             for a in arguments}
        if apart:
            x["weights"] = np.abs(x["weights"])
        wide = {a: v.astype(np.float64) for a, v in x.items()}
        expected = mixture(wide["x"], wide["router"], values["fc1"], values["fc2"],
                           swiglu(1.702, 1, None, True), weights=wide.get("weights"))
        np.testing.assert_allclose(module.m(**x).y.numpy(), expected, rtol=0,
                                   atol=1e-5 * np.abs(expected).max())


def test_functions(tmp_path):
    """Functions that call others, with attributes of the caller and defaults."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    leaky = helper.make_node("LeakyRelu", ["a"], ["r"])
    leaky.attribute.append(helper.make_attribute("alpha", 0.0))
    leaky.attribute[0].CopyFrom(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT,
                                                    ref_attr_name="slope"))
    inner = helper.make_function("mine", "Inner", ["a", "b"], ["r2"],
                                 [leaky, helper.make_node("Add", ["r", "b"], ["r2"])], opsets,
                                 attribute_protos=[helper.make_attribute("slope", 0.25)])
    outer = helper.make_function(
        "mine", "Outer", ["a"], ["y"],
        [helper.make_node("Inner", ["a", "a"], ["t"], domain="mine", slope=0.5),
         helper.make_node("Inner", ["t", "a"], ["y"], domain="mine")], opsets)
    graph = helper.make_graph([helper.make_node("Outer", ["x"], ["m"], domain="mine"),
                               helper.make_node("Outer", ["m"], ["y"], domain="mine")], "g",
                              [helper.make_tensor_value_info("x", T.FLOAT, ["n", 8])],
                              [helper.make_tensor_value_info("y", T.FLOAT, ["n", 8])])
    model = helper.make_model(graph, functions=[inner, outer], opset_imports=opsets)
    onnx.save(model, tmp_path / "m.onnx")
    x = np.random.default_rng(8).standard_normal((3, 8)).astype(np.float32)

    def outer_of(a):
        t = np.where(a < 0, 0.5 * a, a) + a
        return np.where(t < 0, 0.25 * t, t) + a

    np.testing.assert_allclose(compiled(tmp_path / "m.onnx").m(x=x).y.numpy(),
                               outer_of(outer_of(x)), rtol=1e-6)
    # One that calls itself, and one of another opset.
    inner.node[0].op_type, inner.node[0].domain = "Outer", "mine"
    model = helper.make_model(graph, functions=[outer, inner], opset_imports=opsets)
    onnx.save(model, tmp_path / "bad.onnx")
    assert "call others at most 64 deep, and not themselves" in refusal(tmp_path / "bad.onnx")
    outer.opset_import[0].version = 18
    onnx.save(helper.make_model(graph, functions=[outer], opset_imports=opsets),
              tmp_path / "bad.onnx")
    assert "function 'Outer': expected opset 21 of ''" in refusal(tmp_path / "bad.onnx")


def test_refusals(tmp_path):
    """What of these operators is not supported says so."""
    b = Builder(9)
    codes = b.weight("codes", np.zeros((4, 8), np.uint8))
    for op, inputs, attributes, text in [
            ("QuantizeLinear", ["x", b.number(1)], {"output_dtype": T.UINT4},
             "expected codes of int8, uint8 or float8, but got uint4"),
            ("GatherBlockQuantized", [codes, "i", b.weight("s", np.ones((4, 1), np.float32))],
             {"domain": MS, "gather_axis": 1}, "gather_axis 0 and quantize_axis 1"),
            ("QMoE", ["x", "x", codes, "s", "", codes], {"domain": MS, "quant_type": "fp4"},
             "expected attribute 'quant_type' to be 'int'"),
            ("QMoE", ["x", "x", codes, "s", "", codes], {"domain": MS, "weights_prepacked": 1},
             "the weights are in a kernel's order"),
            ("MoE", ["x", "x", codes, "", codes], {"domain": MS, "k": 1},
             "hk has no tensors of uint8"),
            ("Neg", [codes], {}, "hk has no tensors of uint8")]:
        n = Builder(10)
        n.weights = b.weights
        n.rename(n.op(op, inputs, **attributes), "y")
        n.save(tmp_path / "m.onnx", [("x", T.FLOAT, [4, 8]), ("i", T.INT64, [2])],
               [("y", T.FLOAT, None)], 21)
        assert text in refusal(tmp_path / "m.onnx"), op


def test_views_of_uint8(tmp_path):
    """uint8 is moved as it is, and leaves by a cast."""
    b = Builder(11)
    table = b.random.integers(0, 256, (9, 4)).astype(np.uint8)
    rows = b.op("Gather", [b.weight("t", table), "ids"])
    turned = b.op("Transpose", [b.op("Concat", [rows, rows], axis=1)], perm=[1, 0])
    b.rename(b.op("Cast", [turned], to=T.INT32), "y")
    b.rename(b.op("DequantizeLinear", [rows, b.number(0.5)]), "z")
    b.save(tmp_path / "m.onnx", [("ids", T.INT64, ["n"])],
           [("y", T.INT32, None), ("z", T.FLOAT, None)], 21)
    module = compiled(tmp_path / "m.onnx")
    ids = np.array([8, 0, 3])
    np.testing.assert_array_equal(module.m(ids=ids).y.numpy(), np.tile(table[ids], 2).T)
    np.testing.assert_array_equal(module.m(ids=ids).z.numpy(), table[ids] * 0.5)


