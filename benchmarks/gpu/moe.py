"""Checks and times products of experts on one GPU, hk beside torch's grouped products.

  moe.py modules FOLDER          writes moe_LOOP.mlir for the loops `blocks` and `warp`, which
                                 hk.gemm_loop pins, and moe_model.mlir, where the model has
                                 the choice; compile each for sm_90a beside it (.so), or one
                                 of them; further moe_SIDE.so, moe_SIDE-PART.so are further
                                 sides
  moe.py time FOLDER [NAME..]    prints JSON, a line per product and number of tokens; NAME:
                                 mixtral_bf16_down, or with the tokens mixtral_bf16_down/4096
  moe.py check FOLDER [NAME..]   routings that are none of a model's: all rows to one expert,
                                 groups that end anywhere and are empty, places without a row,
                                 blocks without an expert, no tokens; prints the largest error
                                 of a row relative to f32 sums, rows of zeros among them

Products are named MODEL_KIND_PART. Kinds: bf16; columns, the same with weights [E, K, N]; fp8
with a scale per token and per column of an expert; blocks, fp8 with 1x128 and 128x128 scales;
mxfp4, bf16 times e2m1 with e8m0 scales, GPT-OSS' gate over alternating columns.
Parts: `up` gathers the rows of the tokens by the order of the experts and has the gate in its
epilogue; for torch that is three operators, the last one compiled. `down`: rows lie as their
experts do. sorted_up and sorted_down are the same by ids sorted into blocks of 64 places of one
expert, whose results go where the ids say; torch does the work of up and down beside them.

Per line: the error of each side relative to f32 sums per expert, and medians of 7 means of calls
that follow each other, the sides in turns: of up to 64 tokens of a graph of calls with four
routings. dense: torch's product of as many rows and one matrix, without gather and gate. Rates:
TFLOP/s, and of up to 64 tokens the touched matrices' bytes in GB/s beside those that a copy of
1 GiB moves. least_us: what dense takes, or what all bytes take once at a copy's rate, if that is
longer: no product of groups is quicker by these. torch has no grouped product with scales of blocks: `blocks` is beside one with
scales of rows, `mxfp4` beside one of bf16 weights. triton, where it is installed: moe_triton.py in
the fastest of its tiles, behind its `up` the gate as torch has it. HK_HOME: see python/README.md.
"""

import functools
import json
import pathlib
import statistics
import sys

import gemm

# Experts, experts of a token, columns in and between, kinds.
SHAPES = {"mixtral": (8, 2, 4096, 14336, ("bf16", "columns")), "qwen3": (128, 8, 2048, 768, ("bf16",)),
          "deepseek": (256, 8, 7168, 2048, ("fp8", "blocks")), "gptoss": (128, 4, 2880, 2880, ("bf16", "mxfp4")),
          "llama4": (16, 1, 5120, 8192, ("bf16",))}
TOKENS = (1, 64, 512, 4096)
LOOPS = {"blocks": "blocks", "warp": "warp_specialised", "model": None}
FP4 = (0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6)
PARTS = ("up", "down", "sorted_up", "sorted_down")
BLOCK = 64
FEW = 64
ROUTINGS = 4


def products():
    for model, (*_, kinds) in SHAPES.items():
        for kind in kinds:
            for part in PARTS[:2] if kind == "mxfp4" else PARTS:
                yield model, kind, part


