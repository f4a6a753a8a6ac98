"""Other libraries on the same operations. Run as a child, one process per library:

  peers.py LIBRARY COLD_BYTES CASES     CASES: JSON [[name, [operation, size...]]...]

prints one line of JSON per case: {"name", "warm_us": S, "cold_us": S} or {"name", "absent": why}.
A row of LIBRARIES is a function from torch to what it has: operation -> what makes a callable of
the inputs. Nothing is imported by the parent.
"""

import json
import os
import sys

ITERATIONS = 20
MOST_BYTES = 8 << 30  # of copies of the inputs


def inputs(torch, operation, *sizes):
    """Random tensors as hk's function takes them."""
    device = os.environ.get("HK_REPORT_TORCH_DEVICE", "cuda")  # "cuda" is HIP's, too; tests: "cpu"

    def rand(*shape, dtype=torch.bfloat16):
        return torch.randn(*shape, device=device, dtype=dtype)

    if operation == "matmul":
        m, n, k = sizes
        return rand(m, k), rand(n, k)
    if operation == "attention":
        batch, queries, keys, _ = sizes
        return rand(batch, queries, 32, 128), rand(batch, keys, 8, 128), rand(batch, keys, 8, 128)
    rows, width = sizes
    if operation == "rms_norm":
        return rand(rows, width), rand(width)
    if operation == "silu_and_mul":
        return (rand(rows, 2 * width),)
    return (rand(rows, width, dtype=torch.float32),)


def with_torch(torch):
    functional = torch.nn.functional

    def attention(batch, queries, keys, causal):
        def run(q, k, v):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            return functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal), enable_gqa=True).transpose(1, 2)
        return run

    def silu_and_mul(x):
        gate, up = x.chunk(2, -1)
        return functional.silu(gate) * up

    return {"matmul": lambda *_: lambda x, w: x @ w.T,
            "rms_norm": lambda _, width: lambda x, w: functional.rms_norm(x, (width,), w, 1e-5),
            "silu_and_mul": lambda *_: silu_and_mul,
            "softmax": lambda *_: lambda x: x.softmax(-1),
            "attention": attention}


def with_hipblaslt(torch):
    """Its products, through torch, which links it."""
    torch.backends.cuda.preferred_blas_library("cublaslt")  # its name in torch for hipBLASLt as well
    return {"matmul": lambda *_: lambda x, w: x @ w.T}


def with_aiter(torch):
    import aiter
    from aiter.tuned_gemm import tgemm

    def silu_and_mul(x):
        out = torch.empty(x.shape[0], x.shape[1] // 2, dtype=x.dtype, device=x.device)
        aiter.silu_and_mul(out, x)
        return out

    return {"matmul": lambda *_: tgemm.mm,
            "rms_norm": lambda *_: lambda x, w: aiter.rms_norm(x, w, 1e-5),
            "silu_and_mul": lambda *_: silu_and_mul,
            "attention": lambda batch, queries, keys, causal: lambda q, k, v: aiter.flash_attn_func(
                q, k, v, causal=bool(causal))}


LIBRARIES = {"torch": with_torch, "hipBLASLt": with_hipblaslt, "AITER": with_aiter}


def event_times(torch, calls):
    """Microseconds of each call, by events."""
    times = []
    for call in calls:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    times.sort()
    return {"min": times[0], "median": times[len(times) // 2], "max": times[-1]}


def measure(torch, run, arguments, cold_bytes):
    """As hk-run --times does: warm on one set of inputs, cold on copies that no cache holds."""
    for _ in range(3):
        run(*arguments)
    found = {"warm_us": event_times(torch, [lambda: run(*arguments)] * ITERATIONS)}
    if cold_bytes:
        each = sum(x.numel() * x.element_size() for x in arguments)
        count = max(1, min(ITERATIONS, MOST_BYTES // each))
        copies = [[x.clone() for x in arguments] for _ in range(count)]
        torch.zeros(cold_bytes, dtype=torch.uint8, device=arguments[0].device).fill_(1)
        found["cold_us"] = event_times(torch, [lambda c=copies[i % count]: run(*c) for i in range(ITERATIONS)])
    return found


def main(library, cold_bytes, cases):
    try:
        import torch
        if not torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU" if torch.version.hip else "torch is built without ROCm")
        operations = LIBRARIES[library](torch)
    except Exception as error:  # whatever an import of another library may raise
        print(json.dumps({"name": None, "absent": f"{type(error).__name__}: {error}"}), flush=True)
        return
    for name, (operation, *sizes) in cases:
        if operation not in operations:
            continue
        try:
            run = operations[operation](*sizes)
            found = measure(torch, run, inputs(torch, operation, *sizes), cold_bytes)
        except Exception as error:
            found = {"absent": f"{type(error).__name__}: {error}"}
        print(json.dumps({"name": name, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
