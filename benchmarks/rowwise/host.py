"""Times hk's row-wise kernels and PyTorch's on the host, in one process.

Usage: host.py module.so [results.json]   (module: cases.py host)
Both sides have as many threads as the machine has cores. hk's and PyTorch's calls and a copy of as many bytes
alternate, and each takes its best time: other load on the machine then delays all.
"""

import json
import os
import sys
import time

import torch

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
import cases  # noqa: E402
import hk  # noqa: E402


def once(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def measure(case, program):
    operator, rows, width = cases.OPERATORS[case[0]], case[1], case[2]
    inputs = operator.draw(rows, width, "cpu")
    expected = operator.reference(*inputs)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    outputs = [torch.zeros(e.shape, dtype=e.dtype) for e in expected]
    run = program[cases.name_of(case)].bind(*inputs, out=outputs)
    total = operator.bytes(rows, width)
    source, target = (torch.ones(total // 2, dtype=torch.uint8) for _ in range(2))
    run()
    worst = max(((o.float() - e.float()).norm() / e.float().norm()).item() for o, e in zip(outputs, expected))
    times = {"hk": [], "torch": [], "copy": []}
    for _ in range(5):
        times["hk"].append(once(run))
        times["copy"].append(once(lambda: target.copy_(source)))
        times["torch"].append(once(lambda: operator.reference(*inputs)))
    return {"case": cases.name_of(case), "bytes": total, "error": worst} | {
        f"{name}_ms": min(values) for name, values in times.items()}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count())
    program = hk.load(sys.argv[1])
    rows = []
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}")
    for case in cases.HOST:
        row = measure(case, program)
        rows.append(row)
        print(f"{row['case']:32} hk {row['hk_ms']:8.1f} ms  copy {row['copy_ms']:8.1f} ms  "
              f"{row['copy_ms'] / row['hk_ms']:6.1%} of copy  torch {row['torch_ms']:8.1f} ms  "
              f"{row['torch_ms'] / row['hk_ms']:5.2f}x  error {row['error']:.1e}", flush=True)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            json.dump({"torch": torch.__version__, "load": os.getloadavg()[0], "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
