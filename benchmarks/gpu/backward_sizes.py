#!/usr/bin/env python3
"""Gradients of attention whose sizes only a call knows, on a GPU: beside float64, and in time beside
the same with known sizes and PyTorch's.

  backward_sizes.py graph > sizes.mlir      then hk-compile --target=sm_90a -o sizes.so, and with
                                            --no-order-launches -o apart.so
  backward_sizes.py check sizes.so          on the machine with the GPU
  backward_sizes.py time sizes.so apart.so [sizes.so of another compiler]

check: relative errors, of ragged sequences the largest of any; three calls each over results that
are NaN before, whose bits are compared. NaN lies behind the last offset of ragged tensors, and
once in all operands of one sequence, which no other may see. time: medians of replays in turns.
"""

import pathlib
import sys

import backward_low

SCALE = backward_low.SCALE
#: Name: heads, heads of keys, options, how sequences lie.
FUNCTIONS = {"causal": (32, 8, "causal", "dense"), "even": (8, 8, "", "dense"),
             "window": (16, 4, "window_left 700 window_right 64", "dense"),
             "cap": (32, 8, "causal softcap 20.0", "dense"), "one": (32, 8, "causal", "single"),
             "ragged_causal": (32, 8, "causal", "ragged"), "ragged_even": (8, 8, "", "ragged"),
             "ragged_window": (16, 4, "window_left 700 window_right 64", "ragged"),
             "ragged_cap": (32, 8, "causal softcap 20.0", "ragged")}
STATIC = {"static_2_8192": (2, 8192, 32, 8), "static_8_2048": (8, 2048, 32, 8)}
#: Queries and keys of each sequence. Of a function those that take the ordered kernel and others.
DENSE = {"causal": [(8, 1100, 1100), (4, 2100, 1290), (2, 1100, 3000), (1, 100, 130), (3, 20, 500)],
         "even": [(12, 1100, 1290), (2, 65, 1)], "window": [(13, 1500, 1300)], "cap": [(4, 2048, 2048)],
         "one": [(1, 4300, 4300), (1, 70, 90)]}
RAGGED = {"ragged_causal": [((1500, 1, 0, 2000, 777, 3100, 64), (1500, 129, 50, 2100, 600, 3100, 0)),
                            ((64, 100, 90), (64, 200, 1))],
          "ragged_even": [((3000, 1000, 900, 5, 2000, 3000), (3000, 1, 900, 500, 2001, 2900))],
          "ragged_window": [((3000, 1000, 0, 2000, 2500) * 2, (3000, 1700, 300, 1900, 2500) * 2)],
          "ragged_cap": [((4000, 130, 3000), (4000, 128, 3000))]}
#: Sequences that time compares.
LENGTHS = {"2 x 8192": [8192] * 2, "8 x 2048": [2048] * 8, "200 to 9000": [200, 9000, 1200, 500, 2500, 700, 2284]}


def graph(name, h, g, options, layout, sizes=("?", "?")):
    lead = {"dense": f"{sizes[0]}x{sizes[1]}x", "single": "?x", "ragged": "?x"}[layout]
    q, k, rows = f"tensor<{lead}{h}x128xbf16>", f"tensor<{lead}{g}x128xbf16>", f"tensor<{lead}{h}xf32>"
    bounds = "tensor<?xi32>"
    more = layout == "ragged"
    return (f"func.func @{name}(%q: {q}, %k: {k}, %v: {k}, %do: {q}, %l: {rows}, %d: {rows}"
            f"{f', %a: {bounds}, %b: {bounds}' * more}) -> ({q}, {k}, {k}) {{\n"
            f"  %0:3 = hk.attention_backward %q, %k, %v, %do, %l, %d{' q_offsets %a kv_offsets %b' * more} "
            f"scale {SCALE} {options} : {q}, {k}, {k}, {q}, {rows}"
            f"{f' q_offsets {bounds} kv_offsets {bounds}' * more} -> {q}, {k}, {k}\n"
            f"  return %0#0, %0#1, %0#2 : {q}, {k}, {k}\n}}")


