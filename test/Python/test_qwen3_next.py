"""The formulas of examples/qwen3_next against the modules of transformers, which that example
and its tests trust: whole layers, as chunks and token by token."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "qwen3_next"
TOKENS = 70  # over the end of a chunk


@pytest.fixture(scope="module")
def example():
    """Modules of the example; their names are too common to stay on the path."""
    saved, loaded = sys.path[:], {}
    sys.path.insert(0, str(FOLDER))
    known = {name: sys.modules.pop(name, None) for name in ("config", "reference", "inputs")}
    try:
        for name in ("config", "reference", "inputs"):
            spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
            loaded[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded[name])
    finally:
        sys.path[:] = saved
        for name, module in known.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
    return loaded


def layers(c, weights):
    """The two decoder layers of transformers, in float64, with these weights."""
    from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextDecoderLayer
    config = Qwen3NextConfig(
        hidden_size=c.hidden, num_hidden_layers=2, layer_types=["linear_attention", "full_attention"],
        num_attention_heads=c.heads, num_key_value_heads=c.kv_heads, head_dim=c.head_dim,
        linear_conv_kernel_dim=c.width, linear_key_head_dim=c.keys, linear_value_head_dim=c.values,
        linear_num_key_heads=c.key_heads, linear_num_value_heads=c.value_heads, num_experts=c.experts,
        num_experts_per_tok=c.top_k, norm_topk_prob=True, moe_intermediate_size=c.expert,
        shared_expert_intermediate_size=c.shared, rms_norm_eps=c.eps, mlp_only_layers=[], decoder_sparse_step=1)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    w = {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in weights.items()}
    names = {"delta": {"linear_attn.in_proj_qkvz.weight": w["delta.qkvz"], "linear_attn.in_proj_ba.weight": w["delta.ba"],
                       "linear_attn.conv1d.weight": w["delta.conv"][:, None], "linear_attn.A_log": w["delta.a_log"],
                       "linear_attn.dt_bias": w["delta.dt_bias"], "linear_attn.norm.weight": w["delta.gated_norm"],
                       "linear_attn.out_proj.weight": w["delta.out"]},
             "attn": {"self_attn.q_proj.weight": w["attn.q"], "self_attn.k_proj.weight": w["attn.k"],
                      "self_attn.v_proj.weight": w["attn.v"], "self_attn.o_proj.weight": w["attn.out"],
                      "self_attn.q_norm.weight": w["attn.q_norm"], "self_attn.k_norm.weight": w["attn.k_norm"]}}
    result = []
    for i, (layer, own) in enumerate(names.items()):
        moe = f"{layer}.moe."
        own["input_layernorm.weight"], own["post_attention_layernorm.weight"] = w[layer + ".norm"], w[moe + "norm"]
        own["mlp.gate.weight"], own["mlp.shared_expert_gate.weight"] = w[moe + "router"], w[moe + "shared_gate"]
        own["mlp.experts.gate_up_proj"], own["mlp.experts.down_proj"] = w[moe + "gate_up"], w[moe + "down"]
        gate, up = w[moe + "shared_gate_up"].chunk(2)
        own["mlp.shared_expert.gate_proj.weight"], own["mlp.shared_expert.up_proj.weight"] = gate, up
        own["mlp.shared_expert.down_proj.weight"] = w[moe + "shared_down"]
        module = Qwen3NextDecoderLayer(config, i).double().eval()
        module.load_state_dict(own, strict=True)
        result.append(module)
    return result


def theirs(c, weights, x):
    """Both layers on the tokens [T, hidden] of one sequence that begins with them."""
    cos, sin = (torch.from_numpy(np.concatenate([weights["rope." + n][:len(x)]] * 2, -1))[None] for n in ("cos", "sin"))
    mask = torch.full((len(x), len(x)), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    y, after = torch.from_numpy(x)[None], []
    with torch.no_grad():
        for module in layers(c, weights):
            y = module(y, position_embeddings=(cos, sin), attention_mask=mask if hasattr(module, "self_attn") else None)
            after.append(y[0].numpy())
    return after


@pytest.mark.parametrize("chunked", [True, False])
def test_formulas_are_those_of_transformers(example, chunked):
    c = example["config"].Config()
    weights = example["inputs"].draw_weights(c)
    x = np.random.default_rng(11).normal(size=(TOKENS, c.hidden))
    model = example["reference"].Reference(c, weights, rounds=False)
    state = {"conv": np.zeros((c.width - 1, c.channels)), "delta": np.zeros((c.value_heads, c.keys, c.values)),
             "keys": np.zeros((c.context, c.kv_heads, c.head_dim)), "values": np.zeros((c.context, c.kv_heads, c.head_dim))}
    steps = [np.arange(TOKENS)] if chunked else [np.array([t]) for t in range(TOKENS)]
    middle, last = [], []
    for at in steps:
        middle.append(model.experts("delta", model.delta(x[at], state, chunked)))
        last.append(model.experts("attn", model.attention(middle[-1], state, at)))
    for ours, other in zip((middle, last), theirs(c, weights, x)):
        # Their rule, their norms and their softmax compute in float32.
        np.testing.assert_allclose(np.concatenate(ours), other, rtol=0, atol=64 * 2.0**-24 * np.abs(other).max())
