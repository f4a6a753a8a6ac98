# ===- rowwise.py - Random row-wise graphs, run and compared ---------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random graphs without matrix products are compiled, fused, and run, on the host
# unless told otherwise; every result must be within the bound that the reference interpreter
# derives for it. One compilation holds many graphs.
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import graphs

FLOATS = {"f32": np.float32, "f16": np.float16}
RAW = {"bf16": np.uint16, "i8": np.int8, "i1": np.uint8, "i32": np.int32, "i64": np.int64}


class RowGraph(graphs.Graph):
    def matmul(self):
        self.unary()


def argument(rng, name, kind):
    """Values for one argument; indices stay small and may be out of range."""
    *shape, element = kind.split("x")
    shape = [graphs.TOKENS if s == "?" else int(s) for s in shape]
    if element in ("i32", "i64"):
        return rng.permutation(int(np.prod(shape)) + 3)[:int(np.prod(shape))].reshape(shape) \
            .astype(RAW[element]) - 1
    if element == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    values = rng.standard_normal(shape).astype(np.float32)
    if element == "bf16":  # so that the interpreter and the kernel see the same
        bits = values.view(np.uint32) & np.uint32(0xFFFF0000)
        values = bits.view(np.float32)
    elif element.startswith("f8"):
        values = np.round(values * 2) / 2
    elif element == "f16":
        values = values.astype(np.float16).astype(np.float32)
    return values


def decode(raw, element):
    if element == "bf16" and raw.dtype == np.uint16:
        return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if element.startswith("f8") and raw.dtype == np.uint8:
        sign = np.where(raw & 0x80, -1.0, 1.0)
        exponent, mantissa = (raw >> 3) & 15, raw & 7
        value = np.where(exponent == 0, mantissa * 2.0**-9,
                         (1 + mantissa / 8) * 2.0**(exponent.astype(int) - 7))
        return sign * np.where((raw & 0x7F) == 0x7F, np.nan, value)
    return raw.astype(np.float64)


def compare(folder, name, signature, seed, device, outs):
    """What is wrong with one function, or None."""
    args, results = signature
    rng = np.random.default_rng(seed)
    run = ["hk-run", f"{folder}/m.so", f"--function={name}", f"--device={device}",
           f"--output={folder}"]
    reference = ["hk-interp", f"{folder}/m.mlir", f"--function={name}", f"--output={folder}/ref"]
    states = []
    for i, (arg, kind, state) in enumerate(args):
        values = argument(rng, arg, kind)
        np.save(f"{folder}/in{i}.npy", values)
        run.append(f"--input={arg[1:]}={folder}/in{i}.npy")
        reference.append(f"--input={folder}/in{i}.npy")
        if state:
            states.append(arg[1:])
    for command in (run, reference):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"{command[0]} failed ({done.returncode}): {done.stderr[:600]}"
    states, outs = iter(states), iter(outs)
    for i, kind in enumerate(results):
        element = kind.split("x")[-1]
        value, bound = np.load(f"{folder}/ref.{i}.npy"), np.load(f"{folder}/ref.{i}.bound.npy")
        if i < len([a for a in args if a[2]]):
            path = f"{folder}/{next(states)}.npy"
        else:
            path = f"{folder}/{next(outs)}.npy"
        got = decode(np.load(path), element).reshape(value.shape)
        with np.errstate(invalid="ignore"):
            good = (np.abs(got - value) <= bound) | (got == value) \
                | (np.isnan(got) & np.isnan(value)) | ~np.isfinite(bound)
        if not good.all():
            at = tuple(np.argwhere(~good)[0])
            return (f"result {i} ({kind}): {int((~good).sum())} of {good.size} elements outside, first "
                    f"{at}: {got[at]} expected {value[at]} within {bound[at]}")
    return None


def compare_all(folder, text, target, device, *options):
    """Compiles the module `text` in `folder` and compares every function: yields its
    name, arguments, results and what is wrong with it, if anything."""
    with open(f"{folder}/m.mlir", "w") as file:
        file.write(text)
    done = subprocess.run(["hk-compile", f"{folder}/m.mlir", "-o", f"{folder}/m.so",
                           f"--target={target}", *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"hk-compile failed ({done.returncode}): {done.stderr[:3000]}")
    info = subprocess.run(["hk-run", "--info", f"{folder}/m.so"], capture_output=True, text=True)
    outputs = {f["name"]: [a["name"] for a in f["arguments"] if a["role"] == "output"]
               for f in json.loads(info.stdout)["functions"]}
    for match in re.finditer(r"func\.func @(\w+)\((.*)\) -> \((.*)\) \{", text):
        name = match[1]
        args = re.findall(r"(%\w+): tensor<([^>]*)>( \{hk\.state\})?", match[2])
        results = re.findall(r"tensor<([^>]*)>", match[3])
        yield name, args, results, compare(folder, name, (args, results), int(name[1:]), device,
                                           outputs[name])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--ops", type=int, default=14)
    parser.add_argument("--target", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--keep", help="folder to leave everything in")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or folder
        os.makedirs(folder, exist_ok=True)
        text = "module {\n"
        for seed in range(options.first, options.first + options.seeds):
            graph = RowGraph(seed * 31 + 5, 2 + seed % options.ops, seed % 5 < 3)
            text += graph.text(f"f{seed}")
        text += "}\n"
        for name, _, _, error in compare_all(folder, text, options.target, options.device):
            if error:
                failures += 1
                print(f"{name}: {error}")
    print(f"{options.seeds} graphs, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
