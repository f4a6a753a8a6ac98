#!/usr/bin/env python3
# ===- expected.py - What PyTorch says about the shipped weights --------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Evaluates model.safetensors with reference.py and writes the answers.

expected.json holds the held-out bits per byte, and for each prompt the greedy
continuation with the gap between the two best logits at each step.
expected_logits.npy holds f32 logits [prompts, LOGIT_POSITIONS, 256] of the
last positions of each prompt.

`logit_bound` is what two correct implementations may differ by in one logit:
twice the largest difference of any logit of the held-out text (8 million of
them) when the arithmetic between the bf16 rounding points is f32 or f64.
"""

import argparse
import json
import pathlib

import numpy
import torch

import reference

# Prompts whose greedy continuations hang on no near tie between two bytes.
PROMPTS = (
    "They set out early in the morning, and",
    "And it came to pass, when the king",
    "Sir Thomas was",
    "Blessed is the man that",
)
GREEDY_BYTES = 128
LOGIT_POSITIONS = 4


def largest_difference(model, other, text: bytes, device: str) -> float:
    """The largest difference of any logit over all windows of `text`."""
    window = model.config.context
    count = len(text) // window
    ids = reference.to_ids(text[:count * window], device).view(count, window)
    worst = 0.0
    for batch in ids.split(8):
        first, second = (m.forward(batch, reference.Cache(m.config))
                         for m in (model, other))
        worst = max(worst, float((first - second).abs().max()))
    return worst


def write(directory: pathlib.Path, device: str) -> None:
    tensors = reference.load_safetensors(directory / "model.safetensors",
                                         device)
    held_out = (directory / "heldout.bin").read_bytes()
    model = reference.Model(tensors)
    exact = reference.Model(tensors, wide=torch.float64)
    prompts, logits = [], []
    with torch.inference_mode():
        bits = reference.bits_per_byte(model, held_out, device)
        exact_bits = reference.bits_per_byte(exact, held_out, device)
        difference = largest_difference(model, exact, held_out, device)
        for prompt in PROMPTS:
            text, gaps, prompt_logits = reference.greedy(
                model, prompt.encode(), GREEDY_BYTES, device)
            logits.append(prompt_logits[-LOGIT_POSITIONS:].cpu().numpy())
            prompts.append({"prompt": prompt, "greedy": text.decode("latin-1"),
                            "gaps": [round(gap, 5) for gap in gaps]})

    answer = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if "cuda" in device else "cpu",
        "heldout_bits_per_byte": round(bits, 6),
        "heldout_bits_per_byte_f64": round(exact_bits, 6),
        "logit_difference_f32_f64": round(difference, 5),
        "logit_bound": round(2 * difference, 4),
        "prompts": prompts,
    }
    with open(directory / "expected.json", "w") as file:
        json.dump(answer, file, indent=1)
        file.write("\n")
    numpy.save(directory / "expected_logits.npy",
               numpy.stack(logits).astype(numpy.float32))
    print(f"held out: {bits:.6f} bits per byte ({exact_bits:.6f} in f64); "
          f"largest logit difference {difference:.4f}")
    for entry in prompts:
        print(f"--- {entry['prompt']}[{entry['greedy']}] "
              f"(smallest gap {min(entry['gaps']):.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent,
                        help="where model.safetensors and heldout.bin are")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    write(options.dir, options.device)


if __name__ == "__main__":
    main()
