"""Times the gated delta rule on one GPU beside a copy of as many bytes and PyTorch.

  gated_delta.py FOLDER    FOLDER has libhk_runtime.so.0 and gated_delta.so (gated_delta.mlir for
                           sm_90a); HK_HOME or a build folder as python/README.md says

Decode: one token of 1, 16, 64 and 256 sequences; the peer is PyTorch's formulas compiled
(torch.compile). A whole decode step, projections to gated norm in one launch: no peer; its time
beside that of the recurrence is what the rest costs. A time of these is that of kernels: CUDA
graphs of many calls, over so many states that no cache holds them, each side in turn, as
benchmarks/rowwise/gpu.py takes it. Prefill: one sequence of 2,048, 8,192 and 32,768 tokens through
the chunk operators; no peer; medians of 15 calls by events. Prints a JSON line each.
"""

import json
import pathlib
import statistics
import sys


ROOT = pathlib.Path(__file__).resolve().parents[2]
COLD = 240_000_000  # bytes of states that calls in turn work on


def by_events(torch, call, rounds=15):
    times = []
    for _ in range(3 + rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return round(statistics.median(times[3:]), 2)


def by_graphs(calls, rounds=3):
    """Microseconds of a call of each side, given as calls that differ in their states."""
    from gpu import timed

    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, side in calls.items():
            times[name].append(timed(side))
    return {f"{name}_us": round(statistics.median(t), 2) for name, t in times.items()}


def draw(torch, *shape, dtype=None):
    return torch.randn(shape, device="cuda", dtype=dtype or torch.bfloat16)


def recurrent(torch, q, k, v, a, b, s):
    """One token; the state is updated in place."""
    def unit(x):
        x = x.float().repeat_interleave(2, 1)
        return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
    q, k, v = unit(q[:, 0]), unit(k[:, 0]), v[:, 0].float()
    s *= torch.exp(-a[:, 0].abs())[..., None, None]
    d = torch.sigmoid(b[:, 0])[..., None] * (v - (s * k[..., None]).sum(-2))
    s += k[..., None] * d[..., None, :]
    return (s * (q * 128**-0.5)[..., None]).sum(-2).bfloat16()[:, None]


def decode(torch, program, n, compiled):
    f32, sets = torch.float32, max(1, -(-COLD // (n * 32 * 128 * 128 * 4)))
    x = [draw(torch, n, 1, 16, 128), draw(torch, n, 1, 16, 128), draw(torch, n, 1, 32, 128),
         draw(torch, n, 1, 32, dtype=f32), draw(torch, n, 1, 32, dtype=f32)]
    states = [draw(torch, n, 32, 128, 128, dtype=f32) for _ in range(sets)]
    ours, theirs, other = states[0].clone(), states[0].clone(), torch.empty_like(states[0])
    got, expected = program.decode(*x, ours), recurrent(torch, *x, theirs)
    got = torch.from_dlpack(got[0] if isinstance(got, tuple) else got)
    error = ((got.float() - expected.float()).norm() / expected.float().norm()).item()
    row = by_graphs({"hk": [program.decode.bind(*x, s) for s in states],
                     "copy": [lambda s=s: other.copy_(s) for s in states],
                     "torch_compile": [lambda s=s: compiled(*x, s) for s in states]})
    row["state_TBps"] = round(2 * states[0].numel() * 4 / row["hk_us"] * 1e-6, 3)
    row["of_copy"] = round(row["copy_us"] / row["hk_us"], 3)
    print(json.dumps({"decode": n, **row, "error": error}), flush=True)


def decode_layer(torch, program, n):
    f32, sets = torch.float32, max(1, -(-COLD // (n * 32 * 128 * 128 * 4)))
    x = [draw(torch, n, 12288), draw(torch, n, 64), draw(torch, 8192, 4), draw(torch, 32, dtype=f32),
         draw(torch, 32, dtype=f32), draw(torch, 128)]
    line = torch.arange(n, device="cuda", dtype=torch.int32)
    states = [(draw(torch, n, 3, 8192), draw(torch, n, 32, 128, 128, dtype=f32)) for _ in range(sets)]
    other = torch.empty_like(states[0][1])
    row = by_graphs({"hk": [program.decode_layer.bind(*x, *s, line) for s in states],
                     "copy": [lambda s=s: other.copy_(s[1]) for s in states]})
    print(json.dumps({"decode_layer": n, **row, "of_copy": round(row["copy_us"] / row["hk_us"], 3)}), flush=True)


def main():
    import torch
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benchmarks" / "rowwise")]
    import hk
    program = hk.load(pathlib.Path(sys.argv[1]) / "gated_delta.so", "cuda:0")
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    compiled = torch.compile(lambda *x: recurrent(torch, *x))
    for n in (1, 16, 64, 256):
        decode(torch, program, n, compiled)
    for n in (1, 16, 64, 256):
        decode_layer(torch, program, n)
    for t in (2048, 8192, 32768):
        x = [draw(torch, 1, t, 16, 128), draw(torch, 1, t, 16, 128), draw(torch, 1, t, 32, 128),
             draw(torch, 1, t, 32, dtype=torch.float32), draw(torch, 1, t, 32, dtype=torch.float32)]
        step = program.prefill.bind(*x, torch.zeros(1, 32, 128, 128, device="cuda"))
        print(json.dumps({"prefill": t, "hk_us": by_events(torch, step)}), flush=True)


if __name__ == "__main__":
    main()
