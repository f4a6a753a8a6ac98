"""What cannot be imported is refused with the model's line, the operator and a remedy."""

import json
import types

import hk
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import zoo  # noqa: E402
from hk import cli  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402


class Activation(torch.nn.Module):
    """An activation of a test."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def refusal(function):
    model = zoo.make("llama")
    model.model.layers[1].mlp.act_fn = Activation(function)
    with pytest.raises(hk.UnsupportedModel) as error:
        hk.torch.export(model)
    return str(error.value)


def test_operator():
    text = refusal(lambda x: torch.special.erfcx(x))
    assert "test_refusals.py:" in text and "`return self.function(x)`" in text
    assert "aten.special_erfcx.default" in text and "write it with supported ones" in text


def test_attribute():
    text = refusal(lambda x: x.pow(2.5))
    assert "aten.pow.Tensor_Scalar" in text and "exponent 2.5: hk has -1, -0.5, 0.5" in text
    # Of a model of tokens it is refused before, as tokens see each other there.
    text = refusal(lambda x: torch.softmax(x, 1))
    assert "model.layers.1.mlp.act_fn (Activation): tokens see others there" in text
    with pytest.raises(hk.UnsupportedModel, match="softmax over dim 1, whose size a call tells; hk "
                                                  "has the last one"):
        hk.torch.export_module(Activation(lambda x: torch.softmax(x, 1)), (torch.randn(2, 3, 4),),
                               dynamic_shapes=({1: torch.export.Dim("n")},))


def test_shape_from_data():
    assert "depends on data must be taken out" in refusal(
        lambda x: x if x.sum() > 0 else -x)


class Converts(torch.nn.Module):
    """Converts its weights when it runs, as routers of experts do."""

    def __init__(self, dtype):
        super().__init__()
        self.inner, self.dtype = torch.nn.Linear(3, 3), dtype

    def forward(self, x):
        self.inner = self.inner.to(self.dtype)
        return self.inner(x.to(self.dtype))


def maskless(x):
    """As transformers' encoders do: no mask is made where the model is traced."""
    mask = None if torch.compiler.is_compiling() else torch.ones(3)
    return x * mask.sum()


@pytest.mark.parametrize(("module", "text"), [
    (Activation(lambda x: x if x.sum() > 0 else -x), "x if x.sum.*depends on data"),
    (Activation(maskless), r"`return x \* mask.sum\(\)`: .*'NoneType'.*give the argument that is None"),
    (Converts(torch.bfloat16), r"`self.inner = self.inner.to\(.*the model changes its own weights"),
    (Activation(lambda x: x.view(4, 3)), "leave it out of dynamic_shapes"),
    (Activation(lambda x: x.add_(1) * 2), "changes its argument 'x' in place; .*clone"),
    (Activation(lambda x: (x + 1, 3)), "result 'result_1' is 3, which is no tensor; .*leave it out"),
    (Activation(lambda x: (x + 1, x.shape[0])), "result 'result_1' is sym_size.*, which is no tensor"),
    (Activation(lambda x: x.to(torch.complex64)), "is of complex numbers, which hk"),
    (Activation(lambda x: None), "the module returns no tensor")])
def test_what_torch_does_not_trace(module, text, capsys):
    with pytest.raises(hk.UnsupportedModel, match=text) as error:
        hk.torch.export_module(module, (torch.randn(4, 3),), dynamic_shapes=(
            {0: torch.export.Dim("n", min=2)},))
    assert "TORCH_LOGS" not in str(error.value) or "Constraints" in str(error.value)
    assert "def forward" not in capsys.readouterr().err  # Nor what torch has of the graph.


def test_a_conversion_that_changes_nothing():
    assert "hk.matmul" in hk.torch.export_module(Converts(torch.float32), torch.randn(4, 3)).mlir


def test_mask(monkeypatch):
    from transformers.models.llama import modeling_llama

    original = modeling_llama.create_causal_mask
    monkeypatch.setattr(modeling_llama, "create_causal_mask", lambda **k: original(
        **k, or_mask_function=lambda b, h, i, j: j < 4))
    with pytest.raises(hk.UnsupportedModel, match=r"attention 0 \(LlamaAttention\).*query 1 and "
                       "key 4 do not fit .*, nor chunks; hk's import has no other masks"):
        hk.torch.export(zoo.make("llama"))


