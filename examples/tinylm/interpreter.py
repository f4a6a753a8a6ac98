#!/usr/bin/env python3
# ===- interpreter.py - What hk's interpreter says about tinylm ---------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Held-out bits per byte of tinylm.mlir by the reference interpreter.

Runs hk-interp on every window of heldout.bin and adds
`heldout_bits_per_byte_interpreter` to expected.json. The interpreter computes
in double between the rounding points, one operator after another, and knows
nothing of fusion or kernels. Takes some minutes; run it after expected.py.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import torch

import reference
from config import Config

EXAMPLE = pathlib.Path(__file__).parent


def interpret(command: list, folder: pathlib.Path, text: bytes):
    """The logits [len(text), 256] of one window."""
    numpy.save(folder / "ids.npy", numpy.array(list(text), numpy.int32))
    subprocess.run(command, check=True)
    return torch.from_numpy(numpy.load(folder / "out.0.npy"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("interpreter", help="path of hk-interp")
    options = parser.parse_args()
    config = Config()
    text = (EXAMPLE / "heldout.bin").read_bytes()
    window = config.context
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        command = [options.interpreter, EXAMPLE / "tinylm.mlir",
                   "--function=prefill", f"--output={folder}/out"]
        tensors = reference.load_safetensors(EXAMPLE / "model.safetensors")
        for name, tensor in tensors.items():
            numpy.save(folder / f"{name}.npy", tensor.float().numpy())
            command.append(f"--weight={name}={folder}/{name}.npy")
        shape = (1, window, config.kv_heads, config.head_dim)
        numpy.save(folder / "cache.npy", numpy.zeros(shape, numpy.float32))
        numpy.save(folder / "positions.npy",
                   numpy.arange(window, dtype=numpy.int32))
        numpy.save(folder / "kv_len.npy", numpy.array([window], numpy.int32))
        command += [f"--input={folder}/{name}.npy"
                    for name in ["ids", "positions", "kv_len"]
                    + ["cache"] * (2 * config.layers)]
        costs = []
        for begin in range(0, len(text) - window + 1, window):
            piece = text[begin:begin + window]
            logits = interpret(command, folder, piece)[:-1]
            costs.append(reference.bits(
                logits, reference.to_ids(piece[1:], "cpu")))
            print(f"{begin + window} bytes: "
                  f"{float(torch.cat(costs).mean()):.6f}", flush=True)

    path = EXAMPLE / "expected.json"
    answer = json.loads(path.read_text())
    prompts = answer.pop("prompts")  # Stays last.
    answer["heldout_bits_per_byte_interpreter"] = round(
        float(torch.cat(costs).mean()), 6)
    answer["prompts"] = prompts
    path.write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
