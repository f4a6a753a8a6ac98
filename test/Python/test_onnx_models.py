"""Small whole models, built with onnx.helper, against evaluations in NumPy."""

import subprocess

import hk
import numpy as np
import pytest
from hk import _paths, cli

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

MS = "com.microsoft"


class Builder:
    """A graph node by node; weights are random, from a seed."""

    def __init__(self, seed):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], {}

    def weight(self, name, array):
        self.weights[name] = array
        return name

    def matrix(self, name, *shape):
        return self.weight(name, (self.random.standard_normal(shape) / np.sqrt(shape[0])
                                  ).astype(np.float32))

    def op(self, kind, inputs, outputs=1, domain="", **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"/{kind}/{len(self.nodes)}",
                                           domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def integers(self, *values):
        return self.weight(f"int_{len(self.weights)}", np.array(values, np.int64))

    def number(self, value):
        return self.weight(f"number_{len(self.weights)}", np.array(value, np.float32))

    def rename(self, old, new):
        self.nodes.append(helper.make_node("Identity", [old], [new]))

    def save(self, path, inputs, outputs, opset):
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(*o) for o in outputs],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                        helper.make_opsetid(MS, 1)])
        onnx.save(model, path)
        return model


def compiled(path, *options):
    mlir = path.with_suffix(".mlir")
    assert cli.main(["import", str(path), "-o", str(mlir), *options]) == 0
    weights = mlir.with_suffix(".safetensors")
    return hk.load(hk.compile(mlir, weights=weights if weights.exists() else None), threads=2)


H, HEADS, LAYERS = 32, 4, 2