def test_mask_tensor(monkeypatch):
    from transformers.models.llama import modeling_llama

    monkeypatch.setattr(modeling_llama, "create_causal_mask", lambda **k: torch.zeros(1, 1, 6, 6))
    with pytest.raises(hk.UnsupportedModel, match="mask to a Tensor; hk.attention has no mask"):
        hk.torch.export(zoo.make("llama"))


def test_rotary():
    """Types of which the table depends on the length, beyond the one where it begins to."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    long = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 8,
            "long_factor": [4.0] * 8, "original_max_position_embeddings": 32, "factor": 2.0}
    for name, rope, context in (("llama", dynamic, 65), ("phi3", long, 33)):
        model = zoo.make(name, rope_parameters=rope, original_max_position_embeddings=32)
        with pytest.raises(hk.UnsupportedModel, match=f"its table for {context} positions is not "
                           f"that for shorter.*--context={context - 1}"):
            hk.torch.export(model, context=context)
        assert "hk.rope" in hk.torch.export(model, context=context - 1).mlir


def test_rotary_of_another_form(monkeypatch):
    from transformers.models.llama import modeling_llama

    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb",
                        lambda q, k, cos, sin: (q * cos[:, None], k * cos[:, None]))
    with pytest.raises(hk.UnsupportedModel, match="fits neither neox nor gptj"):
        hk.torch.export(zoo.make("llama"))


@pytest.mark.parametrize(("change", "text"), [
    (lambda scores: 30.0 * torch.tanh(scores / 30.0), "its scores are more than scaled"),
    (lambda scores: scores + torch.arange(scores.shape[-1]).sqrt(), "neither a slope nor a table"),
    (lambda scores: scores.masked_fill(torch.arange(scores.shape[-1]) % 3 == 1, -1e9),
     "query . and key . do not fit causal=True")])
def test_scores(monkeypatch, change, text):
    """What a model's own attention does between its products."""
    from transformers.models.gptj import modeling_gptj

    softmax = torch.nn.functional.softmax
    own = types.SimpleNamespace(**vars(torch.nn.functional)
                                | {"softmax": lambda x, dim: softmax(change(x), dim=dim)})
    monkeypatch.setattr(modeling_gptj.nn, "functional", own)
    with pytest.raises(hk.UnsupportedModel, match=r"attention 0 \(products and a softmax of "
                                                  f"GPTJForCausalLM.*({text})"):
        hk.torch.export(zoo.make("gptj"))


def test_no_attention(monkeypatch):
    from transformers.models.gptj import modeling_gptj

    monkeypatch.setattr(modeling_gptj.GPTJAttention, "_attn", lambda s, q, k, v, m: (v, None))
    with pytest.raises(hk.UnsupportedModel, match="GPTJForCausalLM has no attention that hk finds"):
        hk.torch.export(zoo.make("gptj"))


def test_signature():
    with pytest.raises(hk.UnsupportedModel, match="no signature 'flat'; one of paged, dense"):
        hk.torch.export(zoo.make("llama"), "flat")
    model = zoo.make("bert")
    forward = model.forward
    model.forward = lambda input_ids: {"pooler_output": forward(input_ids=input_ids).pooler_output}
    with pytest.raises(hk.UnsupportedModel, match="BertModel returns none of last_hidden_state, "
                                                  "logits, start_logits, end_logits; import"):
        hk.torch.export(model)


def test_files(tmp_path, capsys):
    with pytest.raises(hk.NotFound, match="hk reads models from disk and fetches none"):
        hk.torch.read(tmp_path / "none")
    with pytest.raises(hk.NotFound, match="neither a GGUF file .* nor a folder with a config.json"):
        hk.torch.read(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "of nobody"}')
    with pytest.raises(hk.UnsupportedModel, match="transformers cannot read"):
        hk.torch.read(tmp_path)
    assert cli.main(["import", str(tmp_path / "none"), "-o", str(tmp_path / "m.mlir")]) == 1
    assert "hk: no such file or folder" in capsys.readouterr().err
    assert not (tmp_path / "m.mlir").exists()


