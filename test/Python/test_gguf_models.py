"""GGUF files of several architectures, written as llama.cpp's converter does: the model that is
read gives the logits of the model that was written, and what the file says beyond what transformers
reads of it is not lost."""

import hk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
import hk.torch  # noqa: E402
import zoo  # noqa: E402

torch.set_num_threads(1)
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16}
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.75}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "factor": 2.0, "short_factor": [1.1] * 8,
        "long_factor": [2.5] * 8, "original_max_position_embeddings": 32}
GEMMA3 = {"sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
          "full_attention": {"rope_type": "linear", "rope_theta": 1e5, "factor": 8.0}}
YARN_FIELDS = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
               "rope.scaling.original_context_length": 16}


def fields_of(config):
    """What the converter writes for every architecture."""
    heads = config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // heads
    rope = config.rope_parameters.get("full_attention", config.rope_parameters)
    return {"context_length": config.max_position_embeddings, "embedding_length": config.hidden_size,
            "block_count": config.num_hidden_layers, "feed_forward_length": config.intermediate_size,
            "attention.head_count": heads, "attention.head_count_kv": config.num_key_value_heads,
            "rope.freq_base": float(rope["rope_theta"]), "vocab_size": config.vocab_size,
            "attention.key_length": head, "attention.value_length": head,
            "rope.dimension_count": int(head * rope.get("partial_rotary_factor", 1.0)),
            **({"attention.layer_norm_rms_epsilon": config.rms_norm_eps}
               if hasattr(config, "rms_norm_eps") else {})}


