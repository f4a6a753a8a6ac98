"""Imported models compute what the originals do: tiny configurations of many architectures,
prefill of ragged sequences, prompts longer than every window, then a token at a time."""

import re

import hk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import serving  # noqa: E402
import transformers  # noqa: E402
import zoo  # noqa: E402

torch.set_num_threads(1)
ENCODERS = ["bert", "roberta", "distilbert", "modernbert"]


@pytest.mark.parametrize("name", [*zoo.DECODERS, *zoo.MIXTURES, *zoo.LATENT, *ENCODERS])
def test_equals_the_original(name):
    model = zoo.make(name)
    graph = hk.torch.export(model)
    assert graph.notes == []
    assert len(re.findall(r"= hk\.attention ", graph.mlir)) == 2
    if name not in zoo.LATENT:  # Whose products by head read and write tokens in front.
        assert "hk.transpose" not in graph.mlir  # Layouts are bookkeeping.
    report = hk.torch.check(model, graph, threads=1)
    assert report.bound < 1e-5 * report.largest
    assert report.decided > 0.9 * report.rows


def test_cosines_of_sentences(tmp_path):
    """Twenty pairs of sentences by a model of all-MiniLM-L6-v2's sizes (but for the vocabulary),
    random weights, pooled as that model's are: means of the tokens."""
    model = zoo.make("bert", hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                     intermediate_size=1536, vocab_size=2000, max_position_embeddings=512)
    function = hk.load(hk.compile(hk.torch.export(model), tmp_path / "m.so"), threads=1).forward
    generator = torch.Generator().manual_seed(12)
    lens = torch.randint(3, 33, (40,), generator=generator)
    ids = torch.randint(3, 2000, (40, int(lens.max())), generator=generator)
    seen = (torch.arange(ids.shape[1]) < lens[:, None]).long()
    ours = function(ids=ids.int(), kv_lens=lens.int()).hidden.torch()
    with torch.no_grad():
        theirs = model(input_ids=ids, attention_mask=seen).last_hidden_state

    def cosines(hidden):
        pooled = (hidden * seen[..., None]).sum(1) / lens[:, None]
        return torch.nn.functional.cosine_similarity(pooled[:20].double(), pooled[20:].double())

    assert float((cosines(ours) - cosines(theirs)).abs().max()) < 1e-5


@pytest.mark.parametrize("name", zoo.WRITTEN)
def test_attention_of_its_own(name):
    """Products and softmax become hk.attention, and nothing is left of masks and biases."""
    model = zoo.make(name)
    graph = hk.torch.export(model)
    assert len(re.findall(r"= hk\.attention ", graph.mlir)) == 2
    assert "hk.softmax" not in graph.mlir and "hk.exp" not in graph.mlir
    report = hk.torch.check(model, graph, threads=1)
    assert report.bound < 1e-4 * report.largest
    assert report.decided > 0.9 * report.rows


def test_what_is_found_between_products():
    assert operators("bloom").count("%slope = ") == operators("falcon_slopes").count("%slope = ") == 2
    for name in ("mpnet", "t5"):  # Distances beyond 46 are one; layers share the table.
        assert operators(name).count(": tensor<4x93xf32>\n") == 1 + 1
    assert re.findall(r"window_left (\d+)", operators("gpt_neo")) == ["15"]
    assert operators("gptj").count("hk.rope gptj") == 4
    assert "x16x1x16xf32> {hk.state}" in operators("falcon")  # One head of keys.


@pytest.mark.parametrize("name", [*zoo.UNUSUAL, *zoo.RECENT, *zoo.HEADS])
def test_other_models(name):
    model = zoo.make(name)
    graph = hk.torch.export(model)
    report = hk.torch.check(model, graph, threads=1)
    assert report.bound < (1e-4 if name == "gemma4" else 1e-5) * report.largest
    assert report.decided > 0.9 * report.rows


@pytest.mark.parametrize(("name", "changes"), [
    ("bart", {}), ("roformer", {}),
    ("llama4", {"attn_temperature_tuning": True, "no_rope_layers": [1, 0], "floor_scale": 4})])
def test_counted_tokens_are_positions(name, changes):
    """What counts the tokens of a sequence counts those of each one of a call."""
    model = zoo.make(name, **changes)
    report = hk.torch.check(model, hk.torch.export(model), threads=1)
    assert report.decided > 0.9 * report.rows


def test_scores_in_f32():
    """Stanford's GPT-2s: scores in f32, divided by the number of the layer."""
    model = zoo.make("gpt2", reorder_and_upcast_attn=True, scale_attn_by_inverse_layer_idx=True)
    hk.torch.check(model, hk.torch.export(model), threads=1)