def split_heads(b, x, source):
    """As exporters write it: sizes from Shape, Gather, Unsqueeze, Concat."""
    shape = b.op("Shape", [source])
    sizes = [b.op("Unsqueeze", [b.op("Gather", [shape, b.weight(f"at_{len(b.weights)}",
                                                                np.array(i))]), b.integers(0)])
             for i in range(2)]
    wanted = b.op("Concat", [*sizes, b.integers(HEADS), b.integers(H // HEADS)], axis=0)
    return b.op("Transpose", [b.op("Reshape", [x, wanted])], perm=[0, 2, 1, 3])


def encoder_layer(b, x, i):
    def linear(x, name, n, m):
        return b.op("Add", [b.op("MatMul", [x, b.matrix(f"l{i}.{name}.w", n, m)]),
                            b.matrix(f"l{i}.{name}.b", m)])

    q, k, v = (split_heads(b, linear(x, name, H, H), x) for name in "qkv")
    scores = b.op("Div", [b.op("MatMul", [q, b.op("Transpose", [k], perm=[0, 1, 3, 2])]),
                          b.number(np.sqrt(H / HEADS))])
    p = b.op("Softmax", [b.op("Add", [scores, "mask"])], axis=-1)
    o = b.op("Transpose", [b.op("MatMul", [p, v])], perm=[0, 2, 1, 3])
    o = b.op("Reshape", [o, b.integers(0, 0, H)])

    def norm(x, name):
        return b.op("LayerNormalization", [x, b.matrix(f"l{i}.{name}.w", H),
                                           b.matrix(f"l{i}.{name}.b", H)], epsilon=1e-12)

    x = norm(b.op("Add", [x, linear(o, "o", H, H)]), "n1")
    up = linear(x, "up", H, 4 * H)
    erf = b.op("Erf", [b.op("Div", [up, b.number(np.sqrt(2))])])
    act = b.op("Mul", [b.op("Mul", [up, b.op("Add", [erf, b.number(1)])]), b.number(0.5)])
    return norm(b.op("Add", [x, linear(act, "down", 4 * H, H)]), "n2")


def test_encoder(tmp_path):
    b = Builder(0)
    x = b.op("Gather", [b.matrix("embeddings", 50, H), "ids"], axis=0)
    for i in range(LAYERS):
        x = encoder_layer(b, x, i)
    b.rename(x, "hidden")
    model = b.save(tmp_path / "encoder.onnx",
                   [("ids", T.INT64, ["batch", "seq"]), ("mask", T.FLOAT, ["batch", 1, 1, "seq"])],
                   [("hidden", T.FLOAT, ["batch", "seq", H])], 17)
    module = compiled(tmp_path / "encoder.onnx")
    for batch, length in ((2, 7), (1, 1), (3, 20)):
        ids = b.random.integers(0, 50, (batch, length))
        mask = np.where(b.random.random((batch, 1, 1, length)) < 0.2, -1e4, 0).astype(np.float32)
        expected, = ReferenceEvaluator(model).run(None, {"ids": ids, "mask": mask})
        got = module.encoder(ids=ids, mask=mask).hidden.numpy()
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


KV, D, CONTEXT, VOCABULARY, BLOCK = 2, 8, 16, 40, 16


def chosen_tables(b, length):
    """Other tables for more than 8 tokens, as for long rope: fewer rows for few."""
    long = b.op("Greater", [b.op("Gather", [b.op("Shape", ["attention_mask"]), length]),
                            b.integers(8)])
    angles = {"then": np.outer(np.arange(CONTEXT), 30.0 ** -(np.arange(D // 2) / (D // 2)) / 3),
              "else": np.outer(np.arange(8), 100.0 ** -(np.arange(D // 2) / (D // 2)))}
    branches = {}
    for name, table in angles.items():
        arrays = {f"{kind}_{name}": f(table).astype(np.float32)
                  for kind, f in (("cos", np.cos), ("sin", np.sin))}
        branches[f"{name}_branch"] = helper.make_graph(
            [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(a))
             for n, a in arrays.items()], name, [],
            [helper.make_tensor_value_info(n, T.FLOAT, a.shape) for n, a in arrays.items()])
    b.nodes.append(helper.make_node("If", [long], ["cos_cache", "sin_cache"], **branches))
    return angles


def decoder(path, batch_name="batch", windowed=False, by_length=False):
    """A layer as ORT GenAI's builder writes it, its last product in 4 bits. `windowed`: as for a
    layer whose cache ORT keeps as short as the window, and with a name for the size of a head.
    `by_length`: the tables depend on it."""
    b = Builder(1)
    total = b.op("ReduceSum", ["attention_mask", b.integers(1)], keepdims=0)
    last = b.op("Cast", [b.op("Sub", [total, b.integers(1)])], to=T.INT32)
    length = b.op("Cast", [b.op("Gather", [b.op("Shape", ["attention_mask"]), b.integers(1)])],
                  to=T.INT32)
    angles = np.outer(np.arange(CONTEXT), 100.0 ** -(np.arange(D // 2) / (D // 2)))
    cos, sin = "cos_cache", "sin_cache"
    if by_length:
        tables = chosen_tables(b, b.integers(1))
    else:
        b.weight(cos, np.cos(angles).astype(np.float32))
        b.weight(sin, np.sin(angles).astype(np.float32))
    x = b.op("Gather", [b.matrix("embed", VOCABULARY, H), "input_ids"])
    n = b.op("SimplifiedLayerNormalization", [x, b.matrix("n1", H)], epsilon=1e-6, axis=-1,
             stash_type=1)
    qkv = b.op("MatMul", [n, b.matrix("qkv", H, (HEADS + 2 * KV) * D)])
    b.nodes.append(helper.make_node(
        "GroupQueryAttention", [qkv, "", "", "past_key_values.0.key", "past_key_values.0.value",
                                last, length, cos, sin],
        ["attn", "present.0.key", "present.0.value"], name="/attn", domain=MS, num_heads=HEADS,
        kv_num_heads=KV, do_rotary=1, rotary_interleaved=0, local_window_size=6,
        **{"sliding_window_cache": 1} if windowed else {}))
    o = b.op("MatMul", ["attn", b.matrix("o", HEADS * D, H)])
    n, _, _, x = b.op("SkipSimplifiedLayerNormalization", [x, o, b.matrix("n2", H)], 4, MS,
                      epsilon=1e-6)
    gate, up = (b.op("MatMul", [n, b.matrix(name, H, 2 * H)]) for name in ("gate", "up"))
    act = b.op("Mul", [b.op("Mul", [gate, b.op("Sigmoid", [gate])]), up])
    codes = b.random.integers(0, 256, (H, 2 * H // BLOCK, BLOCK // 2)).astype(np.uint8)
    zeros = b.random.integers(0, 256, (H * (2 * H // BLOCK) // 2,)).astype(np.uint8)
    b.weight("scales", (b.random.random(H * 2 * H // BLOCK) / 32).astype(np.float32))
    down = b.op("MatMulNBits", [act, b.weight("down_q4", codes), "scales",
                                b.weight("down_zero", zeros)], domain=MS, K=2 * H, N=H, bits=4,
                block_size=BLOCK, accuracy_level=0)
    n, _, _, _ = b.op("SkipSimplifiedLayerNormalization", [x, down, b.matrix("n3", H)], 4, MS,
                      epsilon=1e-6)
    b.rename(b.op("MatMul", [n, b.matrix("head", H, VOCABULARY)]), "logits")
    size = "kv_cache_dim" if windowed else D
    past, present = ([batch_name, KV, f"{kind}_sequence_length", size] for kind in ("past", "total"))
    b.save(path, [("input_ids", T.INT64, [batch_name, "sequence_length"]),
                  ("attention_mask", T.INT64, [batch_name, "total_sequence_length"]),
                  ("past_key_values.0.key", T.FLOAT, past),
                  ("past_key_values.0.value", T.FLOAT, past)],
           [("logits", T.FLOAT, [batch_name, "sequence_length", VOCABULARY]),
            ("present.0.key", T.FLOAT, present), ("present.0.value", T.FLOAT, present)], 21)
    made = {name: a.astype(np.float64) for name, a in b.weights.items()}
    return made | {"tables": tables} if by_length else made


def rms(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def rotated(x, w):
    cos, sin = (w[f"{name}_cache"][:x.shape[0], None] for name in ("cos", "sin"))
    first, second = x[..., :D // 2], x[..., D // 2:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def nibbles(bytes_):
    return np.stack([bytes_.astype(int) & 15, bytes_.astype(int) >> 4], -1)


def expected_logits(w, ids):
    """The decoder on a whole sequence of tokens."""
    x = w["embed"][ids]
    qkv = (rms(x, w["n1"]) @ w["qkv"]).reshape(len(ids), -1, D)
    q, k, v = rotated(qkv[:, :HEADS], w), rotated(qkv[:, HEADS:-KV], w), qkv[:, -KV:]
    k, v = (np.repeat(a, HEADS // KV, 1) for a in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(D)
    i, j = np.arange(len(ids))[:, None], np.arange(len(ids))
    scores = np.where((j <= i) & (j > i - 6), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    o = np.einsum("hij,jhd->ihd", p / p.sum(-1, keepdims=True), v).reshape(len(ids), -1)
    x = x + o @ w["o"]
    n = rms(x, w["n2"])
    gate = n @ w["gate"]
    act = gate / (1 + np.exp(-gate)) * (n @ w["up"])
    codes = nibbles(w["down_q4"]).reshape(H, 2 * H // BLOCK, BLOCK)
    zeros = nibbles(w["down_zero"]).reshape(H, -1, 1)
    down = ((codes - zeros) * w["scales"].reshape(H, -1, 1)).reshape(H, 2 * H)
    return rms(x + act @ down.T, w["n3"]) @ w["head"]


@pytest.mark.parametrize(("batch", "windowed"), [(1, False), (2, False), (2, True)])
def test_decoder(tmp_path, batch, windowed):
    """Prefill, then one token at a time: the same logits as of the whole sequence."""
    w = decoder(tmp_path / "decoder.onnx", windowed=windowed)
    module = compiled(tmp_path / "decoder.onnx", f"--dim=past_sequence_length={CONTEXT}")
    ids = np.random.default_rng(3).integers(0, VOCABULARY, (batch, 11))
    caches = [np.full((batch, KV, CONTEXT, D), np.nan, np.float32) for _ in range(2)]
    got, begin = [], 0
    for end in (7, 8, 9, 10, 11):
        out = module.decoder(ids[:, begin:end].copy(), np.ones((batch, end), np.int64), *caches)
        got.append(out.logits.numpy())
        begin = end
    for row, tokens in zip(np.concatenate(got, 1), ids, strict=True):
        expected = expected_logits(w, tokens)
        np.testing.assert_allclose(row, expected, rtol=0, atol=3e-5 * np.abs(expected).max())


@pytest.mark.parametrize("length", [7, 8, 9, 11])
def test_tables_by_length(tmp_path, length):
    w = decoder(tmp_path / "decoder.onnx", by_length=True)
    module = compiled(tmp_path / "decoder.onnx", f"--dim=past_sequence_length={CONTEXT}")
    ids = np.random.default_rng(3).integers(0, VOCABULARY, (1, length))
    caches = [np.full((1, KV, CONTEXT, D), np.nan, np.float32) for _ in range(2)]
    got = module.decoder(ids, np.ones((1, length), np.int64), *caches).logits.numpy()
    angles = w["tables"]["then" if length > 8 else "else"]
    expected = expected_logits(w | {"cos_cache": np.cos(angles), "sin_cache": np.sin(angles)}, ids[0])
    np.testing.assert_allclose(got[0], expected, rtol=0, atol=3e-5 * np.abs(expected).max())


def test_computed_branches_are_refused(tmp_path):
    b = Builder(6)
    inner = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "g", [],
                              [helper.make_tensor_value_info("n", T.FLOAT, [4])])
    b.nodes.append(helper.make_node("If", [b.op("Cast", [b.op("ReduceMax", ["x"], keepdims=0)],
                                                to=T.BOOL)], ["y"], name="/choice",
                                    then_branch=inner, else_branch=inner))
    b.save(tmp_path / "m.onnx", [("x", T.FLOAT, [4])], [("y", T.FLOAT, [4])], 18)
    assert ("node '/choice' (If): error: expected branches of constants, but 'n' is computed; hk has no "
            "control flow: export a model for one of the branches") in refusal(tmp_path / "m.onnx")


def refusal(path, *options):
    done = subprocess.run([_paths.tool("hk-import"), path, "-o", path.with_suffix(".mlir"),
                           *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not path.with_suffix(".mlir").exists()
    return done.stderr


def gate(b, experts, fill):
    """4 of 8 groups of experts by their two best, then 8 of the experts."""
    def best(x, k):
        return b.op("TopK", [x, b.integers(k)], 2, axis=-1)

    biased = b.op("Add", [b.op("Sigmoid", ["x"]), b.matrix("bias", experts)])
    x = b.op("Reshape", [biased, b.integers(-1, 8, experts // 8)])
    scores = b.op("ReduceSum", [best(x, 2)[0], b.integers(-1)], keepdims=0)
    chosen = b.op("Unsqueeze", [best(scores, 4)[1], b.integers(-1)])
    hits = b.op("Cast", [b.op("Equal", [chosen, b.integers(*range(8))])], to=T.FLOAT)
    kept = b.op("Cast", [b.op("ReduceMax", [hits, b.integers(1)], keepdims=0)], to=T.BOOL)
    x = b.op("Where", [b.op("Unsqueeze", [kept, b.integers(-1)]), x, b.number(fill)])
    return best(b.op("Reshape", [x, b.integers(-1, experts)]), 8)


@pytest.mark.parametrize("fill", [-np.inf, 0])
@pytest.mark.parametrize("experts", [64, 256])
def test_gate(tmp_path, experts, fill):
    """A router with groups of experts; a bias of 256 is a weight, whose values the import does
    not look at."""
    b = Builder(3)
    for name, value in zip(("values", "chosen"), gate(b, experts, fill), strict=True):
        b.rename(value, name)
    model = b.save(tmp_path / "gate.onnx", [("x", T.FLOAT, ["tokens", experts])],
                   [("values", T.FLOAT, ["tokens", 8]), ("chosen", T.INT64, ["tokens", 8])], 18)
    module = compiled(tmp_path / "gate.onnx", "--check-raise")
    assert "hk.group_limit" in (tmp_path / "gate.mlir").read_text()
    for tokens in (1, 33):
        x = b.random.standard_normal((tokens, experts)).astype(np.float32)
        values, chosen = ReferenceEvaluator(model).run(None, {"x": x})
        got = module.gate(x=x)
        np.testing.assert_array_equal(got.chosen.numpy(), chosen)
        np.testing.assert_allclose(got.values.numpy(), values, rtol=1e-5, atol=1e-6)


def test_refusals(tmp_path):
    path = tmp_path / "m.onnx"
    decoder(path)
    assert ("node '/attn' (GroupQueryAttention): error: expected cache 'past_key_values.0.key' to "
            "be [batch, heads, rows, size] of a known number of rows") in refusal(path)
    decoder(path, windowed=True)
    assert ("expected cache 'past_key_values.0.key' to have rows for whole sequences, also those that "
            "attribute 'sliding_window_cache' lets ORT forget, but it has 6 for a window of 6; give it "
            "as many as the other caches") in refusal(path, "--dim=past_sequence_length=6")
    b = Builder(2)
    x = b.op("Foo", [b.op("Bar", ["x"], domain="mine")])
    b.rename(b.op("Foo", [x]), "y")
    b.save(path, [("x", T.FLOAT, [2])], [("y", T.FLOAT, [2])], 17)
    assert ("has operators that hk does not import: Foo (opset 17) in node '/Foo/1', '/Foo/2'; "
            "mine.Bar in node '/Bar/0'") in refusal(path)


@pytest.mark.parametrize(("location", "text"), [
    ("../secret", "expected in the folder of the model"),
    ("/etc/passwd", "expected a path relative to the model"),
    ("link", "expected in the folder of the model"),
    ("none", "cannot be read"),
    ("short", "expected 32 bytes at 0"),
])
def test_external_data(tmp_path, location, text):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    (folder / "link").symlink_to("../secret")
    (folder / "short").write_bytes(bytes(8))
    b = Builder(4)
    b.rename(b.op("Add", ["x", b.weight("w", np.arange(8, dtype=np.float32))]), "y")
    model = b.save(folder / "m.onnx", [("x", T.FLOAT, [8])], [("y", T.FLOAT, [8])], 17)
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, location)
    tensor.ClearField("raw_data")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    assert text in refusal(folder / "m.onnx")


def test_external_weights(tmp_path):
    b = Builder(5)
    b.rename(b.op("MatMul", ["x", b.matrix("w", 16, 16)]), "y")
    model = b.save(tmp_path / "m.onnx", [("x", T.FLOAT, ["n", 16])], [("y", T.FLOAT, ["n", 16])],
                   17)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data",
              size_threshold=0)
    x = b.random.standard_normal((3, 16)).astype(np.float32)
    np.testing.assert_allclose(compiled(tmp_path / "m.onnx").m(x).y.numpy(), x @ b.weights["w"],
                               rtol=0, atol=1e-5)


def test_what_it_writes_is_no_file_that_it_reads(tmp_path):
    """A model stays as it is, the graph and its weights have files of their own, and neither is
    there without the other."""
    b = Builder(4)
    b.rename(b.op("MatMul", ["x", b.matrix("w", 64, 64)]), "y")
    path = tmp_path / "m.onnx"
    b.save(path, [("x", T.FLOAT, ["n", 64])], [("y", T.FLOAT, ["n", 64])], 17)
    other = tmp_path / "w.safetensors"
    other.write_bytes(path.read_bytes())
    (tmp_path / "folder.mlir").mkdir()
    before = path.read_bytes()
    for model, output, text in (
            (path, path, "m.onnx', which is read; name another file"),
            (other, tmp_path / "w.mlir", "w.safetensors', which is read; name another file"),
            (path, tmp_path / "v.safetensors", "the weights go there; name the graph MODEL.mlir"),
            (path, tmp_path / "folder.mlir", "it is a folder; name a file"),
            (path, tmp_path / "none" / "m.mlir", "m.safetensors': No such file or directory"),
            (path, "/dev/full", "the model has weights: name an output file with -o")):
        done = subprocess.run([_paths.tool("hk-import"), model, "-o", output], check=False,
                              capture_output=True, text=True)
        assert done.returncode == 1 and text in done.stderr, done.stderr
        assert done.stderr.startswith("hk-import: error: ")
    assert path.read_bytes() == other.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.mlir", "m.onnx", "w.safetensors"]
    assert "--dim=rows: the model has no open size of this name; it has n" in refusal(path, "--dim=rows=3")
