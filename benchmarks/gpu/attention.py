"""Checks and times hk's attention on one GPU beside cuDNN and FlashAttention, in one process.

  attention.py run FOLDER OUT.tar.xz  the calls of test/EndToEnd/attention-bulk.mlir on cuda:0;
                                      FOLDER has it and its module (--target=host,sm_90a)
  attention.py check FOLDER OUT       compares the results with the interpreter, where the
                                      compiler is
  attention.py behind FOLDER          caches with NaN behind the lengths, against float32
  attention.py time FOLDER [PREFIX..] hk and PyTorch's two backends on the functions of
                                      attention.mlir (attention.so) whose names begin so; a line
                                      of JSON for each

Every side is a graph of some calls, the sides' replays take turns, times are medians. Decode
steps go over caches of 400 MB and more, so that nothing stays in the L2 cache, and are compared
with a copy of 2 GB. HK_HOME: see python/README.md.
"""

import json
import pathlib
import re
import statistics
import sys

import gemm

CACHE_BYTES = 4e8
REPLAYS = 15


def load(folder, name):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import hk

    return hk.load(folder / name, "cuda:0")


def take_turns(torch, sides):
    """Median microseconds of a call of each side, a list of calls on different operands."""
    graphs, each = {}, {}
    for name, calls in sides.items():
        calls[0]()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        calls[0]()
        last.record()
        last.synchronize()
        repeat = max(1, int(2e-3 / (first.elapsed_time(last) * 1e-3) / len(calls)))
        each[name] = repeat * len(calls)
        graphs[name] = gemm.graph_of(torch, calls, repeat)
    times = {name: [] for name in sides}
    for _ in range(REPLAYS + 2):
        for name, graph in graphs.items():
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            times[name].append(first.elapsed_time(last) * 1e3 / each[name])
    return {name: statistics.median(t[2:]) for name, t in times.items()}


class Case:
    """A function of attention.mlir, its operands and both sides."""

    def __init__(self, torch, program, name):
        self.torch, self.name, self.function = torch, name, program[name]
        self.mask, *sizes = name.split("_")
        self.b, self.h, self.hk, self.sq, self.sk, self.d, self.dv = map(int, sizes)

    def operands(self):
        torch = self.torch
        values = []
        for argument in self.function.inputs:
            if argument.dtype == "i32":
                values.append(self.integers(argument))
            else:
                values.append(torch.randn(argument.shape, device="cuda", dtype=torch.bfloat16))
        return values

    def integers(self, argument):
        torch = self.torch
        if len(argument.shape) == 1:
            return torch.full(argument.shape, self.sk, device="cuda", dtype=torch.int32)
        pages = argument.shape[0] * argument.shape[1]
        return torch.randperm(pages, device="cuda").to(torch.int32).view(argument.shape)

    def ours(self, operands):
        torch = self.torch
        out = [torch.full(a.shape, float("nan"), device="cuda", dtype=torch.bfloat16) for a in self.function.outputs]
        return self.function.bind(*operands, out=out), out

    def peer(self, operands, backend):
        torch = self.torch
        from torch.nn.attention import sdpa_kernel

        q, k, v = (x.transpose(1, 2) for x in operands[:3])

        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=self.mask == "causal", enable_gqa=self.h != self.hk)
        return call

    def expected(self, operands):
        """In float32, of the first sequence's first heads."""
        q, k, v = (x[0, :, :1].float() for x in operands[:3])
        s = (q[:, 0] @ k[:, 0].T) * self.d ** -0.5
        if self.mask == "causal":
            s = s.masked_fill(~self.torch.ones_like(s, dtype=self.torch.bool).tril(self.sk - self.sq), float("-inf"))
        return s.softmax(-1) @ v[:, 0]

    def flops(self):
        pairs = self.sq * self.sk / (2 if self.mask == "causal" else 1)
        return 2 * self.b * self.h * pairs * (self.d + self.dv)

    def cache_bytes(self):
        return self.b * self.sk * self.hk * (self.d + self.dv) * 2


