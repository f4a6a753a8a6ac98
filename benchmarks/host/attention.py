"""Attention on this CPU against PyTorch's scaled_dot_product_attention, both in one process.

Usage: attention.py MODULE.so (hk-compile benchmarks/host/attention.mlir) [--threads N]
Prints, for each function, the best and the median time of hk and of PyTorch in bf16 and f32, and
how many times the faster of PyTorch's takes. Results are compared before.
"""

import argparse
import pathlib
import statistics
import sys
import time
import typing

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import hk  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=True)


def measure(calls: dict[str, typing.Callable], repeats: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            time.sleep(0.02)  # the threads of the side before spin for a while
            begin = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - begin) * 1e6)
    return times


def compare(function: typing.Any, kind: str, dtype: str, size: int, repeats: int) -> None:
    prefill = kind == "prefill"
    batch, rows, keys = (1, 1024, 1024) if prefill else (4, 1, 8192)
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, n, h, size).to(TYPES[dtype])
               for n, h in ((rows, 8), (keys, 2), (keys, 2)))
    calls: dict[str, typing.Callable] = {"hk": function.bind(q, k, v)}
    for name, other in TYPES.items():
        a = [x.to(other).transpose(1, 2).contiguous() for x in (q, k, v)]
        calls[f"torch {name}"] = lambda a=a: sdpa(*a, causal=prefill)
    got = function(q, k, v)
    got = torch.from_dlpack(got[0] if isinstance(got, (list, tuple)) else got).float()
    want = sdpa(*(x.float().transpose(1, 2) for x in (q, k, v)), causal=prefill).transpose(1, 2)
    error = float((got - want).abs().max())
    times = measure(calls, repeats)
    best = {n: min(t) for n, t in times.items()}
    peer = min(best["torch bf16"], best["torch f32"])
    text = ", ".join(f"{n} {best[n]:.0f} ({statistics.median(t):.0f})" for n, t in times.items())
    print(f"{kind} {dtype} D{size}: {text} us; {peer / best['hk']:.2f} x; error {error:.1e}",
          flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    module = hk.load(options.module, threads=options.threads)
    for kind in ("prefill", "decode"):
        for dtype in TYPES:
            for size in (64, 128):
                compare(getattr(module, f"{kind}_{dtype}_{size}"), kind, dtype, size,
                        options.repeats)


if __name__ == "__main__":
    main()
