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

Two correct implementations differ by the bf16 roundings that another order of
f32 additions flips. How much that is, is measured on the held-out text (8
million logits) by computing in f64 instead of f32 between the same rounding
points:
  logit_bound              twice the largest difference of a logit
  heldout_bits_bound       four standard errors of the mean difference of the
                           bits of one byte
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


def compare_forms(model, exact, text: bytes, device: str) -> dict:
    """Bits per byte of both forms of the model, and how far they differ."""
    rows = zip(reference.window_logits(model, text, device),
               reference.window_logits(exact, text, device))
    bits, exact_bits, differences = [], [], []
    for (logits, targets), (exact_logits, _) in rows:
        bits.append(reference.bits(logits, targets))
        exact_bits.append(reference.bits(exact_logits, targets))
        differences.append(float((logits - exact_logits).abs().max()))
    bits, exact_bits = torch.cat(bits), torch.cat(exact_bits)
    error = float((bits - exact_bits).std()) / len(bits) ** 0.5
    return {
        "heldout_bits_per_byte": round(float(bits.mean()), 6),
        "heldout_bits_per_byte_f64": round(float(exact_bits.mean()), 6),
        "heldout_bits_bound": round(4 * error, 6),
        "logit_difference_f32_f64": round(max(differences), 5),
        "logit_bound": round(2 * max(differences), 4),
    }


def write(directory: pathlib.Path, device: str) -> None:
    tensors = reference.load_safetensors(directory / "model.safetensors",
                                         device)
    held_out = (directory / "heldout.bin").read_bytes()
    model = reference.Model(tensors)
    exact = reference.Model(tensors, wide=torch.float64)
    answer = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if "cuda" in device else "cpu",
    }
    prompts, logits = [], []
    with torch.inference_mode():
        answer.update(compare_forms(model, exact, held_out, device))
        for prompt in PROMPTS:
            text, gaps, prompt_logits = reference.greedy(
                model, prompt.encode(), GREEDY_BYTES, device)
            logits.append(prompt_logits[-LOGIT_POSITIONS:].cpu().numpy())
            prompts.append({"prompt": prompt, "greedy": text.decode("latin-1"),
                            "gaps": [round(gap, 5) for gap in gaps]})

    print(answer)
    answer["prompts"] = prompts
    with open(directory / "expected.json", "w") as file:
        json.dump(answer, file, indent=1)
        file.write("\n")
    numpy.save(directory / "expected_logits.npy",
               numpy.stack(logits).astype(numpy.float32))
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