def test_a_decoder_without_caches():
    """Whole sequences side by side, for scores of texts."""
    model = zoo.make("llama")
    graph = hk.torch.export(model, "dense")
    assert "{hk.state}" not in graph.mlir and graph.signature.results == ("logits",)
    hk.torch.check(model, graph, threads=1)


def test_heads():
    assert hk.torch.export(zoo.make("bert_spans")).signature.results == ("start_logits", "end_logits")
    classes = hk.torch.export(zoo.make("bert_classes")).mlir
    assert '(tensor<?x3xf32> {hk.name = "logits"})' in classes
    assert operators("olmo").count("hk.layer_norm") == 5


def test_norms_without_weight_that_are_wide():
    """Ones that do not fit into the text of a model are a weight."""
    model = zoo.make("olmo", hidden_size=128)
    graph = hk.torch.export(model)
    assert graph.mlir.count('"hk.row.128.1.0.f32"') == 1
    hk.torch.check(model, graph, threads=1)


@pytest.mark.parametrize(("name", "changes"), [
    ("qwen3_5", {}), ("qwen3_5", {"linear_value_head_dim": 24}), ("qwen3_next", {}), ("lfm2", {}),
    ("lfm2", {"conv_bias": True})])
def test_recurrent(name, changes):
    """A layer with a state of its own and one with a cache."""
    model = zoo.make(name, **changes)
    graph = hk.torch.export(model)
    assert graph.notes == []
    assert len(re.findall(r"= hk\.attention ", graph.mlir)) == 1
    assert len(re.findall(r"= hk\.gated_delta_rule ", graph.mlir)) == (name != "lfm2")
    states = [a.name for a in graph.arguments if a.state]
    assert states == ["keys_0", "values_0", "conv_0", *["state_0"] * (name != "lfm2")]
    assert "lines" in [a.name for a in graph.arguments]
    report = hk.torch.check(model, graph, threads=1)
    assert report.bound < 1e-4 * report.largest
    assert report.decided > 0.9 * report.rows


@pytest.mark.parametrize("name", zoo.SPACES)
def test_state_spaces(name):
    """Scans are linear: nothing is taken from a value."""
    model = zoo.make(name)
    graph = hk.torch.export(model)
    kimi = name == "kimi_linear"
    assert re.findall(r"= hk\.gated_delta_rule .*? (key_decay|decay) ", graph.mlir) == [
        "key_decay" if name in ("jamba", "kimi_linear") else "decay"
    ] * (2 if name == "mamba2" else 1)
    assert (" rule linear " in graph.mlir) != kimi
    report = hk.torch.check(model, graph, threads=1)
    assert report.bound < 1e-4 * report.largest
    assert report.decided > 0.9 * report.rows


@pytest.mark.parametrize("name", zoo.FILTERED)
def test_filters_and_sinks(name, tmp_path):
    """What a sequence's tokens leave for its next ones, in one call, in parts and beside others."""
    model = zoo.make(name)
    graph = hk.torch.export(model)
    path = hk.compile(graph, tmp_path / "m.so")
    report = hk.torch.check(model, graph, path, threads=1)
    assert report.bound < 1e-4 * report.largest
    assert report.decided > 0.9 * report.rows
    function = hk.load(path, threads=1).forward
    assert serving.largest_difference(function, model, 40) < 1e-5


def test_weights_that_a_first_run_changes():
    """RWKV halves those of later layers in place; the import and the check leave them alone."""
    model = zoo.make("rwkv")
    before = {n: p.clone() for n, p in model.named_parameters()}
    graph = hk.torch.export(model)
    assert all(torch.equal(p, before[n]) for n, p in model.named_parameters())
    assert not model.rwkv.layers_are_rescaled and model.config.rescale_every == 1
    model(input_ids=torch.tensor([[3]]))  # A model that has run is imported as it is then.
    assert not torch.equal(model.rwkv.blocks[1].attention.output.weight,
                           before["rwkv.blocks.1.attention.output.weight"])
    assert len(hk.torch.export(model).mlir.splitlines()) > len(graph.mlir.splitlines())


def test_layers_that_share_keys():
    """Two caches for four layers, each written once."""
    text = operators("gemma4")
    assert text.count("= hk.attention ") == 4 and text.count("= hk.kv_cache_write ") == 4
    assert "%keys_1: " in text and "%keys_2" not in text


