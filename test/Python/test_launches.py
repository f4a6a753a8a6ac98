"""Kernels that a layer of an imported model launches, counted in bf16 for gfx942: what a decode
step pays per layer whatever its size. LIMITS is what may not grow; python/README.md has the table."""

import re
import subprocess

import pytest
from hk import _paths

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import zoo  # noqa: E402

LIMITS = {"llama": 8, "smollm2": 8, "qwen2": 8, "qwen3": 8, "mistral": 8, "gemma2": 8,
          "gemma3": 8, "phi3": 8, "bert": 7, "distilbert": 7, "mixtral": 11, "qwen3_moe": 11,
          "qwen2_moe": 11, "glm4_moe": 11, "gpt_oss": 11,
          "deepseek_v3": 11, "deepseek_v3_moe": 14,
          "qwen3_5": 8.5, "qwen3_next": 11.5, "lfm2": 8}


def launches(mlir, target="gfx942"):
    """Of the whole function for any number of rows, which its versions for few rows split
    further: planned, so without compiling a kernel."""
    text = subprocess.run([_paths.tool("hk-compile"), mlir, f"--target={target}", "--emit=mlir",
                           f"--weights={mlir.with_suffix('.safetensors')}", "-o", "-"],
                          capture_output=True, text=True, check=True).stdout
    body = text.split("func.func @forward(", 1)[1].split("func.func ", 1)[0]
    return len(re.findall(r"\bhk\.launch @", body))


def imported(folder, name, **changes):
    path = folder / "m.mlir"
    hk.torch.export(zoo.make(name, **changes), dtype=torch.bfloat16).save(path)
    return launches(path)


def test_a_delta_rule_layer(tmp_path):
    """Norm, projections, convolution, rule with its gated norm, output; three of the MLP."""
    one, two = (imported(tmp_path, "qwen3_5", num_hidden_layers=n + 1,
                         layer_types=["linear_attention"] * n + ["full_attention"])
                for n in (1, 2))
    assert two - one <= 8


@pytest.mark.parametrize("name", LIMITS)
def test_launches_per_layer(name, tmp_path):
    def of(layers):
        return imported(tmp_path, name, **zoo.layers(name, layers))

    per_layer = (of(4) - of(2)) / 2
    print(f"{name}: {per_layer:g} launches per layer")  # pytest -s shows them.
    assert per_layer <= LIMITS[name]