@pytest.mark.parametrize(("files", "named", "text"), [
    ({}, "owner/name-1.5B", "hf download owner/name-1.5B --local-dir name-1.5B, and name that"),
    ({"adapter_config.json": '{"base_model_name_or_path": "own/base"}'}, "",
     r"an adapter \(LoRA\) of own/base: merge it .*merge_and_unload"),
    ({"adapter_config.json": "{"}, "", "of its base model: merge"),
    ({"model_index.json": "{}"}, "", "a pipeline of diffusers: name the folder"),
    ({"params.json": "{}"}, "", "take the model in transformers' format"),
    ({"config.json": "{}", "model.safetensors": ""}, "model.safetensors", "name the folder that it"),
    ({"m-00002-of-00003.gguf": "GGUF"}, "m-00002-of-00003.gguf", "one part of several: join them"),
    ({"config.json": '{"model_type": "llama", "quantization": {"bits": 4}}'}, "",
     "that 'mlx' packed its weights, and hk reads gptq"),
    ({"config.json": '{"model_type": "llama"}', "model.safetensors":
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"}, "",
     "'model.safetensors' is Git LFS' pointer to the weights: git lfs pull")])
def test_what_is_no_folder_of_a_model(tmp_path, monkeypatch, files, named, text):
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises((hk.NotFound, hk.UnsupportedModel), match=text):
        hk.torch.read(named or tmp_path)


def changed(path, state=lambda s: s, **config):
    """A folder of a tiny model with other tensors, and with other lines in its configuration."""
    zoo.make("llama").save_pretrained(path)
    weights = path / "model.safetensors"
    save_file(state(load_file(weights)), weights, {"format": "pt"})
    said = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(said | config))
    return path


UP = "model.layers.1.mlp.up_proj.weight"


@pytest.mark.parametrize(("state", "config", "text"), [
    (lambda s: {n: t for n, t in s.items() if n != UP}, {}, f"no values for {UP} and 0 other"),
    (lambda s: s | {UP: torch.zeros(3, 5)}, {}, rf"{UP} is \[3, 5\] in its files and \[96, 64\] by"),
    (dict, {"num_key_value_heads": 1}, r"k_proj.weight is \[32, 64\] in its files and \[16, 64\]"),
    (dict, {"num_attention_heads": 0}, "ZeroDivisionError.*; look at config.json"),
    (dict, {"hidden_size": 65}, "hidden size .65. is not a multiple .*; look at config.json"),
    (dict, {"vocab_size": "many"}, "'vocab_size' expected int"),
    (dict, {"hidden_act": "no_such"}, "its configuration names 'no_such', which transformers does"),
    (dict, {"model_type": "own", "auto_map": {"AutoConfig": "c.Own", "AutoModelForCausalLM": "m.Own"}},
     "hk runs no code of a folder: save the model with a class of transformers")])
def test_folders_that_do_not_fit(tmp_path, state, config, text):
    changed(tmp_path, state, **config)
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.export(hk.torch.read(tmp_path))


@pytest.mark.parametrize("size", [0, 5, 1000])
def test_a_file_that_is_cut_off(tmp_path, size):
    weights = changed(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:size])
    with pytest.raises(hk.UnsupportedModel, match="'model.safetensors' is damaged or cut off: copy"):
        hk.torch.read(tmp_path)


@pytest.mark.parametrize(("data", "text"), [
    (b"", "empty"), (b"plain text", "magic"), (b"GGUF\3\0\0\0" + b"\1" * 20, "damaged or cut off")])
def test_a_gguf_file_that_is_none(tmp_path, data, text):
    pytest.importorskip("gguf")
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(hk.UnsupportedModel, match=f"{text}.*"):
        hk.torch.read(tmp_path / "m.gguf")


def test_a_weight_that_is_no_number():
    """Where the model's own results are none, nothing is right."""
    model = zoo.make("llama")
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[0, 0] = float("nan")
    with pytest.raises(hk.CheckFailed, match=f"not finite, .*its weight {UP} has elements that"):
        hk.torch.check(model, hk.torch.export(model), threads=1)


def in_f32(x):
    """An activation that other precisions do not have."""
    if x.dtype != torch.float32:
        raise RuntimeError(f"no kernel for {x.dtype}")
    return x.relu()


def test_a_model_of_one_precision():
    model = zoo.make("llama")
    model.model.layers[1].mlp.act_fn = Activation(in_f32)
    with pytest.raises(hk.CheckFailed, match="does not run one precision up, .*no kernel for torch.f"):
        hk.torch.check(model, hk.torch.export(model), threads=1)


def test_linear_attention():
    model = zoo.make("minimax")
    layer = next(m for m in model.modules() if hasattr(m, "slope_rate"))
    layer.diagonal_decay[..., 3, 1] = 0.0  # No longer what hk has.
    with pytest.raises(hk.UnsupportedModel, match=r"model.layers.1.self_attn "
                       r"\(MiniMaxLightningAttention\): tokens see others there by what is"):
        hk.torch.export(model)


