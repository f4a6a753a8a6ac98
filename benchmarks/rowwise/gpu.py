"""Times hk's row-wise kernels and PyTorch's on one GPU, in one process.

Usage: gpu.py libhk_runtime.so module.so [results.json]   (module: cases.py gpu)
A time is that of a kernel: CUDA graphs hold many calls, over as many sets of buffers
as exceed the L2 cache four times. `copy` is a copy of as many bytes, timed the same
way; `large` the rate of a copy of 2 x 268 MB. The peer is the faster of eager PyTorch
and torch.compile.
"""

import json
import math
import statistics
import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import cases  # noqa: E402
import hk  # noqa: E402

COLD = 240_000_000  # bytes that rotating buffers cover


def timed(calls):
    """Microseconds of one of `calls`, which differ in their buffers."""
    for call in calls[:2]:
        call()
    torch.cuda.synchronize()
    repeat = max(1, -(-16 // len(calls)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeat):
            for call in calls:
                call()
    times = []
    graph.replay()
    for _ in range(7):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / (repeat * len(calls)))
    return statistics.median(times)


class Memory:
    """Buffers cut from slabs: the large ones of a case each start a slab. How two buffers
    lie to each other changes the bandwidth of anything that reads one and writes the other
    by up to a third (bank conflicts of the memory), so all sides get the same layout."""

    def __init__(self, count=8, size=2**30):
        self.slabs = [torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(count)]
        self.reset()

    def reset(self):
        self.used = [0] * len(self.slabs)

    def empty(self, shape, dtype, slab):
        size = torch.empty((), dtype=dtype).element_size() * math.prod(shape)
        start = self.used[slab]
        self.used[slab] = start + -(-size // 4096) * 4096
        return self.slabs[slab][start:start + size].view(dtype).view(shape)


def copy_time(memory, total):
    sets = max(1, -(-COLD // total))
    memory.reset()
    buffers = [[memory.empty((total // 2,), torch.uint8, slab) for slab in (0, 1)] for _ in range(sets)]
    return timed([lambda a=a, b=b: b.copy_(a) for a, b in buffers])


def error(actual, expected):
    a, e = actual.float(), expected.float()
    return ((a - e).norm() / e.norm().clamp(min=1e-30)).item()


def measure(case, program, memory):
    operator, rows, width = cases.OPERATORS[case[0]], case[1], case[2]
    total = operator.bytes(rows, width)
    sets = max(1, -(-COLD // total))
    memory.reset()
    inputs, outputs = [], []
    for _ in range(sets):
        drawn = operator.draw(rows, width, "cuda")
        inputs.append([memory.empty(t.shape, t.dtype, i).copy_(t) for i, t in enumerate(drawn)])
        outputs.append([memory.empty(shape, cases.torch_type(dtype), len(drawn) + i)
                        for i, (shape, dtype) in enumerate(operator.outputs(rows, width))])
    expected = operator.reference(*inputs[0])
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    function = program.function(cases.name_of(case))
    for o in outputs[0]:
        o.view(torch.uint8).fill_(0x7F)
    runs = [function.prepare(i + o) for i, o in zip(inputs, outputs)]
    runs[0]()
    torch.cuda.synchronize()
    worst = max(error(o, e) for o, e in zip(outputs[0], expected))
    ours = timed(runs)
    del runs, expected, drawn
    peers = {"eager": operator.reference,
             "compile": torch.compile(operator.reference, mode="max-autotune-no-cudagraphs", dynamic=False)}
    times = {name: timed([lambda i=i: fn(*i) for i in inputs]) for name, fn in peers.items()}
    best = min(times, key=times.get)
    del inputs
    torch.cuda.empty_cache()
    return {"case": cases.name_of(case), "bytes": total, "sets": sets, "hk_us": ours,
            "copy_us": copy_time(memory, total), "peer": best, "peer_us": times[best], "error": worst}


def main():
    torch.manual_seed(0)
    program = hk.Program(*sys.argv[1:3])
    memory = Memory()
    large = 2**29 / copy_time(memory, 2**29) * 1e-3
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, large copy {large:.0f} GB/s")
    rows = []
    for case in cases.GPU:
        torch._dynamo.reset()
        row = measure(case, program, memory)
        row["of_copy"] = row["copy_us"] / row["hk_us"]
        row["of_large"] = row["bytes"] / row["hk_us"] * 1e-3 / large
        rows.append(row)
        print(f"{row['case']:32} hk {row['hk_us']:8.2f} us  copy {row['copy_us']:8.2f} us  "
              f"{row['of_copy']:6.1%} of copy {row['of_large']:6.1%} of large  "
              f"{row['peer']:8}{row['peer_us']:8.2f} us  error {row['error']:.1e}", flush=True)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as out:
            json.dump({"device": name, "torch": torch.__version__, "large_copy_gbps": large, "rows": rows}, out,
                      indent=1)


if __name__ == "__main__":
    main()
