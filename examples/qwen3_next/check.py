#!/usr/bin/env python3
# ===- check.py - qwen3_next against NumPy -------------------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Calls a compiled qwen3_next and compares every result with reference.py.

  check.py MODULE.so FOLDER FUNCTION TOKENS [hk-run options]

Two right implementations round at the same places and differ by what other sums make of that.
How much, is measured for every result: reference.py in f32, and in f32 with products that sum
backwards, beside float64, over DRAWS calls. An element may be off by twice the largest such
difference, and by one step of bf16 of its own where that is its type. The bounds that the
interpreter derives hold too (hk-run --check), but not of y: they allow a token other experts.
FOLDER takes the files. HK_HIP_LIBRARY and --device choose an emulated chip."""

import pathlib
import subprocess
import sys

import numpy as np

from config import Config
from inputs import draw_call, draw_weights, write_safetensors
from reference import Reference

INTEGERS = ("positions", "slots", "kv_len", "lines")
STATES = ("conv", "delta", "keys", "values")
DRAWS = 3


def evaluate(model: Reference, function: str, call: dict) -> dict:
    """y and the states afterwards."""
    after = {name: call[name].astype(model.kind) for name in STATES}
    if function == "prefill":
        state = {name: after[name][0] for name in STATES}
        y = model.pair(call["x"], state, call["positions"], chunked=True)
        return {"y": y} | {name: state[name][None] for name in STATES}
    y = np.zeros(call["x"].shape)
    for i, line in enumerate(call["lines"]):
        state = {name: after[name][line if name in ("conv", "delta") else i] for name in STATES}
        y[i] = model.pair(call["x"][i:i + 1], state, call["positions"][i:i + 1], chunked=False)[0]
        after["conv"][line] = state["conv"]
    return {"y": y} | after


def expected(c: Config, weights: dict, function: str, tokens: int):
    """A call, its results, and how far they may be off."""
    exact = Reference(c, weights)
    others = [Reference(c, weights, kind=np.float32, backwards=backwards) for backwards in (False, True)]
    apart = {}
    for seed in reversed(range(DRAWS)):
        call = draw_call(c, function, tokens, seed)
        values = evaluate(exact, function, call)
        for other in others:
            for name, x in evaluate(other, function, call).items():
                apart[name] = max(apart.get(name, 0), np.abs(x - values[name]).max())
    step = {name: 0 if name == "delta" else 2.0**-7 * np.abs(x) for name, x in values.items()}
    return call, values, {name: 2 * apart[name] + step[name] for name in values}


def read(path: pathlib.Path):
    x = np.load(path)
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x


def main() -> int:
    module, folder, function, tokens = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    c = Config()
    weights = draw_weights(c)
    call, values, allowed = expected(c, weights, function, tokens)
    write_safetensors(folder / "qwen3_next.safetensors", c, weights)
    command = ["hk-run", module, f"--function={function}", f"--weights={folder}/qwen3_next.safetensors",
               f"--check={pathlib.Path(__file__).parent / 'qwen3_next.mlir'}", f"--output={folder}"]
    for name, x in call.items():
        np.save(folder / f"in_{name}.npy", x.astype(np.int32 if name in INTEGERS else np.float32))
        command.append(f"--input={name}={folder}/in_{name}.npy")
    subprocess.run(command + sys.argv[5:], check=True)
    wrong = 0
    for name, want in values.items():
        off = np.abs(read(folder / f"{name}.npy") - want)
        bad = int((~(off <= allowed[name])).sum())
        print(f"numpy {name}: {'ok' if not bad else f'{bad} WRONG'}; largest difference {off.max():.3g}, "
              f"allowed {np.max(allowed[name]):.3g}, values up to {np.abs(want).max():.3g}")
        wrong += bad
    print("numpy: all agree" if not wrong else "numpy: WRONG")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