def peers_of(torch, case, sets):
    from torch.nn.attention import SDPBackend

    sides = {}
    if case.mask == "paged":
        return sides
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        calls = [case.peer(s, backend) for s in sets]
        try:
            calls[0]()
            sides[name] = calls
        except RuntimeError as error:
            print(f"{case.name}: {name}: {str(error).splitlines()[0]}", flush=True)
    return sides


def measure_case(torch, case, copy_rate):
    decode = case.sq == 1
    sets = [case.operands() for _ in range(max(2, int(CACHE_BYTES / case.cache_bytes())) if decode else 1)]
    ours = [case.ours(s) for s in sets]
    times = take_turns(torch, {"hk": [call for call, _ in ours], **peers_of(torch, case, sets)})
    row = {"attention": case.name, **{f"{name}_us": round(t, 2) for name, t in times.items()}}
    if decode:
        row["hk_of_copy"] = round(case.cache_bytes() / times["hk"] * 1e-6 / copy_rate, 4)
    else:
        for name, t in times.items():
            row[f"{name}_TFLOPs"] = round(case.flops() / t * 1e-6, 1)
    best = min((t for name, t in times.items() if name != "hk"), default=None)
    if best:
        row["of_faster_peer"] = round(best / times["hk"], 3)
    if case.mask != "paged":
        got, want = ours[0][1][0][0, :, 0].float(), case.expected(sets[0])
        row["error"] = round(((got - want).norm() / want.norm()).item(), 6)
    return row


def copy_rate(torch):
    """TB/s, read and written."""
    a = torch.empty(1 << 30, device="cuda", dtype=torch.int8)
    b, times = torch.empty_like(a), []
    for _ in range(REPLAYS):  # In a graph it would be a node of its own kind, and slower.
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        b.copy_(a)
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) * 1e3)
    return 2 * a.numel() / statistics.median(times) * 1e-6


def measure(folder, prefixes):
    import torch

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    program = load(folder, "attention.so")
    rate = copy_rate(torch)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "cudnn": torch.backends.cudnn.version(), "copy_TBps": round(rate, 3)}))
    for name in re.findall(r"^func.func @(\w+)", (folder / "attention.mlir").read_text(), re.M):
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        print(json.dumps(measure_case(torch, Case(torch, program, name), rate)), flush=True)
        torch.cuda.empty_cache()
    return False


def behind(folder):
    """What a cache holds behind a sequence's keys does not matter."""
    import torch

    program = load(folder, "attention-bulk.so")
    function, failed = program["cache"], False
    for sq in (64, 130, 200):
        shapes = [[d if isinstance(d, int) and d >= 0 else sq for d in a.shape] for a in function.inputs]
        q, k, v = (torch.randn(s, device="cuda", dtype=torch.bfloat16) for s in shapes[:3])
        lengths = torch.tensor([400, 161, 0], device="cuda", dtype=torch.int32)
        sink = torch.randn(shapes[4], device="cuda")
        results = []
        for fill in (0.0, float("nan")):
            for b, n in enumerate(lengths.tolist()):
                k[b, n:] = fill
                v[b, n:] = fill
            out = function(q, k, v, lengths, sink)
            results.append([torch.from_dlpack(x).clone() for x in out])
        same = all(torch.equal(x, y) for x, y in zip(*results))
        finite = bool(torch.isfinite(results[1][0].float()).all())
        print(json.dumps({"behind": sq, "same": same, "finite": finite}), flush=True)
        failed |= not (same and finite)
    return failed


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("run", "check", "behind", "time"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "time":
        return measure(folder, sys.argv[3:])
    if sys.argv[1] == "behind":
        return behind(folder)
    return {"run": gemm.run, "check": gemm.check}[sys.argv[1]](folder, sys.argv[3], "attention-*.mlir")


if __name__ == "__main__":
    sys.exit(main())
