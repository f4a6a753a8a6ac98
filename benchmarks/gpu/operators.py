"""Times hk's products and attention and PyTorch's on one GPU, in one process.

Usage: operators.py operators.so [results.json]   (HK_HOME: see python/README.md)
Prints, for every operator: hk's and PyTorch's time and rate, and the relative error.
Times are medians of CUDA event pairs around one call; inputs exceed the L2 cache.
Row-wise operators: benchmarks/rowwise.
"""

import json
import statistics
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
import hk  # noqa: E402

torch.manual_seed(0)
DEV = "cuda"


def timed(fn, repeat=30):
    for _ in range(5):
        fn()
    times = []
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times)


def rand(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device=DEV, dtype=dtype)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                          is_causal=True, enable_gqa=True).transpose(1, 2)


def cases():
    for n in (4096, 8192):
        yield f"matmul_{n}", lambda a, b: a @ b.T, [rand(n, n), rand(n, n)], 2 * n**3
    yield ("attention_8192", attention, [rand(1, 8192, 32, 128), rand(1, 8192, 8, 128),
                                         rand(1, 8192, 8, 128)], 2 * 2 * 8192 * 8192 * 32 * 128 / 2)


def error(actual, expected):
    a, e = actual.float(), expected.float()
    return ((a - e).norm() / e.norm().clamp(min=1e-30)).item()


def main():
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}")
    program = hk.load(sys.argv[1], "cuda:0")
    rows = []
    for title, reference, inputs, flops in cases():
        expected = reference(*inputs)
        output = torch.empty_like(expected)
        output.view(torch.uint8).fill_(0x7F)
        run = program[title].bind(*inputs, out=output)
        run()
        torch.cuda.synchronize()
        ours, peer = timed(run), timed(lambda: reference(*inputs))
        row = {"operator": title, "hk_us": ours, "peer_us": peer, "error": error(output, expected),
               "hk_tflops": flops / ours * 1e-6, "peer_tflops": flops / peer * 1e-6}
        rows.append(row)
        print(f"{title:16} hk {ours:9.1f} us {row['hk_tflops']:7.1f} TF  PyTorch {peer:9.1f} us "
              f"{row['peer_tflops']:7.1f} TF  error {row['error']:.1e}", flush=True)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            json.dump({"device": name, "torch": torch.__version__, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    main()
