"""Checks and times products of experts on one GPU, hk's two loops beside torch._grouped_mm.

  moe.py modules FOLDER          writes moe_blocks.mlir and moe_warp.mlir, which differ in the loop
                                 that hk.gemm_loop pins; compile each for sm_90a beside it (.so),
                                 or one of them
  moe.py time FOLDER [PREFIX..]  prints JSON, a line per product and number of tokens

Per line: the error of each loop relative to f32 sums per expert, and medians of 9 means of calls
that follow each other, the sides in turns. `up` gathers the rows of the tokens by the order of
the experts and has the gate in its epilogue; for torch that is three operators, compiled.
sorted_up and sorted_down are the same by ids sorted into blocks of 64 places of one expert, whose
results go where the ids say; torch does the work of up and down beside them.
HK_HOME: see python/README.md.
"""

import json
import pathlib
import statistics
import sys

SHAPES = {"mixtral": (8, 2, 4096, 14336), "qwen3": (128, 8, 2048, 768)}
TOKENS = (16, 512, 4096)
LOOPS = ("blocks", "warp")
PARTS = ("up", "down", "sorted_up", "sorted_down")
BLOCK = 64


def text(loop):
    out = 'module attributes {hk.gemm_loop = "%s"} {\n' % {"warp": "warp_specialised"}.get(loop, loop)
    for name, (e, k, h, i) in SHAPES.items():
        x, w, b, o = f"tensor<?x{h}xbf16>", f"tensor<{e}x{2 * i}x{h}xbf16>", f"tensor<{e + 1}xi32>", "tensor<?xi32>"
        wide, half = f"tensor<?x{2 * i}xbf16>", f"tensor<?x{i}xbf16>"
        v, y = f"tensor<{e}x{h}x{i}xbf16>", f"tensor<?x{h}xbf16>"
        out += f"""func.func @{name}_up(%x: {x}, %w: {w}, %bounds: {b}, %order: {o}) -> {half} {{
  %h = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k {k} : {x}, {w} groups {b} order {o} -> {wide}
  %g = hk.gated_activation silu %h : {wide} -> {half}
  return %g : {half}
}}
func.func @{name}_down(%x: {half}, %w: {v}, %bounds: {b}) -> {y} {{
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : {half}, {v} groups {b} -> {y}
  return %y : {y}
}}
func.func @{name}_sorted_up(%x: {x}, %w: {w}, %experts: {o}, %order: {o}) -> {half} {{
  %h = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block {BLOCK} top_k {k} : {x}, {w} groups {o} order {o} -> {wide}
  %g = hk.gated_activation silu %h : {wide} -> {half}
  return %g : {half}
}}
func.func @{name}_sorted_down(%x: {half}, %w: {v}, %experts: {o}, %order: {o}) -> {y} {{
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block {BLOCK} : {half}, {v} groups {o} order {o} -> {y}
  return %y : {y}
}}
"""
    return out + "}\n"


def expected(torch, rows, w, bounds, gate):
    parts = []
    for e, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        y = rows[begin:end].float() @ w[e].float().T
        if gate:
            a, b = y.bfloat16().float().chunk(2, -1)
            y = torch.nn.functional.silu(a) * b
        parts.append(y)
    return torch.cat(parts)


def sorted_blocks(torch, order, bounds, e):
    """The expert of each block, and the ids at its places, -1 for none."""
    counts = bounds[1:] - bounds[:-1]
    blocks = (counts + BLOCK - 1) // BLOCK
    most = (len(order) + e * (BLOCK - 1) + BLOCK - 1) // BLOCK
    first = (blocks.cumsum(0) - blocks) * BLOCK
    of = torch.repeat_interleave(torch.arange(e, device="cuda"), counts.long())
    ids = torch.full((most * BLOCK,), -1, dtype=torch.int32, device="cuda")
    ids[first[of] + torch.arange(len(order), device="cuda") - bounds[:-1][of]] = order
    experts = torch.full((most,), -1, dtype=torch.int32, device="cuda")
    used = torch.repeat_interleave(torch.arange(e, device="cuda"), blocks.long())
    experts[:len(used)] = used.int()
    return experts, ids


def mean_us(torch, call, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count * 1e3


def measure(torch, programs, name, tokens):
    shape, part = name.split("_", 1)
    e, k, h, i = SHAPES[shape]
    up, by_blocks = part.endswith("up"), part.startswith("sorted")
    ids = torch.rand(tokens, e, device="cuda").topk(k, -1).indices.flatten()
    order = ids.argsort(stable=True).int()
    bounds = torch.zeros(e + 1, dtype=torch.int32, device="cuda")
    bounds[1:] = ids.bincount(minlength=e).cumsum(0)
    w = torch.randn(e, *((2 * i, h) if up else (h, i)), device="cuda", dtype=torch.bfloat16) / 64
    x = torch.randn(tokens if up else tokens * k, h if up else i, device="cuda", dtype=torch.bfloat16)
    loops = list(programs)
    inputs = (x, w, bounds, order) if up else (x, w, bounds)
    if by_blocks:
        # Rows of the second product lie as the ids count, not as they are sorted.
        inputs = (x, w, *sorted_blocks(torch, order, bounds, e))
    out = {loop: torch.empty(tokens * k, i if up else h, device="cuda", dtype=torch.bfloat16) for loop in loops}
    calls = {loop: programs[loop][name].bind(*inputs, out=out[loop]) for loop in loops}

    def peer(x, w, ends, source):
        y = torch._grouped_mm(x[source] if up else x, w.mT, ends)
        if not up:
            return y
        a, b = y.chunk(2, -1)
        return torch.nn.functional.silu(a) * b
    ends, source, compiled = bounds[1:].contiguous(), order // k, torch.compile(peer)
    calls["torch"] = lambda: compiled(x, w, ends, source)
    for call in calls.values():
        call()
    rows = x[source] if up else x[order] if by_blocks else x
    good = expected(torch, rows, w, bounds.tolist(), up)
    if by_blocks:
        good = torch.empty_like(good).index_copy_(0, order.long(), good)
    row = {"product": name, "tokens": tokens}
    for loop in loops:
        row[f"{loop}_error"] = ((out[loop].float() - good).norm() / good.norm()).item()
    count = max(5, int(2e4 / max(mean_us(torch, calls["torch"], 3), 1)))
    times = {side: [] for side in calls}
    for turn in range(9):
        for side in list(calls)[::-1 if turn % 2 else 1]:
            times[side].append(mean_us(torch, calls[side], count))
    flops = 2 * tokens * k * h * i * (2 if up else 1)
    for side, own in times.items():
        row[f"{side}_us"] = statistics.median(own)
        row[f"{side}_TFLOPs"] = flops / row[f"{side}_us"] * 1e-6
    return {n: v if isinstance(v, str) else round(v, 6) for n, v in row.items()}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("modules", "time"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "modules":
        for loop in LOOPS:
            (folder / f"moe_{loop}.mlir").write_text(text(loop))
        return 0
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    programs = {loop: hk.load(folder / f"moe_{loop}.so", "cuda:0") for loop in LOOPS if (folder / f"moe_{loop}.so").exists()}
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    for name in (f"{s}_{p}" for s in SHAPES for p in PARTS):
        for tokens in TOKENS:
            if not sys.argv[3:] or name.startswith(tuple(sys.argv[3:])):
                print(json.dumps(measure(torch, programs, name, tokens)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
