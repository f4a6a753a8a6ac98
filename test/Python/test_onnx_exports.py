"""Models as torch.onnx.export writes them: decomposed (opset 18) and with operators (opset 23).

After import both are the same hk operators, and compiled they compute what PyTorch does.
"""

import collections
import re
import subprocess

import hk
import numpy as np
import pytest
import torch
import zoo
from hk import _paths, cli

pytest.importorskip("onnxscript")

LAYERS = 2
# Operators that a form is made of: none may be left of it.
PARTS = {"hk.softmax", "hk.sigmoid", "hk.erf", "hk.tanh", "hk.sqrt", "hk.reciprocal", "hk.rsqrt",
         "hk.neg", "hk.reduce"}


class Logits(torch.nn.Module):
    """A model with one result and no cache; encoders take a mask."""

    def __init__(self, model, decodes):
        super().__init__()
        self.model, self.decodes = model, decodes

    def forward(self, ids, mask=None):
        if self.decodes:
            return self.model(ids, use_cache=False)[0]
        return self.model(ids, attention_mask=mask)[0]


def exported(name, opset, path, implementation="sdpa"):
    """Writes the model; returns it."""
    model = zoo.make(name)
    model.config._attn_implementation = implementation  # noqa: SLF001
    module = Logits(model, name in zoo.DECODERS).eval()
    ids = torch.randint(3, 90, (2, 9))
    inputs = (ids,) if name in zoo.DECODERS else (ids, torch.ones_like(ids))
    sizes = {0: torch.export.Dim("batch", min=2, max=64), 1: torch.export.Dim("seq", min=2, max=64)}
    program = torch.onnx.export(
        module, inputs, dynamo=True, opset_version=opset, verbose=False, external_data=False,
        dynamic_shapes=(sizes,) * len(inputs), output_names=["out"],
        input_names=["ids", "mask"][:len(inputs)])
    program.save(path)
    return module


def imported(path, *options):
    mlir = path.with_suffix(".mlir")
    subprocess.run([_paths.tool("hk-import"), path, "-o", mlir, *options], check=True)
    return mlir


def histogram(mlir):
    """How often a function has each operator; regions and sizes not counted."""
    operators = re.findall(r"^ {4}(?:%\S+ = )?((?:hk|tensor)\.\w+)", mlir.read_text(), re.MULTILINE)
    return collections.Counter(o for o in operators
                               if o not in ("hk.constant", "hk.weight_ref", "tensor.dim"))


def check_values(module, mlir, decodes):
    library = hk.compile(mlir, weights=mlir.with_suffix(".safetensors"))
    loaded = hk.load(library, threads=2)
    function = loaded[mlir.stem]
    generator = np.random.default_rng(7)
    for batch, length in ((2, 9), (1, 3), (3, 40)):
        ids = generator.integers(3, 90, (batch, length))
        arguments = [ids]
        if not decodes:
            lengths = generator.integers(1, length + 1, batch)
            arguments.append((np.arange(length) < lengths[:, None]).astype(np.int64))
        with torch.no_grad():
            expected = module(*map(torch.from_numpy, arguments)).numpy()
        got = function(*arguments).out.numpy()
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "implementation"), [
    ("llama", "sdpa"), ("llama", "eager"), ("bert", "sdpa"), ("bert", "eager")])
def test_decomposed_is_raised(tmp_path, name, implementation):
    old = tmp_path / f"{name}_18.onnx"
    new = tmp_path / f"{name}_23.onnx"
    module = exported(name, 18, old, implementation)
    exported(name, 23, new)
    raised, direct = imported(old, "--check-raise"), imported(new)
    found = histogram(raised)
    assert found == histogram(direct)
    assert found["hk.attention"] == LAYERS and not PARTS & set(found)
    check_values(module, raised, name in zoo.DECODERS)
    text = raised.read_text()
    attributes = re.findall(r"hk\.attention .*", text)
    if name == "llama":
        assert all("causal" in a and "reads" not in a for a in attributes)
        # Three norms of a layer and the last, queries and keys, two key heads for four.
        assert found["hk.rms_norm"] == 2 * LAYERS + 1 and found["hk.rope"] == 2 * LAYERS
        assert all("tensor<?x?x2x16xf32>" in a for a in attributes)
    else:
        assert all("reads" in a for a in attributes)
        assert found["hk.gelu"] == LAYERS and found["hk.layer_norm"] == 2 * LAYERS + 1


