"""Times hk's row-wise kernels and PyTorch's on one GPU, in one process.

Usage: gpu.py module.so [results.json [regex of cases]]   (module: cases.py gpu)
A time is that of a kernel: CUDA graphs hold many calls, over as many sets of buffers
as exceed the L2 cache four times. `copy` is a copy of as many bytes, timed the same
way; `large` the rate of a copy of 2 x 268 MB at the same places. The peer is the faster
of eager PyTorch and torch.compile.
"""

import json
import math
import re
import statistics
import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
import cases  # noqa: E402
import hk  # noqa: E402

COLD = 240_000_000  # bytes that rotating buffers cover
DRAWS = 5  # of where buffers lie


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
    """Buffers cut from slabs, each large one of a case from one of its own. How they lie to
    each other changes the bandwidth of anything that reads one and writes the other (by a
    third at worst: bank conflicts of the memory), so `reset` draws where they begin, all
    sides get the same places, and results are medians over several draws."""

    def __init__(self, count=8, size=2**30):
        self.slabs = [torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(count)]

    def reset(self, draw):
        random = torch.Generator().manual_seed(draw)
        self.used = (torch.randint(0, 1024, (len(self.slabs),), generator=random) * 65536).tolist()

    def empty(self, shape, dtype, slab):
        size = torch.empty((), dtype=dtype).element_size() * math.prod(shape)
        start = self.used[slab]
        self.used[slab] = start + -(-size // 4096) * 4096
        return self.slabs[slab][start:start + size].view(dtype).view(shape)


def copy_time(memory, total, draw):
    sets = max(1, -(-COLD // total))
    memory.reset(draw)
    buffers = [[memory.empty((total // 2,), torch.uint8, slab) for slab in (0, 1)] for _ in range(sets)]
    return timed([lambda a=a, b=b: b.copy_(a) for a, b in buffers])


def error(actual, expected):
    a, e = actual.float(), expected.float()
    return ((a - e).norm() / e.norm().clamp(min=1e-30)).item()


def place(operator, rows, width, memory, draw):
    """Inputs and outputs of as many calls as exceed the cache."""
    memory.reset(draw)
    inputs, outputs = [], []
    for _ in range(max(1, -(-COLD // operator.bytes(rows, width)))):
        drawn = operator.draw(rows, width, "cuda")
        inputs.append([memory.empty(t.shape, t.dtype, i).copy_(t) for i, t in enumerate(drawn)])
        outputs.append([memory.empty(shape, cases.torch_type(dtype), len(drawn) + i)
                        for i, (shape, dtype) in enumerate(operator.outputs(rows, width))])
    return inputs, outputs


def measure(case, program, memory):
    operator, rows, width = cases.OPERATORS[case[0]], case[1], case[2]
    total = operator.bytes(rows, width)
    function = program[cases.name_of(case)]
    peers = {"eager": operator.reference,
             "compile": torch.compile(operator.reference, mode="max-autotune-no-cudagraphs", dynamic=False)}
    worst, found = 0, {key: [] for key in ["hk", "copy", "of_copy", "of_large", *peers]}
    for draw in range(DRAWS):
        inputs, outputs = place(operator, rows, width, memory, draw)
        expected = operator.reference(*inputs[0])
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for o in outputs[0]:
            o.view(torch.uint8).fill_(0x7F)
        runs = [function.bind(*i, out=o) for i, o in zip(inputs, outputs)]
        runs[0]()
        torch.cuda.synchronize()
        worst = max([worst] + [error(o, e) for o, e in zip(outputs[0], expected)])
        ours = timed(runs)
        del runs, expected
        for name, fn in peers.items():
            found[name].append(timed([lambda i=i: fn(*i) for i in inputs]))
        del inputs, outputs
        torch.cuda.empty_cache()
        copy = copy_time(memory, total, draw)
        large = 2**29 / copy_time(memory, 2**29, draw)
        for key, value in {"hk": ours, "copy": copy, "of_copy": copy / ours, "of_large": total / ours / large}.items():
            found[key].append(value)
    middle = {key: statistics.median(values) for key, values in found.items()}
    best = min(peers, key=middle.get)
    return {"case": cases.name_of(case), "bytes": total, "hk_us": middle["hk"], "copy_us": middle["copy"],
            "of_copy": middle["of_copy"], "of_large": middle["of_large"], "of_large_worst": min(found["of_large"]),
            "of_large_best": max(found["of_large"]), "peer": best, "peer_us": middle[best], "error": worst}


def main():
    torch.manual_seed(0)
    program = hk.load(sys.argv[1], "cuda:0")
    memory = Memory()
    large = statistics.median(2**29 / copy_time(memory, 2**29, draw) * 1e-3 for draw in range(DRAWS))
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, large copy {large:.0f} GB/s")
    rows = []
    only = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
    for case in filter(lambda case: only.search(cases.name_of(case)), cases.GPU):
        torch._dynamo.reset()
        row = measure(case, program, memory)
        rows.append(row)
        print(f"| {row['case']} | {row['hk_us']:.2f} us | {row['copy_us']:.2f} us | {row['of_copy']:.1%} | "
              f"{row['of_large']:.1%} ({row['of_large_worst']:.1%} to {row['of_large_best']:.1%}) | "
              f"{row['peer']} {row['peer_us']:.2f} us | {row['error']:.1e} |", flush=True)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            json.dump({"device": name, "torch": torch.__version__, "large_copy_gbps": large, "rows": rows}, out,
                      indent=1)


if __name__ == "__main__":
    main()
