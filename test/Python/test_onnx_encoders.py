"""What ONNX Runtime's optimiser and its float16 converter write of encoders, against NumPy."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from test_onnx_models import MS, Builder, compiled, refusal  # noqa: E402

HEADS, H, V = 4, 32, 24
FILTER = -10000  # what ORT adds to the scores of keys that are not there
RAGGED = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1]], np.int32)


def close(got, expected):
    """f32 sums of H, and of products of them, in another order: some roundings of the largest."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def attention(q, k, v, added, causal=False, scale=None):
    """Rows [B, S, HEADS * D] in f64; `added` broadcasts to the scores [B, HEADS, Sq, Sk]."""
    q, k, v = (x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3]**-0.5) + added
    if causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    o = p / p.sum(-1, keepdims=True) @ v
    return o.transpose(0, 2, 1, 3).reshape(o.shape[0], o.shape[2], -1)


def padding(form):
    """A mask of some form, and what it adds to the scores."""
    if form is None:
        return None, 0
    mask, added = RAGGED, np.where(RAGGED > 0, 0, FILTER)[:, None, None]
    if form == "lengths":
        mask = np.array([5, 2, 1], np.int32)
        added = np.where(np.arange(5) < mask[:, None], 0, FILTER)[:, None, None]
    if form == "queries":
        mask = RAGGED[:, None] * np.tri(5, dtype=np.int32)
        added = np.where(mask > 0, 0, FILTER)[:, None]
    return mask, added


@pytest.mark.parametrize("bias", [None, "heads", "one"])
@pytest.mark.parametrize("form", [None, "lengths", "keys", "queries"])
def test_attention(tmp_path, form, bias):
    """com.microsoft.Attention has the projections in it; MultiHeadAttention takes its masks."""
    b = Builder(3)
    columns = 3 * H
    x, w = b.random.standard_normal((3, 5, H)), b.matrix("w", H, columns)
    shift = b.weight("shift", b.random.standard_normal(columns).astype(np.float32))
    mask, added = padding(form)
    inputs, arguments = [("x", T.FLOAT, [3, "s", H])], [x.astype(np.float32)]
    if form:
        inputs.append(("mask", T.INT32, [3, "s", "s"][:mask.ndim]))
        arguments.append(mask)
    if bias:
        table = b.random.standard_normal((1, HEADS if bias == "heads" else 1, 5, 5))
        inputs.append(("bias", T.FLOAT, [1, table.shape[1], "s", "s"]))
        arguments.append(table.astype(np.float32))
        added = added + table
    extra = ["mask" if form else "", "", "bias" if bias else ""]
    whole = b.op("Attention", ["x", w, shift, *extra], domain=MS, num_heads=HEADS,
                 unidirectional=1, scale=0.3)
    parts = b.op("Split", [b.op("Add", [b.op("MatMul", ["x", w]), shift])], 3, axis=2,
                 num_outputs=3)
    apart = b.op("MultiHeadAttention", [*parts, "", extra[0], extra[2]], domain=MS,
                 num_heads=HEADS)
    causal = b.op("MultiHeadAttention", [*parts, "", extra[0], extra[2]], domain=MS,
                  num_heads=HEADS, unidirectional=1)
    results = {"whole": whole, "apart": apart, "causal": causal}
    for name, value in results.items():
        b.rename(value, name)
    path = tmp_path / "m.onnx"
    b.save(path, inputs, [(name, T.FLOAT, None) for name in results], 20)
    got = compiled(path).m(*arguments)
    rows = np.split(x @ b.weights["w"].astype(float) + b.weights["shift"], 3, 2)
    close(got.whole.numpy(), attention(*rows, added, causal=True, scale=0.3))
    close(got.apart.numpy(), attention(*rows, added))
    close(got.causal.numpy(), attention(*rows, added, causal=True))


def heads_of(rows):
    return rows.reshape(*rows.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)


def rows_of(heads):
    return heads.transpose(0, 2, 1, 3).reshape(heads.shape[0], heads.shape[2], -1)


