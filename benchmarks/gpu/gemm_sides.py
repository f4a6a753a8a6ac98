"""Times products of several compilers, or of several choices of one, beside cuBLAS.

gemm_sides.py FOLDER  FOLDER has gemm.mlir (model_shapes.py and few_rows.py write some) and a module
                      SIDE.so for each side, compiled from it for sm_90a; prints JSON, a line per
                      product: microseconds of each side and of PyTorch, the largest of the sides'
                      errors relative to f32 sums

Every product is a graph of calls over 400 MB of weights, or 12 matrices; two turns, of which the
quicker counts. A side that lacks a function is left out of its line. HK_HOME: see python/README.md.
"""

import json
import pathlib
import re
import sys

import gemm

BYTES, MATRICES = 4e8, 12
MOST_OPERATIONS = 1.2e12  # of a product; larger ones are gemm.py's


def measure(torch, programs, name):
    sides = gemm.Sides(torch, next(p for p in programs.values() if name in p.functions), name)
    if sides.flops() > MOST_OPERATIONS:
        return None
    matrix = sides.n * sides.k * (1 if sides.kind == "fp8" else 2)
    sets = [sides.operands() for _ in range(min(MATRICES, max(2, int(BYTES / matrix))))]
    row = {"product": name, "torch": gemm.chain(torch, [s[2] for s in sets])}
    error = 0.0
    for _ in range(2):
        for side, program in programs.items():
            if name not in program.functions:
                continue
            calls = []
            for inputs, _, _, outputs in sets:
                outputs[0].fill_(float("nan"))
                calls.append(program[name].bind(*inputs, out=outputs))
            row[side] = min(gemm.chain(torch, calls), row.get(side, float("inf")))
            error = max(error, gemm.error_of(sides, sets[0]))
    return {k: v if isinstance(v, str) else round(v, 2) for k, v in row.items()} | {"error": round(error, 6)}


def main():
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    folder = pathlib.Path(sys.argv[1]).resolve()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    programs = {path.stem: hk.load(path, "cuda:0") for path in sorted(folder.glob("*.so"))}
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    for name in re.findall(r"^func.func @(\w+)", (folder / "gemm.mlir").read_text(), re.M):
        if row := measure(torch, programs, name):
            print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