def test_tokens_of_other_sequences():
    """What the model does with its tokens where hk knows no such layer is refused, not exported."""
    model = zoo.make("zaya")
    project = model.model.layers[1].self_attn.qkv_proj
    forward = project.forward
    project.forward = lambda x, *a, **k: forward(x + 0.1 * x.roll(1, 1), *a, **k)
    project.q_proj.in_features = 1  # It is no longer what hk replaces as a whole.
    with pytest.raises(hk.UnsupportedModel, match=r"model.layers.1.self_attn.qkv_proj "
                       r"\(ZayaCCAProjection\): tokens see others there by what is neither"):
        hk.torch.export(model)


def test_wide_convolutions():
    with pytest.raises(hk.UnsupportedModel, match="a causal convolution of width 9; hk.causal_conv1d "
                       "has 2 to 8. Import what is around"):
        hk.torch.export(zoo.make("lfm2", conv_L_cache=9))


def test_indexer():
    """It chooses among more keys than it takes."""
    with pytest.raises(hk.UnsupportedModel, match=r"model.layers.0.self_attn.indexer .* chooses 16 "
                       r"keys of a context of 64; .*\(--context=16\)"):
        hk.torch.export(zoo.make("deepseek_v32", index_topk=16))


def test_a_decoder_that_sees_later_tokens():
    model = zoo.built("XLMWithLMHeadModel", {"emb_dim": 64, "n_layers": 2, "n_heads": 4})
    with pytest.raises(hk.UnsupportedModel, match="tokens see later ones, which a model with caches "
                                                  "cannot; import it with the dense signature"):
        hk.torch.export(model)


def test_a_run_that_changes_how_the_model_computes():
    """Short sequences make BigBird's sparse attention a full one for good; long ones do not."""
    sizes = {"max_position_embeddings": 1024, "block_size": 16, "num_random_blocks": 2}
    with pytest.raises(hk.UnsupportedModel, match="a run of 6 tokens changes attention_type of .* from "
                       "'block_sparse' to 'original_full': .*set attention_type to 'original_full'"):
        hk.torch.export(zoo.built("BigBirdModel", sizes))
    model = zoo.built("BigBirdModel", sizes | {"attention_type": "original_full"})
    hk.torch.check(model, hk.torch.export(model), threads=1)


@pytest.mark.parametrize(("asked", "text"), [
    ({"context": 0}, "context: expected 1 to .* tokens, got 0"),
    ({"context": 1 << 40}, "context: expected 1 to"),
    ({"block": 0}, "block: expected 1 to .* tokens, got 0"),
    ({"dtype": torch.int8}, "dtype: expected one of torch.float32, .* got torch.int8"),
    ({"dtype": "bf16"}, "dtype: expected one of torch.float32, .* got 'bf16'")])
def test_arguments_of_export(asked, text):
    with pytest.raises(hk.InvalidArgument, match=text):
        hk.torch.export(zoo.make("llama"), **asked)


def test_what_is_no_model():
    for given, name in (("llama", "str"), (torch.nn.Linear(3, 3), "Linear")):
        with pytest.raises(hk.InvalidArgument, match=f"expected a model of transformers, got {name}; "
                           "hk.torch.read"):
            hk.torch.export(given)
    with torch.device("meta"):
        model = type(zoo.make("llama"))(zoo.make("llama").config)
    with pytest.raises(hk.InvalidArgument, match="embed_tokens.weight is on the device meta"):
        hk.torch.export(model)


def test_rotary_parameters(tmp_path):
    rope = {"rope_type": "linear", "rope_theta": 1e4}
    with pytest.raises(hk.UnsupportedModel, match="its configuration: Missing required keys in "
                       ".rope_parameters. for .*factor"):
        hk.torch.read(changed(tmp_path, rope_parameters=rope))


def test_no_tokenizer(tmp_path, capsys):
    """Said before the model is imported."""
    assert cli.main(["generate", str(changed(tmp_path)), "--prompt=a"]) == 1
    said = capsys.readouterr().err
    assert "has no tokenizer that transformers reads" in said and "copy tokenizer.json" in said
    assert "torch.export" not in said


def test_places_to_write(tmp_path):
    graph = hk.torch.export_module(torch.nn.Linear(3, 3), torch.randn(4, 3))
    with pytest.raises(hk.NotFound, match="there is no folder '.*none'; make it first"):
        graph.save(tmp_path / "none" / "m.mlir")
    (tmp_path / "m.safetensors").mkdir()
    with pytest.raises(hk.Error, match="cannot write '.*m.mlir' and .*; the weights are 48 bytes"):
        graph.save(tmp_path / "m.mlir")