def turned(weight, heads):
    """llama.cpp's order of a head's rows: pairs are neighbours."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def tensors_of(model, architecture):
    config = model.config
    number = next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == architecture)
    names = gguf.get_tensor_name_map(number, config.num_hidden_layers)
    for name, parameter in model.named_parameters():
        base, dot, end = name.rpartition(".")
        base, end = (base, dot + end) if end in ("weight", "bias") else (name, "")
        data = parameter.detach().numpy()
        if architecture == "llama" and "q_proj" in name:
            data = turned(data, config.num_attention_heads)
        if architecture == "llama" and "k_proj" in name:
            data = turned(data, config.num_key_value_heads)
        if architecture in ("gemma2", "gemma3") and "norm" in name:
            data = data + 1
        if base.endswith("experts.gate_up_proj"):
            layer = base.split(".")[2]
            for part, half in zip(("gate", "up"), np.split(data, 2, 1), strict=True):
                yield f"blk.{layer}.ffn_{part}_exps.weight", half
            continue
        yield names.get_name(base) + (end or ".weight"), data


def written(path, model, architecture, fields, tensors, kinds=()):
    """`kinds`: parts of names of tensors, and the types of those."""
    writer = gguf.GGUFWriter(path, architecture)
    add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32,
           str: writer.add_string, list: writer.add_array}
    for name, value in (fields_of(model.config) | fields).items():
        add[type(value)](f"{architecture}.{name}", value)
    for i, kind in enumerate(("pad", "bos", "eos")):
        getattr(writer, f"add_{kind}_token_id")(i)
    for name, data in [*tensors_of(model, architecture), *tensors.items()]:
        data = np.ascontiguousarray(data, np.float32)
        kind = next((gguf.GGMLQuantizationType[k] for part, k in kinds if part in name), None)
        writer.add_tensor(name, data if kind is None else gguf.quants.quantize(data, kind),
                          raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def factors_of(model):
    """By what the frequencies of a model are divided."""
    rotary = model.model.rotary_emb
    n = 2 * len(rotary.inv_freq)
    plain = model.config.rope_parameters["rope_theta"] ** -(torch.arange(0, n, 2) / n)
    return {"rope_freqs.weight": (plain / rotary.inv_freq).numpy()}


# name: (of the zoo, what differs from it, architecture, further fields, further tensors)
CASES = {
    "llama 3.1": ("llama", {}, "llama", {}, factors_of),
    "llama, no factors": ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
                          "llama", {}, factors_of),
    "llama, linear": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}},
                      "llama", {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}, None),
    "llama, biases": ("llama", {"attention_bias": True, "head_dim": 24}, "llama", {}, factors_of),
    "qwen2, yarn": ("qwen2", {"rope_parameters": YARN}, "qwen2", YARN_FIELDS, None),
    "qwen3": ("qwen3", {}, "qwen3", {}, None),
    "qwen3 moe": ("qwen3_moe", {}, "qwen3moe", {
        "expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 48}, None),
    "phi-4-mini": ("phi3", {"rope_parameters": PARTIAL, "sliding_window": 16}, "phi3",
                   {"attention.sliding_window": 16}, None),
    "phi-3, long": ("phi3", {"rope_parameters": LONG, "original_max_position_embeddings": 32}, "phi3",
                    {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 32,
                     "rope.scaling.attn_factor": float(np.sqrt(1 + np.log(2) / np.log(32)))},
                    lambda _: {f"rope_factors_{n}.weight": np.array(LONG[f"{n}_factor"])
                               for n in ("short", "long")}),
    "starcoder2": ("starcoder2", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e5},
                                  "tie_word_embeddings": True}, "starcoder2",
                   {"attention.layer_norm_epsilon": 1e-5}, None),
    "gemma 2": ("gemma2", {"attn_logit_softcapping": 5.0}, "gemma2", {
        "attention.sliding_window": 16, "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 30.0}, None),
    "gemma 3": ("gemma3", {"rope_parameters": GEMMA3, "query_pre_attn_scalar": 16}, "gemma3", {
        "attention.sliding_window": 16, "rope.freq_base_swa": 2e4, "rope.scaling.type": "linear",
        "rope.scaling.factor": 8.0, "attention.sliding_window_pattern": [True, False]}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_the_model(tmp_path, case):
    name, changes, architecture, fields, tensors = CASES[case]
    model = zoo.make(name, **changes)
    more = tensors(model) if tensors else {}
    path = written(tmp_path / "m.gguf", model, architecture, fields, more)
    ids = torch.randint(3, 90, (2, 30), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = model(input_ids=ids).logits
        made = hk.torch.read(path)(input_ids=ids).logits
    assert torch.allclose(made, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))


def test_stacked_experts_keep_their_codes(tmp_path):
    """A file has the experts of a layer in one tensor, gates apart from what they gate."""
    model = zoo.make("qwen3_moe", moe_intermediate_size=64)
    path = written(tmp_path / "m.gguf", model, "qwen3moe", CASES["qwen3 moe"][3] | {
        "expert_feed_forward_length": 64}, {}, [("_exps", "Q8_0")])
    read = hk.torch.read(path)
    weights = hk.torch.stored_weights(path, read)
    assert {n.split(".", 4)[-1]: tuple(q.codes.shape) for n, q in weights.items()} == {
        "experts.gate_up_proj": (8, 128, 64), "experts.down_proj": (8, 64, 64)}
    assert len(weights) == 4
    for name, kept in weights.items():
        assert torch.equal(kept.values(), read.get_parameter(name).data)


@pytest.mark.parametrize(("fields", "tensors", "text"), [
    ({"attention.scale": 0.5}, {}, r"llama.attention.scale = 0.5, which hk's import does not bring"),
    ({"expert_count": 8}, {}, "llama.expert_count = 8.*import the folder"),
    ({"rope.scaling.type": "su"}, {}, "rope.scaling.type = su"),
    ({}, {"blk.0.attn_norm.bias": np.ones(64)}, "a tensor blk.0.attn_norm.bias")])
def test_what_would_be_lost_is_refused(tmp_path, fields, tensors, text):
    path = written(tmp_path / "m.gguf", zoo.make("llama"), "llama", fields, tensors)
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.read(path)


def test_scaled_frequencies_in_hk(tmp_path):
    model = zoo.make("llama")
    path = written(tmp_path / "m.gguf", model, "llama", {}, factors_of(model))
    hk.torch.check(model, hk.torch.export(hk.torch.read(path)), threads=1)
