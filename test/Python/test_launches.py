"""Kernels that a layer of an imported model launches, counted in bf16 for every target: what a
decode step pays per layer whatever its size. LIMITS is what may not grow; docs/models.md has the
table."""

import re
import subprocess

import pytest
from hk import _paths

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import zoo  # noqa: E402

GPUS = ("gfx942", "gfx950", "sm_90a")
TARGETS = (*GPUS, "host")
LIMITS = {"llama": 8, "smollm2": 8, "qwen2": 8, "qwen3": 8, "mistral": 8, "gemma2": 8,
          "gemma3": 8, "phi3": 8, "bert": 7, "distilbert": 7, "mixtral": 11, "qwen3_moe": 11,
          "qwen2_moe": 11, "glm4_moe": 11, "gpt_oss": 11,
          "deepseek_v3": 11, "deepseek_v3_moe": 14,
          "qwen3_5": 8, "qwen3_next": 11, "lfm2": 8}
# The gate behind attention is a part of its kernel.
GPU_LIMITS = {"qwen3_5": 6, "qwen3_next": 8}


def planned(mlir, target, *options):
    """What hk-compile says without compiling a kernel."""
    command = [_paths.tool("hk-compile"), mlir, f"--target={target}", "--emit=mlir",
               f"--weights={mlir.with_suffix('.safetensors')}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def launches(mlir, target, *options):
    """Of the whole function for any number of rows, and of its version for the fewest, which is
    what a decode step of one token runs: that has products split further, and more blocks that
    wait. Both are the same where there are no versions."""
    text = planned(mlir, target, "-o", "-", *options)
    bodies = {m[1]: len(re.findall(r"\bhk\.launch @", m[2])) for m in re.finditer(
        r"func\.func @(forward(?:__up_to_\d+)?)\((.*?)(?=\bfunc\.func |\Z)", text, re.S)}
    few = min(bodies, key=lambda name: int(name.rpartition("_")[2]) if "__" in name else 1 << 60)
    return bodies["forward"], bodies[few]


def imported(folder, name, **changes):
    path = folder / "m.mlir"
    hk.torch.export(zoo.make(name, **changes), dtype=torch.bfloat16).save(path)
    return path


def counted(folder, name, *options, **changes):
    path = imported(folder, name, **changes)
    return {target: launches(path, target, *options) for target in TARGETS}


# Of a decode step on GPUs, where blocks wait for others of their launch: MoE and MLA at most 12,
# a gated delta rule with experts 8 (test_a_delta_rule_layer; every second layer of this model is
# full attention).
DECODE = {"llama": 7, "mixtral": 8, "gpt_oss": 8, "deepseek_v3": 10, "deepseek_v3_moe": 11,
          "qwen3_next": 8.5}


@pytest.mark.parametrize("name", DECODE)
def test_launches_of_a_decode_step(name, tmp_path):
    few, many = (counted(tmp_path, name, **zoo.layers(name, count)) for count in (2, 4))
    per_layer = {target: (many[target][1] - few[target][1]) / 2 for target in TARGETS}
    print(f"{name}: {per_layer} launches per layer of a decode step")
    assert max(per_layer[target] for target in GPUS) <= DECODE[name]


def test_no_ordered_launches(tmp_path):
    """By an option, every launch begins when the one in front has ended."""
    path = imported(tmp_path, "mixtral")
    for target in GPUS:
        assert "_then_" in planned(path, target, "-o", "-")
        assert "_then_" not in planned(path, target, "-o", "-", "--no-order-launches")


@pytest.mark.parametrize(("name", "most"), [("qwen3_5", 8), ("qwen3_next", 11)])
def test_a_delta_rule_layer(name, most, tmp_path):
    """Norm, projections, convolution, rule with its gated norm, output; three of the MLP, or
    six and the norm of experts."""
    one, two = (counted(tmp_path, name, num_hidden_layers=n + 1,
                        layer_types=["linear_attention"] * n + ["full_attention"])
                for n in (1, 2))
    assert all(two[target][0] - one[target][0] <= most for target in TARGETS)
    assert all(two[target][1] - one[target][1] <= 8 for target in GPUS)


@pytest.mark.parametrize("name", LIMITS)
def test_launches_per_layer(name, tmp_path):
    few, many = (counted(tmp_path, name, **zoo.layers(name, count)) for count in (2, 4))
    per_layer = {target: (many[target][0] - few[target][0]) / 2 for target in TARGETS}
    print(f"{name}: {per_layer} launches per layer")  # pytest -s shows them.
    assert max(per_layer.values()) <= LIMITS[name]
    assert max(per_layer[target] for target in GPUS) <= GPU_LIMITS.get(name, LIMITS[name])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["qwen3_moe", "deepseek_v3_moe", "gpt_oss"])
def test_a_layer_of_experts(name, target, tmp_path):
    """From the norm behind the attention to the residual sum, each with why it is a launch."""
    text = planned(imported(tmp_path, name), target, "-o", "/dev/null", "--explain")
    order = re.search(r"launches of @forward: (.*)", text)[1].split(", ")
    kernels = {name: m for m in re.finditer(
        r"^  @(\w+) (\w+): ([\w,]+).*?(?:; also (.*))?\n(    its own launch: (.*)\n)?", text, re.M)
        for name in [m[1], *re.findall(r"@(\w+)", m[4] or "")]}
    does = [set(kernels[name][3].split(",")) for name in order]
    chosen = next(i for i, ops in enumerate(does) if "topk" in ops)
    norm = max(i for i in range(chosen) if "rms_norm" in does[i])
    total = next(i for i in range(chosen, len(does)) if "gather_rows" in does[i])
    layer = order[norm:total + 1]
    assert len(layer) <= 7
    for kernel in layer:
        assert re.search(r"\([a-z-]+\)", kernels[kernel][6] or ""), f"{kernel}: no reason"


MIXED = ["linear_attention"] * 3 + ["full_attention"]


@pytest.mark.parametrize(("name", "changes"), [
    ("deepseek_v3_moe", {"num_hidden_layers": 30}),
    ("qwen3_next", {"num_hidden_layers": 24, "layer_types": MIXED * 6})])
def test_explained_on_a_page(name, changes, tmp_path):
    """Thirty layers of latent attention, of which all but one have experts; delta rules and
    attention in turns."""
    text = planned(imported(tmp_path, name, **changes), "gfx942", "-o", "/dev/null", "--explain")
    assert text.count("\n") < 100
