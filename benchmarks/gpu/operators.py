"""Times hk's kernels and PyTorch's on one GPU, in one process.

Usage: operators.py libhk_runtime.so operators.so [results.json]
Prints, for every operator: hk's and the best peer's time, the fraction of the copy
bandwidth (or the rate) each reaches, and the relative error against f32 PyTorch.
Times are medians of CUDA event pairs around one call; inputs exceed the L2 cache
unless the operator is a decode size.
"""

import json
import statistics
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, __file__.rsplit("/", 2)[0])
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


def rms(x, w):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.square().mean(-1, keepdim=True) + 1e-5) * w.float()).to(x.dtype)


def add_rms(x, r, w):
    s = x + r
    return rms(s, w), s


def add_rms_quant(x, r, w):
    s = x + r
    y = rms(s, w)
    g = y.float().view(y.shape[0], -1, 128)
    scale = g.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 448
    q = (g / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.view(y.shape), scale.squeeze(-1), s


def silu_mul(x):
    g, u = x.float().chunk(2, -1)
    return (F.silu(g) * u).to(x.dtype)


def quant_token(x):
    x32 = x.float()
    amax = x32.abs().amax(-1, keepdim=True)
    scale = amax / 448
    return (x32 / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


def rope(q, k, cos, sin, p):
    c, s = cos[p.long()].unsqueeze(1), sin[p.long()].unsqueeze(1)

    def one(x):
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    return one(q), one(k)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                          is_causal=True, enable_gqa=True).transpose(1, 2)


def cases():
    yield "rms_norm_16384x8192", rms, [rand(16384, 8192), rand(8192)], None
    yield "rms_norm_4096x4096", rms, [rand(4096, 4096), rand(4096)], None
    yield "rms_norm_16x4096", rms, [rand(16, 4096), rand(4096)], None
    yield "add_rms_norm_16384x7168", add_rms, [rand(16384, 7168), rand(16384, 7168), rand(7168)], None
    yield ("add_rms_norm_quant_16384x8192", add_rms_quant,
           [rand(16384, 8192), rand(16384, 8192), rand(8192)], None)
    yield "silu_and_mul_8192x14336", silu_mul, [rand(8192, 28672)], None
    yield "softmax_8192x4096", lambda x: x.softmax(-1), [rand(8192, 4096, dtype=torch.float32)], None
    yield "softmax_1024x131072", lambda x: x.softmax(-1), [rand(1024, 131072, dtype=torch.float32)], None
    yield "quantize_token_16384x4096", quant_token, [rand(16384, 4096)], None
    angles = torch.outer(torch.arange(16384, device=DEV).float(),
                         10000 ** (-torch.arange(64, device=DEV).float() / 64))
    yield ("rope_16384", rope, [rand(16384, 32, 128), rand(16384, 8, 128), angles.cos(), angles.sin(),
                                torch.randperm(16384, device=DEV).int()], None)
    for n in (4096, 8192):
        yield f"matmul_{n}", lambda a, b: a @ b.T, [rand(n, n), rand(n, n)], 2 * n**3
    yield ("attention_8192", attention, [rand(1, 8192, 32, 128), rand(1, 8192, 8, 128),
                                         rand(1, 8192, 8, 128)], 2 * 2 * 8192 * 8192 * 32 * 128 / 2)


def error(actual, expected):
    a, e = actual.float(), expected.float()
    return ((a - e).norm() / e.norm().clamp(min=1e-30)).item()


def main():
    library, module = sys.argv[1:3]
    source = torch.empty(2**31, dtype=torch.uint8, device=DEV)
    target = torch.empty_like(source)
    copy = 2 * source.numel() / timed(lambda: target.copy_(source)) * 1e-3  # GB/s
    del source, target
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, copy {copy:.0f} GB/s")
    program = hk.Program(library, module)
    rows = []
    for title, reference, inputs, flops in cases():
        expected = reference(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        outputs = [torch.empty(e.shape, dtype=e.dtype, device=DEV) for e in expected]
        for o in outputs:
            o.view(torch.uint8).fill_(0x7F)
        run = program.function(title).prepare(inputs + outputs)
        run()
        torch.cuda.synchronize()
        worst = max(error(o, e) for o, e in zip(outputs, expected))
        ours = timed(run)
        peers = {"eager": reference}
        if flops is None:
            peers["compile"] = torch.compile(reference, mode="max-autotune-no-cudagraphs")
        best_name, best = None, float("inf")
        for peer, fn in peers.items():
            t = timed(lambda: fn(*inputs))
            if t < best:
                best_name, best = peer, t
        bytes_ = sum(t.numel() * t.element_size() for t in inputs + outputs)
        row = {"operator": title, "hk_us": ours, "peer_us": best, "peer": best_name, "error": worst}
        if flops:
            row |= {"hk_tflops": flops / ours * 1e-6, "peer_tflops": flops / best * 1e-6}
            rate = f"{row['hk_tflops']:7.1f} TF  {row['peer_tflops']:7.1f} TF"
        else:
            row |= {"hk_of_copy": bytes_ / ours * 1e-3 / copy, "peer_of_copy": bytes_ / best * 1e-3 / copy}
            rate = f"{row['hk_of_copy']:7.1%} of copy  {row['peer_of_copy']:7.1%}"
        rows.append(row)
        print(f"{title:32} hk {ours:9.1f} us  {best_name:8}{best:9.1f} us  {rate}  error {worst:.1e}",
              flush=True)
        del expected, outputs, run
        torch.cuda.empty_cache()
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as out:
            json.dump({"device": name, "torch": torch.__version__, "copy_gbps": copy, "rows": rows}, out,
                      indent=1)


if __name__ == "__main__":
    main()
