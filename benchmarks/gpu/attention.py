"""Checks and times hk's attention on one GPU beside cuDNN and FlashAttention, in one process.

  attention.py run FOLDER OUT.tar.xz  the calls of test/EndToEnd/attention-*.mlir that FOLDER has
                                      on cuda:0, beside their modules (--target=host,sm_90a)
  attention.py check FOLDER OUT       compares the results with the interpreter, where the
                                      compiler is
  attention.py behind FOLDER          caches with NaN behind the lengths, against float32
  attention.py time FOLDER [PREFIX..] hk and PyTorch's two backends on the functions of
                                      attention.mlir (attention.so) whose names begin so; a line
                                      of JSON for each

Every side is a graph of some calls, the sides' replays take turns, times are medians. Decode
steps go over caches of 400 MB and more, so that nothing stays in the L2 cache, and are compared
with a copy of 2 GB. HK_HOME: see python/README.md.
"""

import json
import pathlib
import re
import statistics
import sys

import gemm

CACHE_BYTES = 4e8
REPLAYS = 15


def load(folder, name):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import hk

    return hk.load(folder / name, "cuda:0")


def take_turns(torch, sides):
    """Median microseconds of a call of each side, a list of calls on different operands."""
    graphs, each = {}, {}
    for name, calls in sides.items():
        calls[0]()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        calls[0]()
        last.record()
        last.synchronize()
        repeat = max(1, int(2e-3 / (first.elapsed_time(last) * 1e-3) / len(calls)))
        each[name] = repeat * len(calls)
        graphs[name] = gemm.graph_of(torch, calls, repeat)
    times = {name: [] for name in sides}
    for _ in range(REPLAYS + 2):
        for name, graph in graphs.items():
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            times[name].append(first.elapsed_time(last) * 1e3 / each[name])
    return {name: statistics.median(t[2:]) for name, t in times.items()}