def test_a_prompt_in_parts(tmp_path):
    """Two sequences of unequal lengths: what comes later goes on from the states."""
    model = zoo.make("qwen3_5")
    function = hk.load(hk.compile(hk.torch.export(model), tmp_path / "m.so"), threads=1).forward
    ids = np.random.default_rng(1).integers(0, 97, (2, 20))
    whole = hk.Decoder(function, 2, 20).prefill([ids[0], ids[1][:12]])
    decoder = hk.Decoder(function, 2, 20)
    for state in decoder.caches.values():  # A sequence that begins reads no line.
        state.numpy()[...] = np.nan
    for cut in ((0, 7, 0, 1), (7, 19, 1, 2), (19, 20, 2, 12)):
        last = decoder.prefill([ids[0][cut[0]:cut[1]], ids[1][cut[2]:cut[3]]])
    np.testing.assert_allclose(last, whole, rtol=0, atol=1e-5 * np.abs(whole).max())
    decoder.reset()
    np.testing.assert_array_equal(decoder.prefill([ids[0], ids[1][:12]]), whole)
    assert serving.largest_difference(function, model, 40) < 1e-5


def test_recurrent_functions_are_compared(monkeypatch):
    from transformers.models.qwen3_5 import modeling_qwen3_5 as file

    model, rule = zoo.make("qwen3_5"), file.torch_chunk_gated_delta_rule
    monkeypatch.setattr(file, "torch_chunk_gated_delta_rule",
                        lambda *a, **k: (rule(*a, **k)[0] * 1.01, None))
    with pytest.raises(hk.UnsupportedModel, match="torch_chunk_gated_delta_rule of .* does not "
                                                  "compute what hk's operator"):
        hk.torch.export(model)
    monkeypatch.undo()
    with pytest.raises(hk.UnsupportedModel, match="import it with the paged signature"):
        hk.torch.export(model, "dense")
    assert file.torch_chunk_gated_delta_rule is rule


@pytest.mark.parametrize("name", ["qwen3_moe", "qwen3_next", "glm4_moe"])
def test_bf16_mixtures(name):
    """Where a tie of experts decides, the check says so."""
    model = zoo.make(name)
    report = hk.torch.check(model, hk.torch.export(model, dtype=torch.bfloat16), threads=1)
    assert report.error <= report.bound < 0.1 * report.largest


def test_positions_in_the_thousands(tmp_path):
    """Frequencies of rotary embeddings stay in f32 on both sides, as in a model that transformers
    reads in bf16: rounded, they are other angles behind a window."""
    model = zoo.make("mistral", sliding_window=1900, max_position_embeddings=2048, head_dim=24)
    model.save_pretrained(tmp_path)
    read = transformers.MistralForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert read.model.rotary_emb.inv_freq.dtype == torch.float32
    report = hk.torch.check(model, hk.torch.export(model, dtype=torch.bfloat16), threads=1)
    assert report.error <= 2 * report.own_error


@pytest.mark.parametrize("name", ["llama", "gemma2", "olmo2", "bert"])
def test_bf16_is_as_near_as_torch(name):
    model = zoo.make(name)
    graph = hk.torch.export(model, dtype=torch.bfloat16)
    assert {str(t.dtype) for t in graph.tensors.values()} >= {"torch.bfloat16"}
    hk.torch.check(model, graph, threads=1)


def operators(name, **changes):
    return hk.torch.export(zoo.make(name, **changes)).mlir


def test_what_is_found():
    """The variant of every leaf comes from the data."""
    assert operators("llama").count("round_before_weight") == 5
    assert operators("gemma2").count("weight_offset 1.0") == 9
    olmo = operators("olmo2")
    assert "round_before_weight" not in olmo and "weight_offset" not in olmo
    assert "hk.rope gptj" in operators("glm") and "hk.rope neox" in olmo
    assert re.findall(r"window_left (\d+)", operators("mistral")) == ["15", "15"]
    assert re.findall(r"window_left (\d+)", operators("gemma3")) == ["15"]
    assert operators("gemma2").count("softcap ") == 2
    assert operators("smollm3").count("hk.rope") == 2  # One of two layers has no rope.
    assert "causal" not in operators("bert")
    assert "hk.compare le %apart_1, %limit_1" in operators("modernbert")  # Padded rows.


def test_windows_of_a_model_of_images_and_text():
    """Its configuration has them in that of the text; one of 50 is wider than a short trial."""
    text = zoo.COMMON | {"head_dim": 16, "sliding_window": 50,
                         "layer_types": ["sliding_attention", "full_attention"]}
    vision = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
              "intermediate_size": 48, "image_size": 32, "patch_size": 8}
    model = zoo.built("Gemma3ForConditionalGeneration", {
        "text_config": text, "vision_config": vision, "mm_tokens_per_image": 16})
    graph = hk.torch.export(model)
    assert re.findall(r"window_left (\d+)", graph.mlir) == ["49"] and graph.windows == [49]
    hk.torch.check(model, graph, threads=1)


