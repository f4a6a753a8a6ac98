"""Times products of few rows with 4-bit weights on one GPU beside bf16 weights, hk's and cuBLAS's.

  codes.py FOLDER [ROWS..]   on the functions of codes.mlir (FOLDER/codes*.so); prints JSON, a line
                             per module and number of rows

Every side runs as a graph of calls over 400 MB of weights, so that none stays in the L2 cache:
medians of 7 replays, the sides in turns. Errors are relative to f32 products of the decoded
weights. HK_HOME: see python/README.md.
"""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import gemm

N, K = 28672, 4096
ROWS = (1, 16, 32)
FP4 = (0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6)


def nibbles(torch, packed):
    return torch.stack((packed & 15, packed >> 4), -1).flatten(-2)


def weights(torch, name):
    """Inputs behind x, and what they stand for, as bf16."""
    if name == "w16":
        w = torch.randn(N, K, device="cuda", dtype=torch.bfloat16) / 64
        return (w,), lambda: w
    codes = torch.randint(0, 256, (N, K // 2), device="cuda", dtype=torch.uint8)
    if name == "mx4":
        s = torch.randint(118, 126, (N, K // 32), device="cuda", dtype=torch.uint8)
        table = torch.tensor(FP4, device="cuda")
        return (codes, s), lambda: (table[nibbles(torch, codes).long()] *
                                    torch.exp2(s.float() - 127).repeat_interleave(32, 1)).bfloat16()
    s = (torch.rand(N, K // 128, device="cuda") / 64).bfloat16()
    z = torch.randint(0, 256, (N, K // 256), device="cuda", dtype=torch.uint8)
    return (codes, s, z), lambda: ((nibbles(torch, codes).float() -
                                    nibbles(torch, z).float().repeat_interleave(128, 1)) *
                                   s.float().repeat_interleave(128, 1)).bfloat16()


def chains(torch, program, m):
    """Of each side its graph, and the calls in it."""
    out, errors = {}, {}
    x = torch.randn(m, K, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(m, N, device="cuda", dtype=torch.bfloat16)
    for name in ("w4", "mx4", "w16"):
        size = N * K * (2 if name == "w16" else 0.5)
        sets = [weights(torch, name) for _ in range(max(2, round(4e8 / size)))]
        calls = [program[name].bind(x, *inputs, out=y) for inputs, _ in sets]
        calls[0]()
        good = x.float() @ sets[0][1]().float().T
        errors[name] = round(((y.float() - good).norm() / good.norm()).item(), 6)
        out[name] = gemm.graph_of(torch, calls, 4), 4 * len(calls), sets
        if name == "w16":
            peers = [lambda w=inputs[0]: torch.matmul(x, w.T, out=y) for inputs, _ in sets]
            out["cublas"] = gemm.graph_of(torch, peers, 4), 4 * len(peers), sets
    return out, errors


def replay_us(torch, graph):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    for module in sorted(pathlib.Path(sys.argv[1]).resolve().glob("codes*.so")):
        program = hk.load(module, "cuda:0")
        for m in map(int, sys.argv[2:] or ROWS):
            graphs, errors = chains(torch, program, m)
            times = {side: [] for side in graphs}
            for turn in range(8):
                for side, (graph, count, _) in graphs.items():
                    took = replay_us(torch, graph) / count
                    if turn:
                        times[side].append(took)
            row = {f"{side}_us": round(statistics.median(t), 2) for side, t in times.items()}
            print(json.dumps({"module": module.stem, "rows": m, **row, "errors": errors}), flush=True)
            del graphs
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
