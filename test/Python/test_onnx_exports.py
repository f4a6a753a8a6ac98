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
