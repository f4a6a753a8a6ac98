"""Calls functions on a GPU over tensors of more than 2^31 elements.

Usage: large.py large.so   (HK_HOME names the folder whose lib/ has libhk_runtime.so)
(large.so: hk-compile large.mlir --target=sm_90a)
Rows do not depend on each other, so what one call over all rows gives must be, bit for bit,
what calls over parts of them give, each of which is below 2^31 elements. Gathers and cache
writes are compared with PyTorch's. Needs 60 GB of GPU memory.
"""

import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
import hk  # noqa: E402

ELEMENTS = 2**31
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f8E4M3FN": torch.uint8, "i32": torch.int32}


def draw(shape, dtype):
    """Random values, in parts: PyTorch draws bfloat16 in float32 first."""
    tensor = torch.empty(shape, dtype=dtype, device="cuda")
    for part in tensor.view(-1).split(2**28):
        part.normal_()
    return tensor


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.view(torch.uint8).view(-1).split(2**30),
                                                 b.view(torch.uint8).view(-1).split(2**30)))


def by_rows(function):
    """One call over all rows against calls over parts of them."""
    infos = function.arguments
    width = max(abs(torch.Size(i.shape[1:]).numel()) for i in infos if i.shape[0] < 0)
    rows = ELEMENTS // width + 3
    inputs = [draw([rows if s < 0 else s for s in i.shape], DTYPES[i.dtype]) for i in infos if i.role == "input"]

    def outputs(count):
        made = [torch.empty([count if s < 0 else s for s in i.shape], dtype=DTYPES[i.dtype], device="cuda")
                for i in infos if i.role == "output"]
        for o in made:
            o.view(torch.uint8).fill_(0x7F)
        return made

    whole = outputs(rows)
    function.bind(*inputs, out=whole)()
    torch.cuda.synchronize()
    wrong = 0
    step = rows // 3
    for begin in range(0, rows, step):
        count = min(step, rows - begin)
        parts = [t[begin:begin + count] if i.shape[0] < 0 else t
                 for t, i in zip(inputs, (i for i in infos if i.role == "input"))]
        part = outputs(count)
        function.bind(*parts, out=part)()
        torch.cuda.synchronize()
        wrong += sum(not same(w[begin:begin + count], p) for w, p in zip(whole, part))
    return rows, width, wrong


def gather_rows(function):
    rows = ELEMENTS // 4096 + 3
    table = draw([rows, 4096], torch.bfloat16)
    ids = torch.cat([torch.randint(0, rows, [1000], device="cuda"),
                     torch.tensor([0, rows - 1, rows - 2], device="cuda")]).int()
    out = torch.empty([len(ids), 4096], dtype=torch.bfloat16, device="cuda")
    function.bind(table, ids, out=out)()
    torch.cuda.synchronize()
    return rows, 4096, int(not same(out, table[ids.long()]))


def cache_write(function):
    blocks = ELEMENTS // (16 * 1024) + 3
    cache = draw([blocks, 16, 8, 128], torch.bfloat16)
    slots = torch.randperm(blocks * 16, device="cuda")[:1000].int()
    slots[-1] = blocks * 16 - 1
    slots = slots.unique()
    keys = draw([len(slots), 8, 128], torch.bfloat16)
    expected = cache.clone()
    expected.view(-1, 8, 128)[slots.long()] = keys
    function.bind(keys, slots, cache)()
    torch.cuda.synchronize()
    return blocks * 16, 1024, int(not same(cache, expected))


def main():
    torch.manual_seed(0)
    program = hk.load(sys.argv[1], "cuda:0")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    special = {"gather_rows": gather_rows, "cache_write": cache_write}
    failed = False
    for name in ("rms_norm", "layer_norm", "add_rms_norm_quantize", "quantize_token", "silu_and_mul", "softmax_long",
                 "softmax_topk", "rope", "cumsum", "matmul_tall", "matmul_wide", *special):
        rows, width, wrong = special.get(name, by_rows)(program.function(name))
        failed |= wrong != 0
        print(f"{name:24} {rows} x {width}: {'DIFFERS' if wrong else 'equal'}", flush=True)
        torch.cuda.empty_cache()
    return failed


if __name__ == "__main__":
    sys.exit(main())
