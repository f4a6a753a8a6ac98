"""Times products with 4- and 8-bit weights on one GPU beside hk's and cuBLAS's with bf16 weights.

  narrow.py modules FOLDER [NxK..]        writes narrow_NxK.mlir, a function per format; compile each
                                          for sm_90a beside it (.so), or narrow_NxK-PART.mlir with
                                          some of the functions
  narrow.py time FOLDER ROWS [PREFIX..]   ROWS as 1,16,64; prints JSON, a line per module and number
                                          of rows: microseconds of each side and errors

Formats: w16; i4 and ui4 in groups of 128 with scales of bf16, ui4 with zero points; mx4, fp4 with
e8m0 for each 32; i8 with a scale per column, i8g in groups of 128; f8 with a scale per column, f8b
with one for each 128x128, applied to sums as hk.matmul's `scales` are, the others by hk.dequantize.
Every side runs as a graph of calls over 400 MB of weights, so that none stays in the L2 cache:
medians of 7 replays, the sides in turns. Errors are relative to f32 products of the decoded
weights. HK_HOME: see python/README.md.
"""

import json
import pathlib
import re
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import codes
import gemm

SIZES = ("4096x4096", "14336x4096", "4096x14336", "28672x4096", "2048x768", "7168x2048")
BITS = {"w16": 16, "i4": 4, "ui4": 4, "mx4": 4, "i8": 8, "i8g": 8, "f8": 8, "f8b": 8}


def function(name, n, k):
    x, y, t = f"tensor<?x{k}xbf16>", f"tensor<?x{n}xbf16>", f"tensor<{n}x{k}x%s>"
    groups = f"tensor<{n}x{k // 128}x%s>"
    element, scales, zeros, group = {
        "w16": ("bf16", "", "", ""), "i4": ("i4", groups % "bf16", "", " group 128"),
        "ui4": ("ui4", groups % "bf16", groups % "ui4", " group 128"),
        "mx4": ("f4E2M1FN", f"tensor<{n}x{k // 32}xf8E8M0FNU>", "", ""),
        "i8": ("i8", f"tensor<{n}x1xf32>", "", f" group {k}"), "i8g": ("i8", groups % "bf16", "", " group 128"),
        "f8": ("f8E4M3FN", f"tensor<{n}x1xf32>", "", f" group {k}"),
        "f8b": ("f8E4M3FN", f"tensor<{n // 128}x{k // 128}xf32>", "", "")}[name]
    w, inputs = t % element, [("s", scales), ("z", zeros)]
    inputs = [(a, t) for a, t in inputs if t]
    head = "".join(f", %{a}: {t}" for a, t in [("w", w)] + inputs)
    body, right, scaled = "", ("%w", w), ("", "")
    if name == "f8b":
        scaled = " scales (none, %s)", f" scales (none, {scales})"
    elif inputs:
        right = "%d", t % "bf16"
        body = (f"  %d = hk.dequantize %w{''.join(f', %{a}' for a, _ in inputs)}{group} : "
                f"{', '.join([w] + [t for _, t in inputs])} -> {right[1]}\n")
    return (f"func.func @{name}(%x: {x}{head}) -> {y} {{\n{body}"
            f"  %y = hk.matmul %x, {right[0]}{scaled[0]} transpose_b : {x}, {right[1]}{scaled[1]} -> {y}\n"
            f"  return %y : {y}\n}}\n")


