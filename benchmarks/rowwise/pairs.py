"""Times kernels of several modules in turns on one GPU: what a change of hk brought.

Usage: pairs.py results.json regex module.so [module.so ...]   (modules: cases.py gpu or odd)

Every module has the functions of the same cases. For each case that matches, and each of DRAWS
places of its buffers, all modules run after each other, and a large copy between the same
places (gpu.py says why). Results are medians over the places, in the order of the modules.
"""

import json
import pathlib
import re
import statistics
import sys

import torch

sys.path[:0] = [__file__.rsplit("/", 3)[0] + "/python"]
import cases  # noqa: E402
import gpu  # noqa: E402
import hk  # noqa: E402


def measure(case, programs, memory):
    operator, rows, width = cases.OPERATORS[case[0]], case[1], case[2]
    total = operator.bytes(rows, width)
    times, shares, worst = [[] for _ in programs], [[] for _ in programs], [0.0] * len(programs)
    for draw in range(gpu.DRAWS):
        large = 2**29 / gpu.copy_time(memory, 2**29, draw)
        inputs, outputs = gpu.place(operator, rows, width, memory, draw)
        expected = operator.reference(*inputs[0])
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for n, program in enumerate(programs):
            for o in outputs[0]:
                o.view(torch.uint8).fill_(0x7F)
            runs = [program[cases.name_of(case)].bind(*i, out=o) for i, o in zip(inputs, outputs)]
            runs[0]()
            torch.cuda.synchronize()
            worst[n] = max([worst[n]] + [gpu.error(o, e) for o, e in zip(outputs[0], expected)])
            times[n].append(gpu.timed(runs))
            shares[n].append(total / times[n][-1] / large)
    return {"case": cases.name_of(case), "us": [statistics.median(t) for t in times],
            "of_large": [statistics.median(s) for s in shares], "error": worst}


def main():
    torch.manual_seed(0)
    programs = [hk.load(path, "cuda:0") for path in sys.argv[3:]]
    memory = gpu.Memory()
    rows = []
    print(torch.cuda.get_device_name(), "torch", torch.__version__,
          *(pathlib.Path(path).stem for path in sys.argv[3:]))
    for case in filter(lambda case: re.search(sys.argv[2], cases.name_of(case)), dict.fromkeys(cases.GPU + cases.ODD)):
        try:
            row = measure(case, programs, memory)
        except Exception as error:  # noqa: BLE001: the other cases still count
            print(f"{cases.name_of(case)}: {error}", flush=True)
            continue
        rows.append(row)
        cells = [f"{us:.2f} us, {share:.1%}, {e:.0e}" for us, share, e in zip(row["us"], row["of_large"], row["error"])]
        print(f"| {row['case']} | " + " | ".join(cells) + " |", flush=True)
        pathlib.Path(sys.argv[1]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