def expected(torch, q, k, v, do, options):
    """Gradients of one sequence [rows, heads, size], log-sum-exp and delta, in float64."""
    if not len(q) or not len(k):
        rows = q.new_zeros(q.shape[:2], dtype=torch.float64)
        return [torch.zeros_like(x, dtype=torch.float64) for x in (q, k, v)] + [rows - float("inf"), rows]
    q, k, v, do = (x.transpose(0, 1).double() for x in (q, k, v, do))
    group, words = len(q) // len(k), options.split()
    keys, values = (x.repeat_interleave(group, 0) for x in (k, v))
    scores = q @ keys.transpose(-1, -2) * SCALE
    slope = 1
    if "softcap" in words:
        cap = float(words[words.index("softcap") + 1])
        scores = cap * (scores / cap).tanh()
        slope = 1 - (scores / cap) ** 2
    own = torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1]
    column = torch.arange(k.shape[1], device=q.device)
    seen = torch.ones_like(scores[0], dtype=torch.bool)
    if "causal" in words:
        seen &= column <= own
    if "window_left" in words:
        seen &= column >= own - int(words[words.index("window_left") + 1])
        seen &= column <= own + int(words[words.index("window_right") + 1])
    scores = scores.masked_fill(~seen, float("-inf"))
    lse = scores.logsumexp(-1)
    p = (scores - lse[..., None]).exp().nan_to_num(0)
    delta = (p @ values * do).sum(-1)
    ds = p * (do @ values.transpose(-1, -2) - delta[..., None]) * slope * SCALE
    grouped = [x.reshape(len(k), group, *x.shape[1:]).sum(1) for x in (ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ do)]
    return [x.transpose(0, 1) for x in (ds @ keys, *grouped, lse, delta)]


class Call:
    """One call on sequences whose rows follow each other, `lengths` queries and `keys` keys."""

    def __init__(self, torch, program, name, lengths, keys, spare=0):
        self.torch, self.name = torch, name
        self.h, self.g, self.options, self.layout = FUNCTIONS.get(name) or (32, 8, "causal", "dense")
        self.lengths, self.keys, self.spare = lengths, keys, spare
        self.function = program[name]
        self.operands = [torch.randn(sum(n) + spare, heads, 128, device="cuda").bfloat16()
                         for n, heads in ((lengths, self.h), (keys, self.g), (keys, self.g), (lengths, self.h))]
        for x in self.operands:
            x[len(x) - spare:] = float("nan")

    def split(self, x, lengths):
        return x[:sum(lengths)].split(list(lengths))

    def parts(self):
        return zip(*(self.split(x, n) for x, n in zip(self.operands, (self.lengths, self.keys, self.keys, self.lengths))))

    def expect(self):
        """As the gradients of each sequence; sets log-sum-exp and delta."""
        torch = self.torch
        each = [expected(torch, *part, self.options) for part in self.parts()]
        self.rows = [torch.cat([e[i] for e in each]).float() for i in (3, 4)]
        nan = torch.full((self.spare, self.h), float("nan"), device="cuda")
        self.rows = [torch.cat([r, nan]) for r in self.rows]
        return [e[:3] for e in each]

    def bind(self, rows=None):
        torch = self.torch
        arguments = [*self.operands, *(rows or self.rows)]
        if self.layout == "dense":
            arguments = [x.view(len(self.lengths), -1, *x.shape[1:]) for x in arguments]
        self.outs = [torch.empty_like(x) for x in arguments[:3]]
        if self.layout == "ragged":
            arguments += [torch.tensor([0, *n], device="cuda").cumsum(0).int() for n in (self.lengths, self.keys)]
        return self.function.bind(*arguments, out=self.outs)

    def results(self, call):
        for out in self.outs:
            out.fill_(float("nan"))
        call()
        self.torch.cuda.synchronize()
        flat = [out.reshape(-1, *out.shape[-2:]).clone() for out in self.outs]
        return flat


def check_call(torch, program, name, lengths, keys):
    case = Call(torch, program, name, lengths, keys, spare=70 if name.startswith("ragged") else 0)
    wanted = case.expect()
    call = case.bind()
    results = [case.results(call) for _ in range(3)]
    bits = [[x.view(torch.int16) for x in r] for r in results]
    errors = []
    for i, n in enumerate((lengths, keys, keys)):
        got = case.split(results[0][i], n)
        errors.append(max((((o.double() - w[i]).norm() / w[i].norm().clamp(min=1e-3)).item() if len(o) else 0.
                           for o, w in zip(got, wanted)), key=lambda e: e if e == e else float("inf")))
    behind = all(not x[len(x) - case.spare:].any() for x in results[0]) if case.spare else True
    text = "equal bits" if all(torch.equal(x, y) for x, y in zip(bits[0] * 2, bits[1] + bits[2])) else "OTHER BITS"
    print(name, [*zip(lengths, keys)][:8], "dq, dk, dv", *(f"{e:.2e}" for e in errors), text,
          "" if behind else "NOT 0 BEHIND", flush=True)
    if case.layout == "ragged":
        alone(torch, case, bits[0])