def test_experts():
    """Both products by expert, their order made once, the sum one chain; groups by hk.group_limit."""
    text = operators("qwen3_moe")
    assert text.count("hk.grouped_matmul") == 4 and text.count("hk.sort_by_key") == 2
    assert "tensor<8x96x64xf32>" in text  # Experts are stacked, gate and up merged.
    assert "hk.group_limit top2_sum" in operators("glm4_moe")
    assert operators("gpt_oss").count("= hk.gated_activation swiglu_oai") == 2
    assert operators("llama4").count("hk.grouped_matmul") == 4  # Only of those that are chosen.


def test_latent_attention():
    """The cache holds latent rows; values are columns of it, and no value cache is there."""
    text = operators("deepseek_v3_moe")
    assert "%keys_1: tensor<?x16x1x40xf32> {hk.state}" in text and "%values_" not in text
    assert "hk.group_limit top2_sum" in text
    assert "hk.group_limit maximum" in operators("deepseek_v2_moe")


def test_names_and_weights():
    graph = hk.torch.export(zoo.make("smollm2"))
    names = dict(zoo.make("smollm2").named_parameters())
    assert set(names) == {n for n in graph.tensors if not n.startswith("hk.")}  # Tied: once.
    assert graph.tensors["hk.model.rotary_emb.0.cos"].shape == (64, 4)
    assert "%l1_q_proj = hk.matmul %l1_input_layernorm" in graph.mlir
    assert [a.name for a in graph.arguments if not a.state] == [
        "ids", "positions", "slots", "block_table", "q_offsets", "kv_lens", "logits_at"]


def test_the_model_is_left_alone():
    from transformers.models.llama import modeling_llama

    model = zoo.make("llama")
    before = {n: t.clone() for n, t in model.state_dict().items()}
    function, implementation = modeling_llama.apply_rotary_pos_emb, model.config._attn_implementation
    hk.torch.export(model, dtype=torch.bfloat16)
    assert modeling_llama.apply_rotary_pos_emb is function
    assert model.config._attn_implementation == implementation
    assert all("forward" not in vars(m) for m in model.modules())
    after = model.state_dict()
    assert all(torch.equal(before[n], after[n]) for n in before)


def test_batched_greedy_decode(tmp_path):
    """Two sequences of unequal length, 8 tokens each: torch's greedy ones."""
    model = zoo.make("mistral")
    library = hk.compile(hk.torch.export(model, block=4), tmp_path / "m.so")
    prompts = [np.arange(3, 8), np.arange(20, 45)]
    decoder = hk.Decoder(hk.load(library, threads=1).forward, 2, 40)
    tokens = decoder.prefill(prompts).argmax(-1)
    found = [tokens]
    for _ in range(7):
        tokens = decoder.step(tokens).argmax(-1)
        found.append(tokens)
    for prompt, mine in zip(prompts, np.stack(found, 1), strict=True):
        ids = torch.tensor(prompt)[None]
        expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=8,
                                  min_new_tokens=8, do_sample=False)
        assert mine.tolist() == expected[0, len(prompt):].tolist()
    with pytest.raises(hk.InvalidArgument, match=r"at least one token, got prompts of \[1, 0\]"):
        decoder.prefill([[1], []])
    for strange in (97, -1):
        with pytest.raises(hk.InvalidArgument, match=f"id {strange} is none of the model's 97 tokens"):
            decoder.step([5, strange])
    with pytest.raises(hk.InvalidArgument, match="there is room for 40"):
        decoder.prefill([np.zeros(40, int)] * 2)
    assert serving.largest_difference(decoder.function, model, 40) < 1e-5


@pytest.mark.parametrize(("mutation", "replacement"), [
    ("window_left 15", "window_left 14"), ("hk.silu", "hk.gelu"),
    ("positions %positions", "positions %slots"), ("hk.rope neox", "hk.rope gptj")])
def test_a_wrong_graph_is_caught(mutation, replacement):
    model = zoo.make("mistral")
    graph = hk.torch.export(model)
    assert mutation in graph.mlir
    graph.mlir = graph.mlir.replace(mutation, replacement)
    with pytest.raises(hk.CheckFailed, match="is off by|best token differs"):
        hk.torch.check(model, graph, threads=1)
