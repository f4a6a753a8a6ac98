"""Checks and times hk's matrix products on one GPU beside cuBLAS, in one process.

  gemm.py run FOLDER OUT.tar.xz  the calls of test/EndToEnd/gemm-bulk.mlir and gemm-skinny.mlir
                                 on cuda:0; FOLDER has both and their modules
                                 (--target=host,sm_90a --split-k=1)
  gemm.py check FOLDER OUT       compares the results with the interpreter, where the compiler is
  gemm.py time FOLDER [PREFIX..] hk and PyTorch on the functions of gemm.mlir (gemm.so) whose
                                 names begin so; prints JSON, a line per product

Times: rested is the median over 5 starts after a pause of the mean of 4 calls, below the power
limit's reaction; steady the median of 3 means over 0.25 s, each side warmed with itself first,
in turns. Products with few rows run as a graph of calls over 400 MB of weights, as in a decode
step, so that nothing stays in the L2 cache; those below 100 GFLOP as a graph of calls, too.
HK_HOME: see python/README.md.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

FEW_ROWS = 64
SMALL_FLOPS = 1e11
F8_MAX = 448.0


def calls(folder, pattern):
    """Source and options of every call that the tests make."""
    for source in sorted(folder.glob(pattern)):
        for options in re.findall(r"^// RUN: hk-run %t.so --check=%s (.*)$", source.read_text(), re.M):
            yield source, options.split()


def hk_run(home, *arguments):
    """What hk-run says when it fails, else None."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(home / "lib"))
    try:
        done = subprocess.run([home / "bin" / "hk-run", *arguments], env=environment, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return "no end within 60 s"
    return "\n".join(done.stdout.splitlines()[-8:]) if done.returncode else None


def run(folder, archive, pattern="gemm-*.mlir"):
    home, work, failed = pathlib.Path(os.environ["HK_HOME"]), pathlib.Path(tempfile.mkdtemp()), 0
    for number, (source, options) in enumerate(calls(folder, pattern)):
        results = work / str(number)
        results.parent.mkdir(parents=True, exist_ok=True)
        text = hk_run(home, source.with_suffix(".so"), "--device=cuda:0", "--poison", f"--output={results}", *options)
        if text:
            failed += 1
            print(source.name, *options, text, flush=True)
    with tarfile.open(archive, "w:xz", preset=1) as out:
        out.add(work, arcname=".")
    print(f"{number + 1} calls, {failed} failed")
    return bool(failed)


def check(folder, archive, pattern="gemm-*.mlir"):
    home, failed = pathlib.Path(os.environ["HK_HOME"]), 0
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(archive) as results:
            results.extractall(work)  # our own file
        for number, (source, options) in enumerate(calls(folder, pattern)):
            text = hk_run(home, source.with_suffix(".so"), "--device=host", f"--results={work}/{number}",
                          f"--check={source}", *options)
            if text:
                failed += 1
                print(source.name, *options, text, flush=True)
    print(f"{number + 1} calls checked, {failed} wrong")
    return bool(failed)


class Sides:
    """hk and PyTorch on the same operands."""

    def __init__(self, torch, program, name):
        self.torch = torch
        self.kind, *sizes = re.match(r"([a-z0-9]+)_([0-9_]+)", name).groups()
        self.sizes = [int(s) for s in sizes[0].split("_")]
        *self.batch, self.m, self.n, self.k = self.sizes
        self.function = program[name]

    def dtype(self, name):
        torch = self.torch
        return {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
                "f8E4M3FN": torch.float8_e4m3fn}[name]

    def draw(self, argument):
        torch, dtype = self.torch, self.dtype(argument.dtype)
        if dtype == torch.float32 and self.kind != "f32":
            return torch.rand(argument.shape, device="cuda") + 0.5
        values = torch.randn(argument.shape, device="cuda", dtype=dtype if self.kind == "f32" else torch.bfloat16)
        return values.clamp(-F8_MAX, F8_MAX).to(dtype)

    def operands(self):
        """Inputs; hk's call; PyTorch's call; hk's outputs."""
        inputs = [self.draw(a) for a in self.function.inputs]
        outputs = [self.torch.empty(a.shape, device="cuda", dtype=self.dtype(a.dtype)) for a in self.function.outputs]
        return inputs, self.function.bind(*inputs, out=outputs), self.peer(inputs), outputs

    def peer(self, inputs):
        torch = self.torch
        x, w = inputs[:2]
        if self.kind in ("bf16", "f16", "f32"):
            out = torch.empty(self.m, self.n, device="cuda", dtype=x.dtype)
            return lambda: torch.matmul(x, w.T, out=out)
        if self.kind == "wide":  # f32 results
            return lambda: torch.mm(x, w.T, out_dtype=torch.float32)
        if self.kind == "batched":
            out = torch.empty(*self.batch, self.m, self.n, device="cuda", dtype=x.dtype)
            return lambda: torch.bmm(x, w.mT, out=out)
        if self.kind == "residual":
            return lambda: torch.addmm(inputs[2], x, w.T)
        if self.kind == "silu":
            def gate(x, w):
                a, b = (x @ w.T).chunk(2, -1)
                return torch.nn.functional.silu(a) * b
            compiled = torch.compile(gate)
            return lambda: compiled(x, w)
        if self.kind == "quantize":
            def quantize(x, w):
                y = (x @ w.T).float().view(self.m, -1, 128)
                scale = y.abs().amax(-1, keepdim=True) / F8_MAX
                return (y / scale).to(torch.float8_e4m3fn).view(self.m, -1), scale.squeeze(-1)
            compiled = torch.compile(quantize)
            return lambda: compiled(x, w)
        if self.kind == "fp8":
            s, t = inputs[2], inputs[3].T
            return lambda: torch._scaled_mm(x, w.T, s, t, out_dtype=torch.bfloat16)
        # 1x128 and 128x128: scales outer-dimension-major.
        s = inputs[2].T.contiguous().T
        t = inputs[3].contiguous().T
        return lambda: torch._scaled_mm(x, w.T, s, t, out_dtype=torch.bfloat16)

    def expected(self, inputs):
        """In f32, of f32 in f64, of the first result."""
        torch = self.torch
        x, w = (v.double() if self.kind == "f32" else v.float() for v in inputs[:2])
        if self.kind == "blocks":
            x = x * inputs[2].repeat_interleave(128, 1)
            w = w * inputs[3].repeat_interleave(128, 0).repeat_interleave(128, 1)
        y = x @ w.mT
        if self.kind == "fp8":
            y = y * inputs[2] * inputs[3].T
        if self.kind == "residual":
            y = y + inputs[2].float()
        if self.kind == "silu":
            a, b = y.chunk(2, -1)
            y = torch.nn.functional.silu(a) * b
        return None if self.kind == "quantize" else y

    def flops(self):
        count = 2 * self.m * self.n * self.k
        for b in self.batch:
            count *= b
        return count


def mean_of(torch, call, seconds):
    """Mean time of calls that follow each other for about `seconds`."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    call()
    begin.record()
    call()
    end.record()
    end.synchronize()
    count = max(3, int(seconds / (begin.elapsed_time(end) * 1e-3)))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count * 1e3


def rested(torch, call):
    times = []
    for _ in range(5):
        time.sleep(0.1)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        call()
        begin.record()
        for _ in range(4):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 4 * 1e3)
    return statistics.median(times)


def graph_of(torch, calls, repeat):
    """All `calls`, `repeat` times one after the other; each has run once before."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(repeat):
            for call in calls:
                call()
    return graph


def chain(torch, calls, repeat=4):
    """Mean time of a call within a graph of all of them; median of 7 replays."""
    graph = graph_of(torch, calls, repeat)
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / (repeat * len(calls)))
    return statistics.median(times)


