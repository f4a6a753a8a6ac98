"""Times the gated delta rule on one GPU beside a copy of as many bytes and PyTorch.

  gated_delta.py FOLDER    FOLDER has libhk_runtime.so.0 and gated_delta.so (gated_delta.mlir for
                           sm_90a); HK_HOME or a build folder as python/README.md says

Decode: one token of 1, 16, 64 and 256 sequences; the peer is PyTorch's formulas compiled
(torch.compile). A whole decode step, projections to gated norm in one launch: no peer; its time
beside that of the recurrence is what the rest costs. Prefill: one sequence of 2,048, 8,192 and 32,768 tokens through the six chunk
operators; no peer. Medians of 15 calls by events, both sides in turns; prints a JSON line each.
"""

import json
import pathlib
import statistics
import sys


def timed(torch, call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def medians(torch, calls, rounds=15):
    for call in calls.values():
        for _ in range(3):
            call()
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(torch, call))
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


def main():
    import torch
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import hk
    program = hk.load(pathlib.Path(sys.argv[1]) / "gated_delta.so", "cuda:0")
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    compiled = torch.compile(lambda *x: recurrent(torch, *x))
    for n in (1, 16, 64, 256):
        x = [draw(torch, n, 1, 16, 128), draw(torch, n, 1, 16, 128), draw(torch, n, 1, 32, 128),
             draw(torch, n, 1, 32, dtype=torch.float32), draw(torch, n, 1, 32, dtype=torch.float32)]
        s = draw(torch, n, 32, 128, 128, dtype=torch.float32)
        ours, theirs, other = s.clone(), s.clone(), torch.empty_like(s)
        step = program.decode.bind(*x, ours)
        got, expected = step(), recurrent(torch, *x, theirs)
        got = torch.from_dlpack(got[0] if isinstance(got, tuple) else got)
        error = ((got.float() - expected.float()).norm() / expected.float().norm()).item()
        row = medians(torch, {"hk": step, "copy": lambda: other.copy_(s), "torch_compile": lambda: compiled(*x, theirs)})
        row["state_TBps"] = round(2 * s.numel() * 4 / row["hk_us"] * 1e-6, 3)
        row["of_copy"] = round(row["copy_us"] / row["hk_us"], 3)
        print(json.dumps({"decode": n, **row, "error": error}), flush=True)
    for n in (1, 16, 64, 256):
        f32 = torch.float32
        x = [draw(torch, n, 12288), draw(torch, n, 64), draw(torch, 8192, 4), draw(torch, 32, dtype=f32), draw(torch, 32, dtype=f32),
             draw(torch, 128), draw(torch, n, 3, 8192), draw(torch, n, 32, 128, 128, dtype=f32),
             torch.arange(n, device="cuda", dtype=torch.int32)]
        step, other = program.decode_layer.bind(*x), torch.empty_like(x[7])
        row = medians(torch, {"hk": step, "copy": lambda: other.copy_(x[7])})
        print(json.dumps({"decode_layer": n, **row, "of_copy": round(row["copy_us"] / row["hk_us"], 3)}), flush=True)
    for t in (2048, 8192, 32768):
        x = [draw(torch, 1, t, 16, 128), draw(torch, 1, t, 16, 128), draw(torch, 1, t, 32, 128),
             draw(torch, 1, t, 32, dtype=torch.float32), draw(torch, 1, t, 32, dtype=torch.float32)]
        step = program.prefill.bind(*x, torch.zeros(1, 32, 128, 128, device="cuda"))
        print(json.dumps({"prefill": t, **medians(torch, {"hk": step}, 5)}), flush=True)


if __name__ == "__main__":
    main()
