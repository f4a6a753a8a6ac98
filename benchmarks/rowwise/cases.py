"""The row-wise operators that gpu.py and host.py time.

Usage: cases.py gpu|odd|host module.mlir
Writes the module that the benchmark calls: one function per case. A case is an
operator (its graph in hk's dialect, the same in PyTorch, how inputs are drawn) at a
number of rows and a width.
"""

import math
import sys

import torch
import torch.nn.functional as F

BF16, F32, I32 = "bf16", "f32", "i32"
CODE = "code"  # f8E4M3FN on a GPU, i8 on the host: Debian's PyTorch has no fp8
BYTES = {BF16: 2, F32: 4, I32: 4, CODE: 1}
TORCH = {BF16: torch.bfloat16, F32: torch.float32, I32: torch.int32}
QUANT = getattr(torch, "float8_e4m3fn", torch.int8)
LIMIT = 127 if QUANT == torch.int8 else 448


def torch_type(dtype):
    return QUANT if dtype == CODE else TORCH[dtype]


def quantise(x, scale):
    q = (x / scale).clamp(-LIMIT, LIMIT)
    return (q.round() if QUANT == torch.int8 else q).to(QUANT)


def tensor(shape, dtype):
    return f"tensor<{'x'.join(map(str, shape))}x{dtype}>"


class Operator:
    """`inputs` and `outputs` map (rows, width) to (shape, dtype) pairs; `body` is MLIR
    text over %0 %1 ... with the types {0} {1} ... of inputs and then outputs, and
    returns %y %z ...; `reference` is PyTorch."""

    def __init__(self, inputs, outputs, body, reference):
        self.inputs, self.outputs, self.body, self.reference = inputs, outputs, body, reference

    def function(self, name, rows, width, code):
        ins, outs = self.inputs(rows, width), self.outputs(rows, width)
        types = [tensor(shape, code if dtype == CODE else dtype) for shape, dtype in ins + outs]
        arguments = ", ".join(f"%{i}: {types[i]}" for i in range(len(ins)))
        results = ", ".join(types[len(ins):])
        names = ", ".join(f"%{n}" for n in "yzuv"[:len(outs)])
        body = self.body.format(*types, rows=rows, width=width)
        return f"func.func @{name}({arguments}) -> ({results}) {{\n{body}\n  return {names} : {results}\n}}\n"

    def draw(self, rows, width, device):
        result = []
        for shape, dtype in self.inputs(rows, width):
            if dtype == I32:
                result.append(torch.randperm(16384, device=device)[:shape[0]].int())
            else:
                result.append(torch.randn(*shape, device=device).to(torch_type(dtype)))
        return result

    def bytes(self, rows, width):
        count = 0
        for shape, dtype in self.inputs(rows, width) + self.outputs(rows, width):
            count += BYTES[dtype] * math.prod(shape)
        return count


def rms(x, w):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.square().mean(-1, keepdim=True) + 1e-5) * w.float()).to(x.dtype)


def add_rms(x, r, w):
    s = x + r
    return rms(s, w), s


def quant_group(y):
    g = y.float().view(y.shape[0], -1, 128)
    scale = g.abs().amax(-1, keepdim=True).clamp(min=1e-10) / LIMIT
    return quantise(g, scale).view(y.shape), scale.squeeze(-1)


def add_rms_quant(x, r, w):
    y, s = add_rms(x, r, w)
    return *quant_group(y), s


def silu_mul(x):
    g, u = x.float().chunk(2, -1)
    return (F.silu(g) * u).to(x.dtype)


def quant_token(x):
    x32 = x.float()
    scale = x32.abs().amax(-1, keepdim=True) / LIMIT
    return quantise(x32, scale), scale


def rope(q, k, cos, sin, p):
    c, s = cos[p.long()].unsqueeze(1), sin[p.long()].unsqueeze(1)

    def one(x):
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    return one(q), one(k)


def layer_norm(x, w, b):
    return F.layer_norm(x.float(), x.shape[-1:], w.float(), b.float(), 1e-5).to(x.dtype)


def softmax_topk(x):
    values, indices = x.softmax(-1).topk(8)
    return values, indices.int()