def few_rows(torch, sides):
    bytes_of = sides.n * sides.k * (1 if sides.kind == "fp8" else 2)
    sets = [sides.operands() for _ in range(max(2, int(4e8 / bytes_of)))]
    ours, peer = chain(torch, [s[1] for s in sets]), None
    try:
        peer = chain(torch, [s[2] for s in sets])
    except RuntimeError as error:
        print("PyTorch:", str(error).splitlines()[0])
    wrong = max(error_of(sides, s) for s in sets[:2])
    row = {"hk_us": ours, "peer_us": peer, "of_peer": peer / ours if peer else None,
           "hk_TBps": bytes_of / ours * 1e-6, "error": wrong}
    return {k: v if v is None else float(f"{v:.5g}") for k, v in row.items()}


def error_of(sides, operands):
    expected = sides.expected(operands[0])
    if expected is None:
        return 0.0
    got = operands[3][0].float()
    return ((got - expected).norm() / expected.norm().clamp(min=1e-30)).item()


def many_rows(torch, sides):
    operands = sides.operands()
    calls = {"hk": operands[1], "peer": operands[2]}
    try:
        calls["peer"]()
    except RuntimeError as error:
        print("PyTorch:", str(error).splitlines()[0])
        del calls["peer"]
    row = {}
    for call in calls.values():
        for _ in range(3):
            call()
    for name, call in calls.items():
        row[f"{name}_rested_us"] = rested(torch, call)
    steady = {name: [] for name in calls}
    for turn in range(3):
        for name in list(calls)[::-1 if turn % 2 else 1]:
            mean_of(torch, calls[name], 0.15)
            steady[name].append(mean_of(torch, calls[name], 0.25))
    for name, times in steady.items():
        row[f"{name}_steady_us"] = statistics.median(times)
    for state in ("rested", "steady"):
        row[f"hk_{state}_TFLOPs"] = sides.flops() / row[f"hk_{state}_us"] * 1e-6
        if "peer" in calls:
            row[f"{state}_of_peer"] = row[f"peer_{state}_us"] / row[f"hk_{state}_us"]
    row["error"] = error_of(sides, operands)
    return {k: float(f"{v:.5g}") for k, v in row.items()}


def measure(folder, prefixes):
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    program = hk.load(folder / "gemm.so", "cuda:0")
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    for name in re.findall(r"^func.func @(\w+)", (folder / "gemm.mlir").read_text(), re.M):
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        sides = Sides(torch, program, name)
        few = sides.m <= FEW_ROWS or sides.flops() < SMALL_FLOPS
        row = few_rows(torch, sides) if few else many_rows(torch, sides)
        print(json.dumps({"product": name, **row}), flush=True)
        torch.cuda.empty_cache()
    return False


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("run", "check", "time"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "time":
        return measure(folder, sys.argv[3:])
    return {"run": run, "check": check}[sys.argv[1]](folder, sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