def product_text(model, kind, part):
    e, k, h, i, _ = SHAPES[model]
    up = part.endswith("up")
    n, depth = (2 * i, h) if up else (h, i)
    element = "f8E4M3FN" if kind in ("fp8", "blocks") else "bf16"
    x, y = f"tensor<?x{depth}x{element}>", f"tensor<?x{n}xbf16>"
    w = f"tensor<{e}x{depth}x{n}xbf16>" if kind == "columns" else f"tensor<{e}x{n}x{depth}x{element}>"
    arguments, scales, scale_types = [("x", x), ("w", w)], "", ""
    if kind == "mxfp4":
        w, t = w.replace("xbf16", "xf4E2M1FN"), f"tensor<{e}x{n}x{depth // 32}xf8E8M0FNU>"
        arguments = [("x", x), ("w", w), ("t", t)]
        scales, scale_types = "scales (none, %t) ", f" scales (none, {t})"
    if element != "bf16":
        s, t = (("tensor<?x1xf32>", f"tensor<{e}x{n}x1xf32>") if kind == "fp8" else
                (f"tensor<?x{-(-depth // 128)}xf32>", f"tensor<{e}x{-(-n // 128)}x{-(-depth // 128)}xf32>"))
        arguments += [("s", s), ("t", t)]
        scales, scale_types = "scales (%s, %t) ", f" scales ({s}, {t})"
    options = "" if kind == "columns" else " transpose_b"
    order = "tensor<?xi32>"
    if part.startswith("sorted"):
        arguments += [("experts", order), ("order", order)]
        form, types = "blocks %experts order %order", f"groups {order} order {order}"
        options += f" block {BLOCK}" + (f" top_k {k}" if up else "")
    else:
        groups = f"tensor<{e + 1}xi32>"
        arguments.append(("bounds", groups))
        form, types = "bounds %bounds", f"groups {groups}"
        if up:
            arguments.append(("order", order))
            form, types, options = form + " order %order", types + f" order {order}", options + f" top_k {k}"
    if element != "bf16":
        options += " accumulation tensor_core"
    result, gate, last = y, "", "%y"
    if up:
        result, last = f"tensor<?x{i}xbf16>", "%g"
        form_of_gate = ("swiglu_oai %y limit 7.0 interleaved" if kind == "mxfp4" else "silu %y")
        gate = f"  %g = hk.gated_activation {form_of_gate} : {y} -> {result}\n"
    return (f"func.func @{model}_{kind}_{part}(" + ", ".join(f"%{a}: {t}" for a, t in arguments) + f") -> {result} {{\n"
            f"  %y = hk.grouped_matmul %x, %w {scales}{form}{options} : {x}, {w}{scale_types} {types} -> {y}\n"
            f"{gate}  return {last} : {result}\n}}\n")


def text(loop, wanted=lambda *product: True):
    return (('module attributes {hk.gemm_loop = "%s"} {\n' % LOOPS[loop] if LOOPS[loop] else "module {\n") +
            "".join(product_text(*p) for p in products() if wanted(*p)) + "}\n")


def sorted_blocks(torch, order, bounds, e, block=BLOCK):
    """The expert of each block, and the ids at its places, -1 for none."""
    counts = bounds[1:] - bounds[:-1]
    blocks = (counts + block - 1) // block
    most = (len(order) + min(e, len(order)) * (block - 1) + block - 1) // block
    first = (blocks.cumsum(0) - blocks) * block
    of = torch.repeat_interleave(torch.arange(e, device="cuda"), counts.long())
    ids = torch.full((most * block,), -1, dtype=torch.int32, device="cuda")
    ids[first[of] + torch.arange(len(order), device="cuda") - bounds[:-1][of]] = order
    experts = torch.full((most,), -1, dtype=torch.int32, device="cuda")
    used = torch.repeat_interleave(torch.arange(e, device="cuda"), blocks.long())
    experts[:len(used)] = used.int()
    return experts, ids


def codes(torch, *shape):
    """fp8 numbers below 2: any bits but the exponent's first."""
    values = torch.empty(shape, dtype=torch.uint8, device="cuda")
    for part in values:
        part.random_(0, 256).bitwise_and_(0xBF)
    return values.view(torch.float8_e4m3fn)