class Case:
    """A function of attention.mlir, its operands and both sides.

    Kinds: causal, full: queries of a prompt. decode: one query a sequence, keys in one tensor;
    paged, ragged, dynamic, latent: in pages of a cache; fp8, fp8paged: of 8 bits. prefill: keys
    of a prompt in pages of 16 rows, or of as many as the name says. extend: new tokens behind a cache
    of such pages. pod: a prompt beside decode steps. backward: gradients. window511: 511 keys in
    front of a query's own. capped, sink: a soft cap of 50, a sink, beside the same without.
    """

    def __init__(self, torch, program, name):
        self.torch, self.name, self.program, self.function = torch, name, program, program[name]
        kind, *sizes = name.split("_")
        self.mask = re.sub(r"(extend|prefill)\d+", r"\1", kind)
        # Keys that a query does not see.
        self.later = self.mask in ("causal", "extend", "prefill", "capped", "sink") or self.mask.startswith("window")
        self.window = int(self.mask[6:]) if self.mask.startswith("window") else None
        self.b, self.h, self.hk, self.sq, self.sk, self.d, self.dv = map(int, sizes)
        self.cached = self.sk - self.sq if self.mask == "extend" else self.sk
        self.decode = self.sq == 1
        # Peers align a causal mask of fewer queries at the first key.
        self.peer_mask = self.mask in ("full", "decode") or (self.mask == "causal" and self.sq == self.sk)
        self.lengths = [self.cached] * self.b
        if self.mask in ("ragged", "dynamic"):
            generator = torch.Generator().manual_seed(1)
            self.lengths = torch.randint(200, 12001, (self.b,), generator=generator).tolist()

    def operands(self):
        return [self.operand(a) for a in self.function.inputs]

    def shape(self, argument):
        """Dynamic sizes are the number of sequences."""
        return [self.b if size < 0 else size for size in argument.shape]

    def operand(self, argument):
        torch, shape = self.torch, self.shape(argument)
        if argument.dtype == "i32":
            return self.lengths_of(shape) if len(shape) == 1 else self.table(argument)
        if argument.dtype == "f32":
            return torch.rand(shape, device="cuda") + 0.5
        values = torch.empty(shape, device="cuda", dtype=torch.bfloat16)
        for part in values.flatten().split(1 << 28):
            part.normal_()
        return values.to(torch.float8_e4m3fn) if argument.dtype == "f8E4M3FN" else values

    def lengths_of(self, shape):
        return self.torch.tensor(self.lengths, device="cuda", dtype=self.torch.int32)

    def table(self, argument):
        """Pages in any order, each used once."""
        torch, (rows, columns) = self.torch, self.shape(argument)
        cache = next(a for a in self.function.inputs if len(a.shape) == 4 and a.name in ("k", "kc")
                     and (a.name == "kc" or self.mask != "extend"))
        order = torch.randperm(cache.shape[0], device="cuda").to(torch.int32)
        table, used = torch.zeros(rows, columns, device="cuda", dtype=torch.int32), 0
        for row, length in enumerate(self.lengths):
            pages = -(-length // cache.shape[1])
            table[row, :pages] = order[used:used + pages]
            used += pages
        return table

    def ours(self, operands):
        torch = self.torch
        out = [torch.full(self.shape(a), float("nan"), device="cuda", dtype=torch.bfloat16) for a in self.function.outputs]
        return self.function.bind(*operands, out=out), out

    def peer(self, operands, backend):
        torch = self.torch
        from torch.nn.attention import sdpa_kernel

        q, k, v = (x.transpose(1, 2) for x in operands[:3])

        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=self.mask == "causal", enable_gqa=self.h != self.hk)
        return call

    def keys_of(self, named, sequence):
        """Keys and values of the first key head of a sequence, in float32."""
        torch, length = self.torch, self.lengths[sequence]
        parts = []
        for name, scale in (("k", "ks"), ("v", "vs")):
            x = named.get(name + "c" if self.mask == "extend" else name, named["k"])
            if "t" in named:
                pages = named["t"][sequence, :-(-length // x.shape[1])].long()
                x = x.view(torch.uint8)[pages].view(x.dtype).flatten(0, 1)[:length, 0]
            else:
                x = x[sequence, :, 0]
            x = x.float() * named.get(scale, 1.0)
            if self.mask == "extend":
                x = torch.cat([x, named[name][sequence, :, 0].float()])
            parts.append(x)
        return parts[0], parts[1][:, :self.dv]

    def expected(self, named, sequence, head=0):
        torch = self.torch
        q = named["q"][sequence, :, head].float()
        k, v = self.keys_of(named, sequence)
        s = (q @ k.T) * self.d ** -0.5
        if self.mask == "capped":
            s = torch.tanh(s / 50) * 50
        if self.later:
            s = s.masked_fill(~self.seen(s), float("-inf"))
        if self.mask == "sink":
            s = torch.cat([s, named["s"][head].expand(self.sq, 1)], 1)
            return s.softmax(-1)[:, :-1] @ v
        return s.softmax(-1) @ v

    def seen(self, scores):
        seen = self.torch.ones_like(scores, dtype=self.torch.bool).tril(self.sk - self.sq)
        return seen if self.window is None else seen.triu(self.sk - self.sq - self.window)

    def error(self, operands, out):
        """The largest of the first head of three sequences."""
        named = {a.name: x for a, x in zip(self.function.inputs, operands)}
        errors = []
        for b in {0, self.b - 1, self.lengths.index(min(self.lengths))}:
            got, want = out[0][b, :, 0].float(), self.expected(named, b)
            errors.append(((got - want).norm() / want.norm()).item())
        return max(e if e == e else float("inf") for e in errors)

    def flops(self):
        pairs = self.sq * self.sk
        if self.later:
            pairs -= self.sq * self.sq / 2
        if self.window is not None:
            pairs -= max(self.sq - self.window, 0) ** 2 / 2
        return 2 * self.b * self.h * pairs * (self.d + self.dv)

    def cache_bytes(self):
        columns = self.d if self.mask == "latent" else self.d + self.dv
        return sum(self.lengths) * self.hk * columns * (1 if self.mask.startswith("fp8") else 2)


class Cached(Case):
    """Many queries and keys in pages, beside as many keys in one tensor."""

    def sides(self, sets, ours):
        dense = Case(self.torch, self.program, "causal_" + self.name.split("_", 1)[1])
        return {"hk": [call for call, _ in ours], "dense": [dense.ours(dense.operands())[0]]}


class Window(Case):
    """A causal mask with a left end, beside FlashAttention's operator, which has windows."""

    def sides(self, sets, ours):
        q, k, v = sets[0][:3]
        return {"hk": [call for call, _ in ours], "flash": [lambda: self.torch.ops.aten._flash_attention_forward(
            q, k, v, None, None, self.sq, self.sk, 0.0, True, False, window_size_left=self.window, window_size_right=0)]}


class Featured(Case):
    """What no peer has, beside the same without."""

    def sides(self, sets, ours):
        plain = self.program["causal_" + self.name.split("_", 1)[1]]
        return {"hk": [call for call, _ in ours], "plain": [plain.bind(*sets[0][:3])]}


class Prompt(Case):
    """A prompt beside decode steps, and the functions that do each alone."""

    def sides(self, sets, ours):
        decode = self.program["decode_" + self.name.split("_", 1)[1]]
        prompt = self.program[f"causal_1_{self.h}_{self.hk}_{self.sk}_{self.sk}_{self.d}_{self.dv}"]
        apart = []
        for operands in sets:
            first, second = decode.bind(*operands[:3]), prompt.bind(*operands[3:])
            apart.append(lambda first=first, second=second: (first(), second()))
        return {"hk": [call for call, _ in ours], "apart": apart}


class Backward(Case):
    """Gradients under a causal mask, beside cuDNN's from the same forward pass."""

    def operands(self):
        aten = self.torch.ops.aten
        draw = {a.name: super(Backward, self).operand(a) for a in self.function.inputs if a.name in ("q", "k", "v", "do")}
        q, k, v = (draw[n].transpose(1, 2) for n in "qkv")
        more = [x.repeat_interleave(self.h // self.hk, 1) for x in (k, v)]
        forward = aten._scaled_dot_product_cudnn_attention(q, *more, None, True, 0.0, True, False)
        self.out, self.lse, _, _, _, _, self.seed, self.offset, _ = forward
        draw["o"] = self.out.transpose(1, 2).contiguous()
        draw["lse"] = self.lse.reshape(self.b, self.h, self.sq).transpose(1, 2).contiguous()
        self.draw = draw
        return [draw[a.name] for a in self.function.inputs]

    def cudnn(self, grouped):
        """Keys as they are, or repeated for every query head (then dk, dv are not summed)."""
        aten = self.torch.ops.aten
        q, k, v, do = (self.draw[n].transpose(1, 2) for n in ("q", "k", "v", "do"))
        if not grouped:
            k, v = (x.repeat_interleave(self.h // self.hk, 1) for x in (k, v))
        return lambda: aten._scaled_dot_product_cudnn_attention_backward(
            do, q, k, v, self.out, self.lse, self.seed, self.offset, None, None, None,
            self.sq, self.sk, 0.0, True)

    def sides(self, sets, ours):
        sides = {"hk": [call for call, _ in ours]}
        for name, grouped in (("cudnn", True), ("cudnn_repeated", False)):
            if name != "cudnn" and self.h == self.hk:
                continue
            try:
                call = self.cudnn(grouped)
                call()
                self.torch.cuda.synchronize()
                sides[name] = [call]
            except RuntimeError as error:
                print(f"{self.name}: {name}: {str(error).splitlines()[0]}", flush=True)
        return sides

    def error(self, operands, out):
        """Of the gradients of the first key head of the first sequence."""
        torch = self.torch
        group = self.h // self.hk
        k, v = (self.draw[n][0, :, 0].float().requires_grad_() for n in "kv")
        errors, dq = [], []
        for h in range(group):
            q = self.draw["q"][0, :, h].float().requires_grad_()
            s = (q @ k.T) * self.d ** -0.5
            mask = torch.ones_like(s, dtype=torch.bool).tril()
            o = s.masked_fill(~mask, float("-inf")).softmax(-1) @ v
            o.backward(self.draw["do"][0, :, h].float())
            dq.append(q.grad)
        for got, want in [(out[0][0, :, h], dq[h]) for h in range(group)] + [
                (out[1][0, :, 0], k.grad), (out[2][0, :, 0], v.grad)]:
            errors.append(((got.float() - want).norm() / want.norm()).item())
        return max(e if e == e else float("inf") for e in errors)

    def flops(self):
        return super().flops() * 5 / 4  # five products, half of them masked


KINDS = {"pod": Prompt, "backward": Backward, "extend": Cached, "prefill": Cached, "window": Window,
         "capped": Featured, "sink": Featured}


def peers_of(torch, case, sets):
    from torch.nn.attention import SDPBackend

    sides = {}
    if not case.peer_mask:
        return sides
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        calls = [case.peer(s, backend) for s in sets]
        try:
            calls[0]()
            sides[name] = calls
        except RuntimeError as error:
            print(f"{case.name}: {name}: {str(error).splitlines()[0]}", flush=True)
    return sides


def measure_case(torch, case, copy_rate):
    count = max(2, int(CACHE_BYTES / case.cache_bytes())) if case.decode else 1
    sets = [case.operands() for _ in range(count)]
    ours = [case.ours(s) for s in sets]
    ours[0][0]()
    error = case.error(sets[0], ours[0][1])
    row = {"attention": case.name, "error": round(error, 6)}
    if hasattr(case, "sides"):
        sides = case.sides(sets, ours)
    else:
        sides = {"hk": [call for call, _ in ours], **peers_of(torch, case, sets)}
    times = take_turns(torch, sides)
    row |= {f"{name}_us": round(t, 2) for name, t in times.items()}
    if case.decode and case.mask != "pod":
        row["hk_of_copy"] = round(case.cache_bytes() / times["hk"] * 1e-6 / copy_rate, 4)
    if not case.decode or case.mask == "latent":
        for name, t in times.items():
            row[f"{name}_TFLOPs"] = round(case.flops() / t * 1e-6, 1)
    best = min((t for name, t in times.items() if name != "hk"), default=None)
    if best:
        row["of_faster_peer"] = round(best / times["hk"], 3)
    return row


def copy_rate(torch):
    """TB/s, read and written."""
    a = torch.empty(1 << 30, device="cuda", dtype=torch.int8)
    b, times = torch.empty_like(a), []
    for _ in range(REPLAYS):  # In a graph it would be a node of its own kind, and slower.
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        b.copy_(a)
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) * 1e3)
    return 2 * a.numel() / statistics.median(times) * 1e-6


def measure(folder, prefixes):
    import torch

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    program = load(folder, "attention.so")
    rate = copy_rate(torch)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "cudnn": torch.backends.cudnn.version(), "copy_TBps": round(rate, 3)}))
    failed = False
    for name in re.findall(r"^func.func @(\w+)", (folder / "attention.mlir").read_text(), re.M):
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        try:
            kind = KINDS.get(re.match("[a-z]+", name)[0], Case)
            print(json.dumps(measure_case(torch, kind(torch, program, name), rate)), flush=True)
        except Exception as error:  # the other cases are worth their time
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            failed = True
        torch.cuda.empty_cache()
    return failed


def same_bits(torch, function, operands, caches, holes):
    """Whether a function gives the same for zeros and NaN where `holes` are in the caches."""
    results = []
    for fill in (0.0, float("nan")):
        for name in caches:
            operands[name][holes] = fill
        out = function(*operands.values())
        out = out if isinstance(out, tuple) else (out,)
        results.append([torch.from_dlpack(x).clone() for x in out])
    same = all(torch.equal(x, y) for x, y in zip(*results))
    return same and bool(torch.isfinite(results[1][0].float()).all())


def behind(folder):
    """What a cache holds behind a sequence's keys does not matter."""
    import torch

    failed = False
    for module, name, caches in (("attention-bulk.so", "cache", "kv"), ("attention-pages.so", "pages16", "kv"),
                                 ("attention-pages.so", "past", "kv"), ("attention-pages.so", "extend", ("kc", "vc"))):
        function = load(folder, module)[name]
        for sq in (64, 130, 200):
            operands = {}
            for a in function.inputs:
                dtype = torch.float32 if a.dtype == "f32" else torch.bfloat16
                operands[a.name] = torch.randn([sq if d < 0 else d for d in a.shape], device="cuda", dtype=dtype)
            lengths = torch.tensor([400, 161, 0])
            operands["n"] = lengths.to("cuda", torch.int32)
            read = (lengths - sq).clamp(min=0) if name == "past" else lengths
            holes = torch.ones(operands[caches[0]].shape[:2], dtype=torch.bool)
            if "t" in operands:
                table = torch.randperm(holes.shape[0])[:operands["t"].numel()].view(operands["t"].shape)
                operands["t"] = table.to("cuda", torch.int32)
                for b, n in enumerate(read.tolist()):
                    for j in range(n):
                        holes[table[b, j // holes.shape[1]], j % holes.shape[1]] = False
            else:
                for b, n in enumerate(read.tolist()):
                    holes[b, :n] = False
            same = same_bits(torch, function, operands, caches, holes.cuda())
            print(json.dumps({"behind": name, "queries": sq, "same": same}), flush=True)
            failed |= not same
    return failed


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("run", "check", "behind", "time"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[1] == "time":
        return measure(folder, sys.argv[3:])
    if sys.argv[1] == "behind":
        return behind(folder)
    return {"run": gemm.run, "check": gemm.check}[sys.argv[1]](folder, sys.argv[3], "attention-*.mlir")


if __name__ == "__main__":
    sys.exit(main())