@pytest.mark.parametrize("form", ["separate", "side by side", "given", "projected"])
def test_caches(tmp_path, form):
    """Of Whisper and GPT-2: two new tokens behind three, whose keys and values come back with theirs;
    keys and values of another sequence, given as heads."""
    b = Builder(9)
    x, w = b.random.standard_normal((2, 2, H)), b.matrix("w", H, 3 * H)
    shift = b.weight("shift", b.random.standard_normal(3 * H).astype(np.float32))
    past = b.random.standard_normal((2, 2, HEADS, 3, H // HEADS)).astype(np.float32)
    mask = np.array([[1, 0, 1, 1, 1], [1, 1, 1, 1, 1]], np.int32)
    rows = np.split(x @ b.weights["w"].astype(float), 3, 2)
    shifts = np.split(b.weights["shift"].astype(float), 3)
    given = {"x": x.astype(np.float32)}
    options, names = {"domain": MS, "num_heads": HEADS}, ["y", "keys", "values"]
    if form == "projected":
        given |= {"mask": mask, "past": past}
        made = b.op("Attention", ["x", w, shift, "mask", "past"], 2, unidirectional=1, **options)
        names = ["y", "present"]
    else:
        product = b.op("MatMul", ["x", w])
        parts = b.op("Split", [product], 3, axis=2, num_outputs=3)
        if form == "side by side":
            each = [b.op("Reshape", [p, b.weight("sizes", np.array([0, 0, HEADS, 1, H // HEADS]))])
                    for p in parts]
            parts = [b.op("Concat", each, axis=3), "", ""]
        if form == "given":
            given |= {"k": past[0], "v": past[1]}
            made, names = [b.op("MultiHeadAttention", [parts[0], "k", "v", shift], **options)], ["y"]
        else:
            given |= {"mask": mask, "past_k": past[0], "past_v": past[1]}
            made = b.op("MultiHeadAttention", [*parts, shift, "mask", "", "past_k", "past_v"], 3,
                        unidirectional=1, **options)
    for old, new in zip(made, names, strict=True):
        b.rename(old, new)
    path = tmp_path / "m.onnx"
    b.save(path, [(n, T.INT32 if n == "mask" else T.FLOAT,
                   [f"{n}{i}" if s in (3, 5) else s for i, s in enumerate(a.shape)])
                  for n, a in given.items()], [(n, T.FLOAT, None) for n in names], 20)
    got = compiled(path).m(**given)
    if form == "given":
        return close(got.y.numpy(), attention(rows[0] + shifts[0], *map(rows_of, past), 0))
    query, *new = (r + c for r, c in zip(rows, shifts, strict=True))
    whole = [np.concatenate([p, heads_of(n)], 2) for p, n in zip(past, new, strict=True)]
    added = np.where(mask > 0, 0, FILTER)[:, None, None] + np.where(np.tri(2, 5, 3), 0, -np.inf)
    close(got.y.numpy(), attention(query, *map(rows_of, whole), added))
    results = got.present.numpy() if form == "projected" else [got.keys.numpy(), got.values.numpy()]
    for result, expected in zip(results, whole, strict=True):
        close(result, expected)


def test_hidden_sequence(tmp_path):
    """Where all keys are hidden FILTER is added to all scores, and hides none. In f32 their sum is
    a multiple of 2^-10, so p is off by 2^-9 at most, and so is a mean of values."""
    b = Builder(8)
    x, w = b.random.standard_normal((2, 5, H)), b.matrix("w", H, 3 * H)
    b.rename(b.op("Attention", ["x", w, "", "mask"], domain=MS, num_heads=HEADS), "y")
    path = tmp_path / "m.onnx"
    b.save(path, [("x", T.FLOAT, ["b", "s", H]), ("mask", T.INT32, ["b", "s"])],
           [("y", T.FLOAT, None)], 20)
    got = compiled(path).m(x.astype(np.float32), np.zeros((2, 5), np.int32)).y.numpy()
    rows = np.split(x @ b.weights["w"].astype(float), 3, 2)
    np.testing.assert_allclose(got, attention(*rows, 0), rtol=0, atol=2**-9 * np.abs(rows[2]).max())


def test_widths(tmp_path):
    """Values of other columns than queries and keys have."""
    b = Builder(4)
    x, w = b.random.standard_normal((2, 3, H)), b.matrix("w", H, 2 * H + 48)
    b.rename(b.op("Attention", ["x", w], domain=MS, num_heads=HEADS,
                  qkv_hidden_sizes=[H, H, 48]), "y")
    path = tmp_path / "m.onnx"
    b.save(path, [("x", T.FLOAT, ["b", "s", H])], [("y", T.FLOAT, None)], 20)
    rows = np.split(x @ b.weights["w"].astype(float), [H, 2 * H], 2)
    close(compiled(path).m(x.astype(np.float32)).y.numpy(), attention(*rows, 0))


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(tmp_path, segments, places):
    b = Builder(5)
    words, rows, kinds = b.matrix("words", V, H), b.matrix("rows", 9, H), b.matrix("kinds", 2, H)
    gamma, beta = (b.weight(n, b.random.standard_normal(H).astype(np.float32))
                   for n in ("gamma", "beta"))
    ids = b.random.integers(0, V, (3, 5)).astype(np.int32)
    given = {"ids": ids, "mask": RAGGED}
    if segments:
        given["segments"] = b.random.integers(0, 2, (3, 5)).astype(np.int32)
    if places:
        given["places"] = b.random.integers(0, 9, (3, 5)).astype(np.int32)
    made = b.op("EmbedLayerNormalization", [
        "ids", "segments" * segments, words, rows, kinds * segments, gamma, beta, "mask",
        "places" * places], 3, domain=MS, epsilon=1e-3)
    for old, new in zip(made, ("y", "lengths", "sum")):
        b.rename(old, new)
    path = tmp_path / "m.onnx"
    b.save(path, [(n, T.INT32, ["b", "s"]) for n in given],
           [("y", T.FLOAT, None), ("lengths", T.INT32, None), ("sum", T.FLOAT, None)], 20)
    got = compiled(path).m(**given)
    tables = {n: a.astype(float) for n, a in b.weights.items()}
    total = tables["words"][ids] + tables["rows"][given.get("places", np.arange(5))]
    if segments:
        total = total + tables["kinds"][given["segments"]]
    close(got.sum.numpy(), total)
    np.testing.assert_array_equal(got.lengths.numpy(), RAGGED.sum(1))
    centred = total - total.mean(-1, keepdims=True)
    norm = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    close(got.y.numpy(), norm * tables["gamma"] + tables["beta"])


def test_order_of_nodes(tmp_path):
    """Nodes may stand in front of those whose results they read, but not on a circle."""
    b = Builder(6)
    b.op("Mul", ["half", "half"])  # Mul_0_0
    b.rename("Mul_0_0", "y")
    b.nodes.append(onnx.helper.make_node("Add", ["x", "x"], ["half"], name="/late"))
    path = tmp_path / "m.onnx"
    b.save(path, [("x", T.FLOAT, ["n"])], [("y", T.FLOAT, None)], 20)
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(compiled(path).m(x).y.numpy(), 4 * x * x)
    b.nodes[-1].input[1] = "y"
    path = tmp_path / "circle.onnx"
    b.save(path, [("x", T.FLOAT, ["n"])], [("y", T.FLOAT, None)], 20)
    assert "to be an input of the graph, an initializer or a result of" in refusal(path)


def test_refusals(tmp_path):
    path = tmp_path / "m.onnx"

    def refused(kind, inputs, shapes, **attributes):
        b = Builder(7)
        b.rename(b.op(kind, inputs, domain=MS, **attributes), "y")
        b.save(path, [(n, t, s) for n, (t, s) in shapes.items()], [("y", T.FLOAT, None)], 20)
        return refusal(path)

    x = {"x": (T.FLOAT, [2, 5, H]), "w": (T.FLOAT, [H, 3 * H])}
    mask = x | {"m": (T.INT32, [4])}
    assert "the padding, to be the length of each sequence" in refused(
        "Attention", ["x", "w", "", "m"], mask, num_heads=HEADS)
    assert "'mask_filter_value' to be far below every score, but got -1" in refused(
        "Attention", ["x", "w", "", "m"], mask, num_heads=HEADS, mask_filter_value=-1.0)
    assert "'qkv_hidden_sizes' to add up" in refused(
        "Attention", ["x", "w"], x, num_heads=HEADS, qkv_hidden_sizes=[H, H, H + 4])
    assert "rotary embeddings are of inputs" in refused(
        "Attention", ["x", "w"], x, num_heads=HEADS, do_rotary=1)
    assert "expected a cache [2, batch, heads, keys, size], but got [4]" in refused(
        "Attention", ["x", "w", "", "", "past"], x | {"past": (T.FLOAT, [4])}, num_heads=HEADS)
    assert "heads, 3 or 2, size], of 4 heads, but input #0 is " in refused(
        "MultiHeadAttention", ["x"], x, num_heads=HEADS)
    assert "expected keys, input #1, beside values" in refused(
        "MultiHeadAttention", ["x", "", "x"], x, num_heads=HEADS)
    assert "expected past keys and values, inputs #6 and #7, or neither" in refused(
        "MultiHeadAttention", ["x", "x", "x", "", "", "", "past"],
        x | {"past": (T.FLOAT, [2, HEADS, 3, 8])}, num_heads=HEADS)