def alone(torch, case, bits):
    """One sequence of NaN changes no bit of another."""
    worst = max(range(len(case.lengths)), key=lambda i: min(case.lengths[i], case.keys[i]))
    for part in list(case.parts())[worst]:
        part.fill_(float("nan"))
    for rows in case.rows:
        case.split(rows, case.lengths)[worst].fill_(float("nan"))
    again = [x.view(torch.int16) for x in case.results(case.bind())]
    same = all(torch.equal(x, y) for i, n in enumerate((case.lengths, case.keys, case.keys))
               for j, (x, y) in enumerate(zip(case.split(again[i], n), case.split(bits[i], n))) if j != worst)
    print("   beside a sequence of NaN:", "same bits" if same else "OTHER BITS", flush=True)


def check(torch, program):
    for name, cases in DENSE.items():
        for b, s, n in cases:
            check_call(torch, program, name, (s,) * b, (n,) * b)
    for name, cases in RAGGED.items():
        for lengths, keys in cases:
            check_call(torch, program, name, lengths, keys)


def cudnn(torch, case):
    aten, b = torch.ops.aten, len(case.lengths)
    q, k, v, do = (x.view(b, -1, *x.shape[1:]).transpose(1, 2) for x in case.operands)
    more = [x.repeat_interleave(case.h // case.g, 1) for x in (k, v)]
    out, lse, _, _, _, _, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(q, *more, None, True, 0.0, True, False)
    n = case.lengths[0]
    return lambda: aten._scaled_dot_product_cudnn_attention_backward(
        do, q, k, v, out, lse, seed, offset, None, None, None, n, n, 0.0, True)


def flash(torch, case):
    """FlashAttention of ragged sequences, as PyTorch has it; keys repeated for every query head."""
    aten = torch.ops.aten
    q, k, v, do = case.operands
    k, v = (x.repeat_interleave(case.h // case.g, 1) for x in (k, v))
    bounds = torch.tensor([0, *case.lengths], device="cuda").cumsum(0).int()
    most = max(case.lengths)
    out, lse, seed, offset, _ = aten._flash_attention_forward(q, k, v, bounds, bounds, most, most, 0.0, True, False)
    return lambda: aten._flash_attention_backward(do, q, k, v, out, lse, bounds, bounds, most, most, 0.0, True, seed, offset)


def time(torch, program, apart, before=None):
    from attention import take_turns
    for text, lengths in LENGTHS.items():
        even = len(set(lengths)) == 1
        names = {"ragged": (program, "ragged_causal"), "ragged apart": (apart, "ragged_causal")}
        if even:
            names |= {"static": (program, f"static_{len(lengths)}_{lengths[0]}"), "dynamic": (program, "causal"),
                      "dynamic apart": (apart, "causal")}
        if before:
            names |= {f"{side} before": (before, name) for side, (of, name) in names.items() if of is program}
        sides, kept = {}, []
        for side, (of, name) in names.items():
            case = Call(torch, of, name, lengths, lengths)
            kept.append(case)
            sides[side] = [case.bind([torch.rand(sum(lengths), case.h, device="cuda") + bias for bias in (9, 0)])]
        for side, peer in (("cudnn", cudnn), ("flash", flash)) if even else (("flash", flash),):
            try:
                sides[side] = [peer(torch, kept[0])]
                sides[side][0]()
            except RuntimeError as error:
                sides.pop(side, None)
                print(side, str(error).splitlines()[0])
        print(text, "us:", {side: round(t, 1) for side, t in take_turns(torch, sides).items()}, flush=True)


def main():
    if sys.argv[1:] == ["graph"]:
        print("\n".join(graph(name, *f) for name, f in FUNCTIONS.items()))
        print("\n".join(graph(name, h, g, "causal", "dense", (b, s)) for name, (b, s, h, g) in STATIC.items()))
        return
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    import torch
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import hk
    torch.manual_seed(0)
    programs = [hk.load(path, "cuda:0") for path in sys.argv[2:]]
    {"check": check, "time": time}[sys.argv[1]](torch, *programs)


if __name__ == "__main__":
    main()
