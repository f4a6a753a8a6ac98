#!/usr/bin/env python3
"""Gradients of attention whose scores lie far below zero, on a GPU beside float64.

  backward_low.py graph > low.mlir          then hk-compile --target=sm_90a -o low.so
  backward_low.py run low.so                on the machine with the GPU

exp(0 - lse) of such a row is infinite, so what lies behind the last key must take part in no sum.
Shapes are those whose queries' gradients are summed in the blocks' order; three calls each, whose
bits are compared.
"""

import pathlib
import sys

SCALE = 0.0883883476
#: Name: sequences, queries, keys, heads, heads of keys, causal.
CASES = {"even": (8, 1100, 1100, 8, 8, False), "groups": (8, 1100, 1290, 16, 4, False),
         "causal": (8, 1100, 1100, 16, 4, True)}


def graph(name, b, s, n, h, g, causal):
    q, k = f"tensor<{b}x{s}x{h}x128xbf16>", f"tensor<{b}x{n}x{g}x128xbf16>"
    rows = f"tensor<{b}x{s}x{h}xf32>"
    return (f"func.func @{name}(%q: {q}, %k: {k}, %v: {k}, %do: {q}, %l: {rows}, %d: {rows}) -> ({q}, {k}, {k}) {{\n"
            f"  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %d scale {SCALE}{' causal' * causal} : "
            f"{q}, {k}, {k}, {q}, {rows} -> {q}, {k}, {k}\n  return %0#0, %0#1, %0#2 : {q}, {k}, {k}\n}}")


def expected(torch, q, k, v, do, causal):
    """Gradients of one sequence, log-sum-exp and delta in float64."""
    q, k, v, do = (x.transpose(1, 2).double() for x in (q, k, v, do))
    group = q.shape[1] // k.shape[1]
    keys, values = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q @ keys.transpose(-1, -2) * SCALE
    if causal:
        seen = torch.ones(scores.shape[-2:], device=q.device, dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        scores.masked_fill_(~seen, float("-inf"))
    lse = scores.logsumexp(-1)
    p = (scores - lse[..., None]).exp()
    delta = (p @ values * do).sum(-1)
    ds = p * (do @ values.transpose(-1, -2) - delta[..., None]) * SCALE
    grouped = [x.reshape(1, -1, group, *x.shape[2:]).sum(2) for x in (ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ do)]
    return [x.transpose(1, 2) for x in (ds @ keys, *grouped, lse, delta)]


def run(path):
    import torch
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import hk
    program = hk.load(path, "cuda:0")
    torch.manual_seed(0)
    for name, (b, s, n, h, g, causal) in CASES.items():
        for low in (False, True):
            q, k, v, do = (torch.randn(*shape, 128, device="cuda") for shape in ((b, s, h), (b, n, g), (b, n, g), (b, s, h)))
            if low:
                q[..., 0], k[..., 0] = 30, -40
            operands = [x.bfloat16() for x in (q, k, v, do)]
            parts = [expected(torch, *(x[i:i + 1] for x in operands), causal) for i in range(b)]
            *want, lse, delta = (torch.cat(x) for x in zip(*parts))
            call = program[name].bind(*operands, lse.float().contiguous(), delta.float().contiguous(),
                                      out=(outs := [torch.empty_like(x) for x in operands[:3]]))
            bits = []
            for _ in range(3):
                for out in outs:
                    out.fill_(float("nan"))
                call()
                torch.cuda.synchronize()
                bits.append([out.view(torch.int16).clone() for out in outs])
            errors = [f"{((o.double() - w).norm() / w.norm()).item():.2e}" for o, w in zip(outs, want)]
            print(name, "low" if low else "usual", "dq, dk, dv", *errors, "least lse", f"{lse.min().item():.0f}",
                  "equal bits" if all(torch.equal(x, y) for x, y in zip(bits[0] * 2, bits[1] + bits[2])) else "OTHER BITS")


if __name__ == "__main__":
    if sys.argv[1:] == ["graph"]:
        print("\n".join(graph(name, *case) for name, case in CASES.items()))
    elif len(sys.argv) == 3 and sys.argv[1] == "run":
        run(sys.argv[2])
    else:
        sys.exit(__doc__)