@functools.lru_cache(maxsize=1)
def weights(torch, e, n, depth, kind):
    """What torch multiplies, what hk does, and its scales."""
    if kind in ("fp8", "blocks"):
        w = codes(torch, e, n, depth)
        shape = (e, n, 1) if kind == "fp8" else (e, -(-n // 128), -(-depth // 128))
        return w, (w,), torch.rand(shape, device="cuda") / 64
    w = torch.randn(e, n, depth, device="cuda", dtype=torch.bfloat16) / 64
    if kind == "columns":
        return w, (w.mT.contiguous(),), None
    if kind == "bf16":
        return w, (w,), None
    packed = torch.randint(0, 256, (e, n, depth // 2), device="cuda", dtype=torch.uint8)
    scales = torch.randint(118, 122, (e, n, depth // 32), device="cuda", dtype=torch.uint8)
    table = torch.tensor(FP4, device="cuda", dtype=torch.bfloat16)
    for to, own, s in zip(w, packed, scales):
        values = table[torch.stack((own & 15, own >> 4), -1).flatten(-2).int()]
        to.copy_(values * torch.exp2(s.float() - 127).bfloat16().repeat_interleave(32, -1))
    return w, (packed, scales), None


class Product:
    """One product, its operands and both sides' calls."""

    def __init__(self, torch, model, kind, part, tokens):
        self.torch, self.kind, self.tokens = torch, kind, tokens
        self.e, self.k, h, i, _ = SHAPES[model]
        self.up, self.sorted = part.endswith("up"), part.startswith("sorted")
        self.n, self.depth = (2 * i, h) if self.up else (h, i)
        self.rows = tokens if self.up else tokens * self.k
        self.w, self.own, self.t = weights(torch, self.e, self.n, self.depth, kind)
        self.bytes = 0.5 + 1 / 32 if kind == "mxfp4" else self.w.element_size()
        self.scales = ()
        if self.t is None:
            self.x = torch.randn(self.rows, self.depth, device="cuda", dtype=torch.bfloat16)
        else:
            self.x = codes(torch, self.rows, self.depth)
            self.s = torch.rand(self.rows, self.t.shape[2], device="cuda") + 0.5
            self.scales = (self.s, self.t)
        self.routings = [self.route() for _ in range(ROUTINGS if tokens <= FEW else 1)]

    def route(self):
        torch = self.torch
        ids = torch.rand(self.tokens, self.e, device="cuda").topk(self.k, -1).indices.flatten()
        order = ids.argsort(stable=True).int()
        bounds = torch.zeros(self.e + 1, dtype=torch.int32, device="cuda")
        bounds[1:] = ids.bincount(minlength=self.e).cumsum(0)
        return order, bounds

    def inputs(self, order, bounds):
        first = (self.x, *self.own, *self.scales)
        if self.sorted:
            # Rows of the second product lie as the ids count, not as they are sorted.
            return (*first, *sorted_blocks(self.torch, order, bounds, self.e))
        return (*first, bounds, order) if self.up else (*first, bounds)

    def result(self):
        return self.torch.empty(self.tokens * self.k, self.n // 2 if self.up else self.n, device="cuda",
                                dtype=self.torch.bfloat16)

    def peers(self, order, bounds, gate):
        """torch's grouped product; one of as many rows and a matrix."""
        torch, w = self.torch, self.w.mT
        ends, source = bounds[1:].contiguous(), order // self.k
        if not self.scales:
            wide = self.x[source] if self.up else self.x

            def grouped():
                y = torch._grouped_mm(self.x[source] if self.up else self.x, w, ends)
                return gate(y) if self.up else y
            return grouped, lambda: wide @ w[0]
        s = self.s[:, 0].contiguous()
        t = self.t.repeat_interleave(128, 1)[:, :self.n, 0].contiguous() if self.kind == "blocks" else self.t[..., 0]
        codes = self.x.view(torch.uint8)

        def gathered(rows):
            return codes[source].view(torch.float8_e4m3fn) if self.up else self.x

        def grouped():
            y = torch._scaled_grouped_mm(gathered(self.x), w, s[source] if self.up else s, t, ends,
                                         out_dtype=torch.bfloat16)
            return gate(y) if self.up else y
        wide = gathered(self.x)
        own, other = (self.s[source] if self.up else self.s), self.t[0].T
        if self.kind == "blocks":
            own = own.T.contiguous().T
        return grouped, lambda: torch._scaled_mm(wide, w[0], own, other, out_dtype=torch.bfloat16)

    def expected(self, order, bounds):
        torch = self.torch
        rows = order // self.k if self.up else order if self.sorted else torch.arange(len(order), device="cuda")
        good = torch.empty(len(order), self.n // 2 if self.up else self.n, device="cuda")
        ends = bounds.tolist()
        for e, (begin, end) in enumerate(zip(ends, ends[1:])):
            if begin == end:
                continue
            x, w = self.x[rows[begin:end].long()] if not self.scales else self.x.view(torch.uint8)[
                rows[begin:end].long()].view(torch.float8_e4m3fn), self.w[e]
            x, w = x.float(), w.float()
            if self.scales:
                s, t = self.s[rows[begin:end].long()], self.t[e]
                if self.kind == "blocks":
                    s = s.repeat_interleave(128, 1)[:, :self.depth]
                    t = t.repeat_interleave(128, 0).repeat_interleave(128, 1)[:self.n, :self.depth]
                x, w = x * s, w * t
            y = x @ w.T
            if self.up:
                y = self.gate(y.bfloat16().float())
            good[begin:end] = y
        return torch.empty_like(good).index_copy_(0, order.long(), good) if self.sorted else good

    def gate(self, y):
        if self.kind != "mxfp4":
            a, b = y.chunk(2, -1)
            return self.torch.nn.functional.silu(a) * b
        a, b = y[:, ::2].clamp(max=7), y[:, 1::2].clamp(-7, 7)
        return a * self.torch.sigmoid(1.702 * a) * (b + 1)

    def weight_bytes(self):
        """Of the matrices that the mean routing touches."""
        touched = statistics.mean(int((b[1:] > b[:-1]).sum()) for _, b in self.routings)
        return touched * self.n * self.depth * self.bytes

    def all_bytes(self):
        """Those, the rows and the results, each once; of rows no scales."""
        results = self.tokens * self.k * (self.n // 2 if self.up else self.n) * 2
        return self.weight_bytes() + self.x.numel() * self.x.element_size() + results


def mean_us(torch, call, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count * 1e3


def copy_gbps(torch):
    a = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() / min(mean_us(torch, lambda: b.copy_(a), 5) for _ in range(4)) * 1e-3


def add_triton(torch, product, gate, calls, good, row):
    """The Triton product of moe_triton.py as a side, of its best configuration; its error without a gate."""
    try:
        import moe_triton
    except ImportError:
        return
    side = moe_triton.Product(torch, product, sorted_blocks)
    gate = gate if product.up else None
    best = side.fastest(mean_us, gate)
    if best is None:
        return
    row["triton_tile"] = "x".join(map(str, best[0]))
    own = [side.call(*r, best[0], gate) for r in product.routings]
    calls["triton"] = [call for call, _ in own]
    if not product.up:
        calls["triton"][0]()
        row["triton_error"] = ((own[0][1].float() - good).norm() / good.norm()).item()


def measure(torch, programs, gate, copied, model, kind, part, tokens):
    product = Product(torch, model, kind, part, tokens)
    name = f"{model}_{kind}_{part}"
    row = {"product": name, "tokens": tokens}
    calls, good = {}, product.expected(*product.routings[0])
    for side, program in programs(name):
        outs = [product.result() for _ in product.routings]
        calls[side] = [program[name].bind(*product.inputs(*r), out=o) for r, o in zip(product.routings, outs)]
        calls[side][0]()
        off = outs[0].float() - good
        row[f"{side}_error"] = (off.norm() / good.norm()).item()
        row[f"{side}_worst_error"] = (off.norm(dim=-1) / good.norm(dim=-1)).max().item()
    if kind != "columns":
        add_triton(torch, product, gate, calls, good, row)
    del good
    peers = [product.peers(*r, gate) for r in product.routings]
    calls["torch"] = [p[0] for p in peers]
    if tokens > FEW:
        calls["dense"] = [peers[0][1]]
    for side in [s for s in ("torch", "dense") if s in calls]:
        try:
            calls[side][0]()
        except (RuntimeError, ValueError) as refusal:  # of another version of torch
            row[f"{side}_refuses"] = str(refusal)[:80]
            del calls[side]
    per = len(product.routings)
    if tokens <= FEW:
        calls = {side: gemm.graph_of(torch, own, 4).replay for side, own in calls.items()}
        per *= 4
    else:
        calls = {side: own[0] for side, own in calls.items()}
    for call in calls.values():
        call()
    count = max(3, int(1e4 / max(mean_us(torch, next(iter(calls.values())), 2), 1)))
    times = {side: [] for side in calls}
    for turn in range(7):
        for side in list(calls)[::-1 if turn % 2 else 1]:
            times[side].append(mean_us(torch, calls[side], count) / per)
    flops = 2 * tokens * product.k * product.n * product.depth
    for side, own in times.items():
        row[f"{side}_us"] = statistics.median(own)
        if tokens > FEW:
            row[f"{side}_TFLOPs"] = flops / row[f"{side}_us"] * 1e-6
        else:
            row[f"{side}_GBps"] = product.weight_bytes() / row[f"{side}_us"] * 1e-3
    if tokens <= FEW:
        row["copy_GBps"] = copied
    elif "dense_us" in row:
        row["least_us"] = max(row["dense_us"], product.all_bytes() / copied * 1e-3)
    return {n: v if isinstance(v, str) else round(v, 5 if "error" in n else 1) for n, v in row.items()}


def uneven(torch, product):
    """Groups of any size, every third one empty."""
    cuts = torch.randint(0, product.tokens * product.k + 1, (product.e,), device="cuda").sort().values.int()
    cuts[1::3] = cuts[::3][:len(cuts[1::3])]
    cuts[-1] = product.tokens * product.k
    return torch.cat((cuts.new_zeros(1), cuts))


def without(torch, product, inputs, order):
    """The inputs with a third of the places, or of the blocks, empty; rows of the result that stay."""
    *rest, last = inputs
    if product.sorted:
        experts, ids = rest[-1].clone(), last.clone()
        experts[::3] = -1
        ids[5::7] = -1
        keep = torch.zeros(len(order), dtype=torch.bool, device="cuda")
        there = ids[(experts.repeat_interleave(BLOCK) >= 0) & (ids >= 0)]
        keep[there.long()] = True
        return (*rest[:-1], experts, ids), keep
    drop = torch.arange(len(order), device="cuda") % 3 == 1
    return (*rest, last.masked_fill(drop, -1)), ~drop


def check(torch, programs, model, kind, part, tokens):
    product = Product(torch, model, kind, part, tokens)
    order, bounds = product.routings[0]
    one = torch.zeros_like(bounds)
    one[product.e // 2 + 1:] = len(order)
    row = {"product": f"{model}_{kind}_{part}", "tokens": tokens}
    for case, own in (("model", bounds), ("one", one), ("uneven", uneven(torch, product)), ("without", bounds)):
        inputs, good = product.inputs(order, own), product.expected(order, own)
        if case == "without" and (product.up or product.sorted):
            inputs, keep = without(torch, product, inputs, order)
            good[~keep] = 0
        for side, program in programs(row["product"]):
            out = product.result().fill_(float("nan"))
            program[row["product"]].bind(*inputs, out=out)()
            off = (out.float() - good).norm(dim=-1) / good.norm(dim=-1).clamp(min=1e-6)
            row[f"{side}_{case}"] = round(off.max().item(), 5) if len(off) else 0.0
    return row


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("modules", "time", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "modules":
        for loop in LOOPS:
            (folder / f"moe_{loop}.mlir").write_text(text(loop))
        return 0
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    load = functools.cache(lambda path: hk.load(path, "cuda:0"))

    def programs(name):
        for path in sorted(folder.glob("moe_*.so")):
            if f"_{name}_run".encode() in path.read_bytes():  # assembled only where it is called
                yield path.stem[4:].split("-")[0], load(path)

    @torch.compile(dynamic=True)
    def gate(y):
        a, b = y.chunk(2, -1)
        return torch.nn.functional.silu(a) * b
    copied = copy_gbps(torch)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "copy_GBps": round(copied)}))
    todo = [(p, n) for p in products() for n in TOKENS]
    # In the order of the names, if there are any.
    for wanted in sys.argv[3:] or [""]:
        for product, tokens in todo:
            if f"{'_'.join(product)}/{tokens}".startswith(wanted):
                if sys.argv[1] == "time":
                    print(json.dumps(measure(torch, programs, gate, copied, *product, tokens)), flush=True)
                else:
                    for count in (0, min(tokens, 700), tokens):
                        print(json.dumps(check(torch, programs, *product, count)), flush=True)
                torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