OPERATORS = {
    "rms_norm": Operator(
        lambda m, n: [((m, n), BF16), ((n,), BF16)], lambda m, n: [((m, n), BF16)],
        "  %y = hk.rms_norm %0, %1 epsilon 1.0e-05 : {0}, {1} -> {2}", rms),
    "layer_norm": Operator(
        lambda m, n: [((m, n), BF16), ((n,), BF16), ((n,), BF16)], lambda m, n: [((m, n), BF16)],
        "  %y = hk.layer_norm %0, %1, %2 epsilon 1.0e-05 : {0}, {1}, {2} -> {3}", layer_norm),
    "add_rms_norm": Operator(
        lambda m, n: [((m, n), BF16), ((m, n), BF16), ((n,), BF16)],
        lambda m, n: [((m, n), BF16), ((m, n), BF16)],
        "  %z = hk.add %0, %1 : {0}, {1} -> {4}\n"
        "  %y = hk.rms_norm %z, %2 epsilon 1.0e-05 : {4}, {2} -> {3}", add_rms),
    "add_rms_norm_quant": Operator(
        lambda m, n: [((m, n), BF16), ((m, n), BF16), ((n,), BF16)],
        lambda m, n: [((m, n), CODE), ((m, n // 128), F32), ((m, n), BF16)],
        "  %u = hk.add %0, %1 : {0}, {1} -> {5}\n"
        "  %n = hk.rms_norm %u, %2 epsilon 1.0e-05 : {5}, {2} -> {5}\n"
        "  %y, %z = hk.quantize per_group %n amax_floor 1.0e-10 : {5} -> {3}, {4}",
        add_rms_quant),
    "silu_and_mul": Operator(
        lambda m, n: [((m, 2 * n), BF16)], lambda m, n: [((m, n), BF16)],
        "  %y = hk.gated_activation silu %0 : {0} -> {1}", silu_mul),
    "silu_and_mul_quant": Operator(
        lambda m, n: [((m, 2 * n), BF16)], lambda m, n: [((m, n), CODE), ((m, n // 128), F32)],
        "  %a = hk.gated_activation silu %0 : {0} -> tensor<{rows}x{width}xbf16>\n"
        "  %y, %z = hk.quantize per_group %a amax_floor 1.0e-10 : "
        "tensor<{rows}x{width}xbf16> -> {1}, {2}",
        lambda x: quant_group(silu_mul(x))),
    "softmax": Operator(
        lambda m, n: [((m, n), F32)], lambda m, n: [((m, n), F32)],
        "  %y = hk.softmax %0 : {0} -> {1}", lambda x: x.softmax(-1)),
    "softmax_16bit": Operator(
        lambda m, n: [((m, n), BF16)], lambda m, n: [((m, n), BF16)],
        "  %y = hk.softmax %0 : {0} -> {1}", lambda x: x.softmax(-1)),
    "softmax_topk": Operator(
        lambda m, n: [((m, n), F32)], lambda m, n: [((m, 8), F32), ((m, 8), I32)],
        "  %p = hk.softmax %0 : {0} -> {0}\n"
        "  %y, %z = hk.topk %p : {0} -> {1}, {2}", softmax_topk),
    "quantize_token": Operator(
        lambda m, n: [((m, n), BF16)], lambda m, n: [((m, n), CODE), ((m, 1), F32)],
        "  %y, %z = hk.quantize per_token %0 : {0} -> {1}, {2}", quant_token),
    "rope": Operator(  # width: query heads x 128; a quarter as many key heads
        lambda m, n: [((m, n // 128, 128), BF16), ((m, n // 512, 128), BF16),
                      ((16384, 64), F32), ((16384, 64), F32), ((m,), I32)],
        lambda m, n: [((m, n // 128, 128), BF16), ((m, n // 512, 128), BF16)],
        "  %y = hk.rope neox %0, %2, %3 positions %4 : {0}, {2}, {3} positions {4} -> {5}\n"
        "  %z = hk.rope neox %1, %2, %3 positions %4 : {1}, {2}, {3} positions {4} -> {6}", rope),
}

GPU = [("rms_norm", 16384, 8192), ("rms_norm", 16384, 7168), ("rms_norm", 4096, 4096),
       ("add_rms_norm", 16384, 8192), ("add_rms_norm", 16384, 7168), ("add_rms_norm", 4096, 4096),
       ("add_rms_norm_quant", 16384, 8192), ("add_rms_norm_quant", 16384, 7168),
       ("silu_and_mul", 8192, 14336), ("silu_and_mul_quant", 8192, 14336),
       ("softmax", 8192, 4096), ("softmax", 1024, 131072), ("quantize_token", 16384, 4096),
       ("softmax_topk", 8192, 256), ("layer_norm", 16384, 8192), ("rope", 16384, 4096),
       ("rms_norm", 16, 4096), ("add_rms_norm", 16, 4096), ("add_rms_norm_quant", 16, 4096),
       ("silu_and_mul", 16, 14336), ("silu_and_mul_quant", 16, 14336), ("softmax", 16, 4096),
       ("quantize_token", 16, 4096), ("rope", 16, 4096),
       # Widths that are no power of two, of which some leave threads without work.
       ("softmax", 4096, 50257), ("rms_norm", 8192, 2880), ("rms_norm", 16384, 3072),
       ("rms_norm", 16384, 5120), ("layer_norm", 16384, 1280), ("layer_norm", 16384, 5120),
       ("add_rms_norm", 8192, 2880), ("quantize_token", 16384, 7168),
       ("add_rms_norm_quant", 4096, 5120)]
# Rows that begin at any element.
ODD = [("softmax", 4096, 50257), ("softmax", 8192, 1001), ("softmax", 8192, 4001), ("rms_norm", 8192, 2881),
       ("layer_norm", 16384, 1281), ("add_rms_norm", 8192, 2881), ("softmax_16bit", 4096, 50257),
       ("softmax_16bit", 8192, 1001), ("rms_norm", 4096, 14337)]
HOST = [(name, 16384, 4096) for name in OPERATORS]


def name_of(case):
    return f"{case[0]}_{case[1]}x{case[2]}"


def main():
    cases, code = {"gpu": (GPU, "f8E4M3FN"), "odd": (ODD, "f8E4M3FN"), "host": (HOST, "i8")}[sys.argv[1]]
    with open(sys.argv[2], "w") as out:
        for case in cases:
            operator, rows, width = case
            out.write(OPERATORS[operator].function(name_of(case), rows, width, code))


if __name__ == "__main__":
    main()