@pytest.mark.parametrize("name", ["gemma3", "phi3", "roberta"])
def test_other_models_are_raised(tmp_path, name):
    """Norms of 1 + weight, windows, soft caps; projections that are one product; positions that
    are counted from the tokens."""
    path, new = tmp_path / f"{name}.onnx", tmp_path / f"{name}_23.onnx"
    module = exported(name, 18, path)
    exported(name, 23, new)
    raised = imported(path, "--check-raise")
    found = histogram(raised)
    assert found == histogram(imported(new))
    assert found["hk.attention"] == LAYERS and not PARTS & set(found)
    check_values(module, raised, decodes=name in zoo.DECODERS)


def test_not_raised(tmp_path):
    path = tmp_path / "llama_18.onnx"
    exported("llama", 18, path)
    found = histogram(imported(path, "--raise=false"))
    assert found["hk.attention"] == 0 and found["hk.softmax"] == LAYERS


def test_hk_import_hands_options_on(tmp_path, capfd):
    """What hk-import does with --raise=false and --explain, `hk import` does, too."""
    path = tmp_path / "llama_18.onnx"
    exported("llama", 18, path)
    mlir = tmp_path / "llama_18.mlir"
    assert cli.main(["import", str(path), "-o", str(mlir), "--no-raise"]) == 0
    assert histogram(mlir)["hk.attention"] == 0
    capfd.readouterr()
    assert cli.main(["import", str(path), "-o", str(mlir), "--explain", "--check-raise"]) == 0
    assert histogram(mlir)["hk.attention"] == LAYERS
    assert "hk.attention" in "".join(capfd.readouterr())


def old_exporter(name, opset, path):
    """The model as the exporter that traces TorchScript writes it, with a padding mask."""
    module = Masked(zoo.make(name)).eval()
    ids = torch.randint(3, 90, (2, 9))
    axes = {0: "batch", 1: "seq"}
    torch.onnx.export(module, (ids, torch.ones_like(ids)), str(path), dynamo=False,
                      opset_version=opset, input_names=["ids", "mask"], output_names=["out"],
                      dynamic_axes={"ids": axes, "mask": axes, "out": axes})
    return module


class Masked(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        cache = {"use_cache": False} if hasattr(self.model.config, "use_cache") else {}
        return self.model(ids, attention_mask=mask, **cache)[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "opset"), [("llama", 14), ("gemma3", 17), ("bert", 14)])
def test_old_exporter(tmp_path, name, opset):
    """Its mask is read at row * columns + column of what it flattened: the size of a sequence is
    data. hk reads it by row and column."""
    path = tmp_path / f"{name}.onnx"
    module = old_exporter(name, opset, path)
    mlir = imported(path, "--check-raise")
    found = histogram(mlir)
    assert found["hk.attention"] == LAYERS and not PARTS & set(found)
    assert all("reads(" in a for a in re.findall(r"hk\.attention .*", mlir.read_text()))
    check_values(module, mlir, decodes=False)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_see_nothing(tmp_path):
    """Padded queries whose window holds only padded keys: the exported graph adds the lowest
    number to all their scores, so that they take the mean of all values, also in hk's attention,
    whose kernels multiply scores with log2 e."""
    class Attention(torch.nn.Module):
        def forward(self, x, mask):
            row = torch.arange(x.shape[1])
            near = (row[:, None] - row).abs() <= 2
            seen = near[None, None] & mask[:, None, None].bool()
            low = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
            heads = x.view(x.shape[0], x.shape[1], 2, 8).transpose(1, 2)
            scores = heads @ heads.transpose(2, 3) + low
            return (scores.softmax(-1) @ heads).transpose(1, 2).flatten(2)

    path = tmp_path / "a.onnx"
    axes = {0: "batch", 1: "seq"}
    torch.onnx.export(Attention(), (torch.randn(2, 9, 16), torch.ones(2, 9, dtype=torch.long)),
                      str(path), dynamo=False, opset_version=17, input_names=["x", "mask"],
                      output_names=["out"], dynamic_axes={"x": axes, "mask": axes})
    mlir = imported(path, "--check-raise")
    assert histogram(mlir)["hk.attention"] == 1
    x, mask = torch.randn(3, 12, 16), torch.arange(12) < torch.tensor([[12], [5], [1]])
    expected = Attention()(x, mask)
    function = hk.load(hk.compile(mlir), threads=2).a
    got = function(x=x.numpy(), mask=mask.long().numpy()).out.numpy()
    np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=2e-5)