def weights(torch, name, n, k):
    """Inputs behind x, and what they stand for, as bf16."""
    def draw(low, high, *shape, dtype=torch.uint8):
        return torch.randint(low, high, shape, device="cuda", dtype=dtype)

    def wide(scales, depth=128):
        return scales.float().repeat_interleave(depth, 1)[:, :k]
    if name == "w16":
        w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16) / 64
        return (w,), lambda: w
    if BITS[name] == 4:
        w = draw(0, 256, n, k // 2)
        if name == "mx4":
            s = draw(118, 126, n, k // 32)
            table = torch.tensor(codes.FP4, device="cuda")
            return (w, s), lambda: (table[codes.nibbles(torch, w).long()] *
                                    torch.exp2(s.float() - 127).repeat_interleave(32, 1)).bfloat16()
        s = (torch.rand(n, k // 128, device="cuda") / 64).bfloat16()
        if name == "i4":
            return (w, s), lambda: (((codes.nibbles(torch, w) ^ 8).float() - 8) * wide(s)).bfloat16()
        z = draw(0, 256, n, k // 256)
        return (w, s, z), lambda: ((codes.nibbles(torch, w).float() -
                                    codes.nibbles(torch, z).float().repeat_interleave(128, 1)) * wide(s)).bfloat16()
    w = draw(-128, 128, n, k, dtype=torch.int8)
    if name.startswith("f8"):
        w = (torch.randn(n, k, device="cuda", dtype=torch.bfloat16) * 16).to(torch.float8_e4m3fn)
    if name == "i8g":
        s = (torch.rand(n, k // 128, device="cuda") / 512).bfloat16()
        return (w, s), lambda: (w.float() * wide(s)).bfloat16()
    if name == "f8b":
        s = torch.rand(n // 128, k // 128, device="cuda") / 512
        return (w, s), lambda: w.float() * wide(s).repeat_interleave(128, 0)
    s = torch.rand(n, 1, device="cuda") / 512
    return (w, s), lambda: (w.float() * s).bfloat16()


def chains(torch, sides, m, n, k):
    """Of each side its graph, and the calls in it."""
    out, errors = {}, {}
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    for side, name, call in sides:
        sets = [weights(torch, name, n, k) for _ in range(min(40, max(2, round(4e8 / (n * k * BITS[name] / 8)))))]
        calls = [call(x, inputs, y) for inputs, _ in sets]
        calls[0]()
        good = x.float() @ sets[0][1]().float().T
        errors[side] = round(((y.float() - good).norm() / good.norm()).item(), 6)
        repeat = max(1, 40 // len(calls))
        # The graph reads what the calls hold: operands, and memory of their own.
        out[side] = gemm.graph_of(torch, calls, repeat), repeat * len(calls), (calls, x, y)
    return out, errors


def sides_of(torch, hk, folder, size, prefixes):
    """Side, format, call maker of all modules of a size."""
    sides = [("cublas", "w16", lambda x, inputs, y: lambda: torch.matmul(x, inputs[0].T, out=y))]
    for path in sorted(folder.glob(f"narrow_{size}*.so")):
        program, part = hk.load(path, "cuda:0"), path.stem[len(f"narrow_{size}"):]
        text = path.with_suffix(".mlir").read_text()
        for name in re.findall(r"^func.func @(\w+)", text, re.M):
            if not prefixes or name.startswith(tuple(prefixes)):
                sides.append((name + part, name, lambda x, inputs, y, f=program[name]: f.bind(x, *inputs, out=y)))
    return sides


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("modules", "time"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "modules":
        for size in sys.argv[3:] or SIZES:
            n, k = map(int, size.split("x"))
            (folder / f"narrow_{size}.mlir").write_text("".join(function(f, n, k) for f in BITS))
        return 0
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    sizes = sorted({re.match(r"narrow_(\d+x\d+)", p.stem)[1] for p in folder.glob("narrow_*.so")})
    for size in sizes:
        n, k = map(int, size.split("x"))
        sides = sides_of(torch, hk, folder, size, sys.argv[4:])
        for m in map(int, sys.argv[3].split(",")):
            graphs, errors = chains(torch, sides, m, n, k)
            times = {side: [] for side in graphs}
            for turn in range(8):
                for side, (graph, count, _) in graphs.items():
                    took = codes.replay_us(torch, graph) / count
                    if turn:
                        times[side].append(took)
            row = {side: round(statistics.median(t), 2) for side, t in times.items()}
            print(json.dumps({"size": size, "rows": m, "us": row, "errors": errors}), flush=True)
            del graphs
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
