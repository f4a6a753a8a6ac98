"""Weights that stay in the model's files, and models of which one layer at a time is wide."""

import json

import hk
import pytest
import zoo
from hk import cli
from hk._safetensors import FILES, read
from safetensors import safe_open

torch = pytest.importorskip("torch")
from hk.torch import _check, _in_place, _precision  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint of several files in bf16."""
    path = tmp_path_factory.mktemp("sharded")
    zoo.make("llama").to(torch.bfloat16).save_pretrained(path, max_shard_size="20KB")
    assert len(list(path.glob("*.safetensors"))) > 1
    return path


def names_in(path):
    with safe_open(path, "pt") as file:
        return set(file.keys()), file.metadata() or {}


def test_weights_stay_in_their_files(folder, tmp_path, capsys):
    line = ["import", str(folder), "--dtype=bf16", "--threads=1", "-o"]
    assert cli.main([*line, str(tmp_path / "m.mlir")]) == 0
    assert cli.main([*line, str(tmp_path / "all.mlir"), "--copy-weights"]) == 0
    capsys.readouterr()
    here, metadata = names_in(tmp_path / "m.safetensors")
    everything, none = names_in(tmp_path / "all.safetensors")
    shards = {n: (tmp_path / n).resolve() for n in json.loads(metadata[FILES])}
    assert set(shards.values()) == {p.resolve() for p in folder.glob("*.safetensors")}
    assert not none and "model.layers.0.mlp.down_proj.weight" in everything - here
    # Only what the import has made of other tensors, or added.
    assert not here & set(_in_place.files_of(folder))
    for name in ("m", "all"):
        tensors = read(tmp_path / f"{name}.safetensors")
        assert everything <= set(tensors)
    # The library alone finds them, too.
    assert hk.load(tmp_path / "m.so").forward.outputs[0].shape == (-1, 97)


def test_a_file_that_is_gone_has_a_name(folder, tmp_path, capsys):
    assert cli.main(["import", str(folder), "--dtype=bf16", "--threads=1", "-o",
                     str(tmp_path / "m.mlir")]) == 0
    capsys.readouterr()
    weights = tmp_path / "m.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b"model-00001", b"model-90001"))
    with pytest.raises(hk.CompileError, match="m.safetensors' names this file: put it back"):
        hk.compile(tmp_path / "m.mlir", tmp_path / "n.so", weights=weights)


def test_other_values_are_copied(folder):
    """A weight of the same name that is not the file's, bit by bit."""
    model = hk.torch.read(folder).to(torch.bfloat16)
    tensors = dict(model.named_parameters())
    assert set(_in_place.in_place(tensors, folder)) == set(_in_place.files_of(folder))
    changed = {n: p.detach().clone() for n, p in tensors.items()}
    changed["model.norm.weight"][0] += 1
    changed["model.layers.0.mlp.up_proj.weight"] = changed["model.layers.0.mlp.up_proj.weight"].float()
    assert set(tensors) - set(_in_place.in_place(changed, folder)) == {
        "model.norm.weight", "model.layers.0.mlp.up_proj.weight"}


@pytest.mark.parametrize("change", [None, _precision.perturbed])
@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen3_next", "mixtral", "mamba2"])
def test_a_layer_at_a_time(name, change):
    """Equals the whole model converted, and leaves it as it was."""
    model = zoo.make(name).eval().to(torch.bfloat16)
    before = {n: (p, p.data_ptr(), p.clone()) for n, p in model.state_dict().items()}
    ids = torch.arange(3, 14)[None]
    made = []
    with torch.no_grad():
        for streamed in ([], _precision.layers(model)):
            with _precision.computing_in(model, torch.float32, change, streamed):
                wide = sum(p.dtype == torch.float32 for p in model.parameters())
                assert (wide == len(list(model.parameters()))) == (not streamed)
                made.append(model(input_ids=ids, use_cache=False).logits)
    assert made[0].dtype == torch.float32 and torch.equal(*made)
    for n, p in model.state_dict().items():
        assert p.dtype == torch.bfloat16 or n.endswith("inv_freq")
        assert p.data_ptr() == before[n][1] and torch.equal(p, before[n][2])


def test_an_error_inside_leaves_the_model_as_it_was():
    model = zoo.make("llama").eval()
    layers = _precision.layers(model)
    with pytest.raises(IndexError), _precision.computing_in(model, torch.float64, None, layers):
        model(input_ids=torch.tensor([[1 << 20]]))
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in layers)


def test_the_check_streams(monkeypatch):
    """Large models take the way of layers; its result is the same."""
    model = zoo.make("llama").eval()
    graph = hk.torch.export(model)
    whole = hk.torch.check(model, graph)
    monkeypatch.setattr(_check, "WHOLE", 0)
    assert hk.torch.check(model, graph) == whole


def test_a_graph_is_a_snapshot():
    model = zoo.make("llama").eval()
    graph = hk.torch.export(model)
    kept = graph.tensors["model.norm.weight"].clone()
    with torch.no_grad():
        model.model.norm.weight += 1
    assert torch.equal(graph.tensors["model.norm.weight"], kept)
