#!/usr/bin/env python3
"""Do ordered launches pay? Three layers' experts and functions of test/Modules, compiled with
and without them, on a GPU.

  ordered.py pack BUILD FOLDER   compile both ways for sm_90a
  ordered.py run FOLDER OUT.json on the machine with the GPU, which needs Python with PyTorch
                                 and what pack put into FOLDER
  ordered.py table OUT.json      Markdown

A layer is output product, norm, router, top-k, sort, experts, weighted sum and next norm, in
bf16; all three have the same weights, so one output product. A call is timed in a CUDA graph of
several, the sides in turns, the median of --turns. `same`: both sides of hk gave the same bits,
in the first call and in every replay, over results that are filled with NaN before. `torch`,
beside layers without a shared expert: PyTorch's compiled function of the same, with its grouped
products; `off`: how far its result is from hk's, relative, both in bf16, where a router may
choose another expert for logits that are nearly equal. --only: functions by name.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDES = {"ordered": [], "apart": ["--no-order-launches"]}
# hidden size, columns of the attention's heads, experts and their width, those a token takes,
# width of the shared expert, groups of experts of which some are taken
LAYERS = {"q": dict(h=2048, a=4096, e=128, i=768, k=8, s=0, groups=0),
          "d": dict(h=7168, a=16384, e=256, i=2048, k=8, s=2048, groups=8)}
COUNT = 3
TOKENS = (1, 4, 16, 64, 128, 256, 512, 1024, 4096)
MODULES = {"ordered_launches": ("experts", (1, 16, 64, 512)),
           "moe_routing_herd": ("main", (16, 128, 512, 4096))}


class Text:
    """Statements of a function, each the name of its value."""

    def __init__(self):
        self.lines, self.count = [], 0

    def __call__(self, text, results=1):
        self.count += 1
        names = [f"%v{self.count}_{i}" for i in range(results)]
        self.lines.append(f"  {', '.join(names)} = {text}")
        return names[0] if results == 1 else names


def layer(t, n, h, e, i, k, s, groups, **_):
    """The weighted sum of the experts of the rows `n`."""
    rows, logits, kept, ids = (f"tensor<?x{c}x{d}>" for c, d in
                               ((h, "bf16"), (e, "f32"), (k, "f32"), (k, "i32")))
    flat = "tensor<?xi32>"
    r = t(f"hk.matmul %{n}, %wr transpose_b : {rows}, tensor<{e}x{h}xbf16> -> {logits}")
    if groups:
        sig = t(f"hk.sigmoid {r} : {logits}")
        biased = t(f"hk.add {sig}, %bias : {logits}, tensor<{e}xbf16> -> {logits}")
        limited = t(f"hk.group_limit top2_sum {biased} groups {groups} top_groups {groups // 2} : {logits}")
        _, chosen = t(f"hk.topk {limited} : {logits} -> {kept}, {ids}", 2)
        own = t(f"hk.gather_last {sig}, {chosen} : {logits}, {ids} -> {kept}")
        total = t(f"hk.reduce sum {own} : {kept} -> tensor<?x1xf32>")
        weight = t(f"hk.div {own}, {total} : {kept}, tensor<?x1xf32>")
    else:
        best, chosen = t(f"hk.topk {r} : {logits} -> {kept}, {ids}", 2)
        weight = t(f"hk.softmax {best} : {kept}")
    keys = t(f"tensor.collapse_shape {chosen} [[0, 1]] : {ids} into {flat}")
    count = t(f"hk.histogram {keys} : {flat} -> tensor<{e}xi32>")
    order, place = t(f"hk.sort_by_key {keys} bins {e} : {flat} -> {flat}, {flat}", 2)
    bounds = t(f"hk.cumsum offsets {count} : tensor<{e}xi32> -> tensor<{e + 1}xi32>")
    groups_type = f"groups tensor<{e + 1}xi32>"
    both = t(f"hk.grouped_matmul %{n}, %up bounds {bounds} order {order} transpose_b top_k {k} : {rows}, "
             f"tensor<{e}x{2 * i}x{h}xbf16> {groups_type} order {flat} -> tensor<?x{2 * i}xbf16>")
    half = [t(f"tensor.extract_slice {both}[0, {at}] [%tk, {i}] [1, 1] : tensor<?x{2 * i}xbf16> to "
              f"tensor<?x{i}xbf16>") for at in (0, i)]
    gate = t(f"hk.silu {half[0]} : tensor<?x{i}xbf16>")
    act = t(f"hk.mul {gate}, {half[1]} : tensor<?x{i}xbf16>")
    down = t(f"hk.grouped_matmul {act}, %down bounds {bounds} transpose_b : tensor<?x{i}xbf16>, "
             f"tensor<{e}x{h}x{i}xbf16> {groups_type} -> tensor<?x{h}xf32>")
    places = t(f"tensor.expand_shape {place} [[0, 1]] output_shape [%t, {k}] : {flat} into {ids}")
    total = None
    for j in range(k):
        index = t(f"tensor.extract_slice {places}[0, {j}] [%t, 1] [1, 1] : {ids} to {flat}")
        row = t(f"hk.gather_rows {down}, {index} : tensor<?x{h}xf32>, {flat} -> tensor<?x{h}xf32>")
        w = t(f"tensor.extract_slice {weight}[0, {j}] [%t, 1] [1, 1] : {kept} to tensor<?x1xf32>")
        part = t(f"hk.mul {row}, {w} : tensor<?x{h}xf32>, tensor<?x1xf32>")
        total = t(f"hk.add {total}, {part} : tensor<?x{h}xf32>") if total else part
    total = t(f"hk.cast {total} : tensor<?x{h}xf32> -> {rows}")
    if s:
        wide = f"tensor<?x{s}xbf16>"
        first = [t(f"hk.matmul %{n}, %{name} transpose_b : {rows}, tensor<{s}x{h}xbf16> -> {wide}")
                 for name in ("sg", "su")]
        gate = t(f"hk.silu {first[0]} : {wide}")
        act = t(f"hk.mul {gate}, {first[1]} : {wide}")
        shared = t(f"hk.matmul {act}, %sd transpose_b : {wide}, tensor<{h}x{s}xbf16> -> {rows}")
        total = t(f"hk.add {total}, {shared} : {rows}")
    return total


def weights(h, a, e, i, s, groups, **_):
    """Shape and scale of each."""
    w = {"wo": ((h, a), a ** -.5), "g": ((h,), 0), "wr": ((e, h), h ** -.5),
         "up": ((e, 2 * i, h), h ** -.5), "down": ((e, h, i), i ** -.5)}
    if groups:
        w["bias"] = ((e,), .01)
    if s:
        w |= {"sg": ((s, h), h ** -.5), "su": ((s, h), h ** -.5), "sd": ((h, s), s ** -.5)}
    return w


def text(layers, **c):
    h, a, k = c["h"], c["a"], c["k"]
    rows = f"tensor<?x{h}xbf16>"
    arguments = [f'%x: tensor<?x{a}xbf16> {{hk.name = "x", hk.dims = ["T", "_"]}}',
                 f'%r: {rows} {{hk.name = "r", hk.dims = ["T", "_"]}}']
    for name, (shape, _) in weights(**c).items():
        arguments.append(f'%{name}: tensor<{"x".join(map(str, shape))}xbf16> {{hk.name = "{name}"}}')
    t = Text()
    t.lines += ["  %c0 = arith.constant 0 : index", f"  %t = tensor.dim %r, %c0 : {rows}",
                f"  %k = arith.constant {k} : index", "  %tk = arith.muli %k, %t : index"]
    o = t(f"hk.matmul %x, %wo transpose_b : tensor<?x{a}xbf16>, tensor<{h}x{a}xbf16> -> {rows}")
    sum = "%r"
    for number in range(layers):
        sum = t(f"hk.add {sum}, {o} : {rows}")
        n = t(f"hk.rms_norm {sum}, %g epsilon 1.0e-06 round_before_weight : {rows}, tensor<{h}xbf16> -> {rows}")
        sum = t(f"hk.add {sum}, {layer(t, n[1:], **c)} : {rows}")
    z = t(f"hk.rms_norm {sum}, %g epsilon 1.0e-06 round_before_weight : {rows}, tensor<{h}xbf16> -> {rows}")
    t.lines.append(f"  return {sum}, {z} : {rows}, {rows}")
    return (f'func.func @moe({", ".join(arguments)}) -> ({rows} {{hk.name = "y"}}, {rows} {{hk.name = "z"}}) {{\n' +
            "\n".join(t.lines) + "\n}\n")


def wanted(functions, options):
    return [(name, found) for name, found in functions.items() if name in (options.only or functions)]


def pack(build, folder, options):
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    sources = {}
    for name, sizes in wanted(LAYERS, options):
        sources[name] = folder / f"{name}.mlir"
        sources[name].write_text(text(COUNT, **sizes))
    for name, _ in wanted(MODULES, options):
        sources[name] = ROOT / "test" / "Modules" / f"{name}.mlir"
    for name, source in sources.items():
        for side, options in SIDES.items():
            subprocess.run([build / "bin" / "hk-compile", source, "--target=sm_90a", *options, "-o",
                            folder / f"{name}.{side}.so"], check=True)
    shutil.copytree(ROOT / "python" / "hk", folder / "hk", dirs_exist_ok=True)
    shutil.copy(build / "lib" / "libhk_runtime.so", folder / "lib")
    shutil.copy(__file__, folder)


def layer_inputs(torch, sizes):
    """Of every argument but x and r, which are of a number of tokens."""
    def made(shape, scale):
        filled = torch.empty(*shape, device="cuda", dtype=torch.bfloat16)
        return filled.normal_(0, scale) if scale else filled.fill_(1)

    return {name: made(shape, scale) for name, (shape, scale) in weights(**sizes).items()}


def module_inputs(torch, function, rows):
    """Random values of an example's arguments."""
    made = {}
    for argument in (a for a in function.inputs if a.role != "output"):
        shape = [d if d >= 0 else rows for d in argument.shape]
        made[argument.name] = torch.randn(*shape, device="cuda").to(torch.bfloat16)
    return made


def graph_of(torch, call, repeat):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(repeat):
            call()
    return graph


def bits(torch, tensors):
    return [t.contiguous().view(torch.uint8).clone() for t in tensors]


def torch_layers(torch, layers, h, e, k, **_):
    """What text() has for layers without a shared expert and groups, in PyTorch."""
    def norm(v, g):
        wide = v.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(v.dtype) * g

    def experts(n, wr, up, down):
        best, ids = (n @ wr.T).float().topk(k)
        keys, order = ids.flatten().sort(stable=True)
        ends = torch.searchsorted(keys, torch.arange(e, device=n.device), right=True).int()
        a, b = torch._grouped_mm(n[order // k], up.mT, ends).chunk(2, -1)
        rows = torch._grouped_mm(torch.nn.functional.silu(a) * b, down.mT, ends)
        own = rows[order.argsort()].view(-1, k, h).float()
        return (own * best.softmax(-1).unsqueeze(-1)).sum(1).to(n.dtype)

    @torch.compile(dynamic=False)
    def call(x, r, wo, g, wr, up, down):
        o = x @ wo.T
        for _ in range(layers):
            r = r + o
            r = r + experts(norm(r, g), wr, up, down)
        return r, norm(r, g)
    return call


class TorchSide:
    """A call of PyTorch's function in a graph of several, with its results."""

    def __init__(self, torch, call, inputs, repeat):
        self.torch, self.repeat = torch, repeat

        def own():
            self.results = call(**inputs)
        own()
        self.graph = graph_of(torch, own, repeat)

    def time(self):
        return time_of(self.torch, self.graph, self.repeat)

    def off(self, other):
        good, own = (r.float() for r in (self.results[0], other.results[0]))
        return ((own - good).norm() / good.norm().clamp(min=1e-30)).item()


def time_of(torch, graph, repeat):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeat


class Side:
    """A call of one side, in a graph of several, with its results."""

    def __init__(self, torch, function, inputs, repeat):
        self.torch, self.repeat = torch, repeat
        self.results = [torch.from_dlpack(o) for o in function(**inputs)]
        self.call = function.bind(**inputs, out=tuple(self.results))
        self.first = self.again(self.call)
        self.graph = graph_of(torch, self.call, repeat)

    def again(self, call):
        for result in self.results:
            result.view(self.torch.uint8).fill_(0xff)  # NaN, or -1
        call()
        self.torch.cuda.synchronize()
        return bits(self.torch, self.results)

    def same(self, expected):
        return all(self.torch.equal(a, b) for a, b in zip(self.again(self.graph.replay), expected))

    def time(self):
        return time_of(self.torch, self.graph, self.repeat)


def measure(torch, functions, inputs, options, many, peer=None):
    repeat = 2 if many else 8
    sides = {side: Side(torch, function, inputs, repeat) for side, function in functions.items()}
    expected = sides["apart"].first
    replays = [side.same(expected) for side in sides.values() for _ in range(4 if many else 20)]
    firsts = [torch.equal(a, b) for a, b in zip(sides["ordered"].first, expected)]
    row = {"same": all(firsts + replays)}
    if peer:
        other = TorchSide(torch, peer, inputs, repeat)
        other.graph.replay()
        row["off"] = other.off(sides["ordered"])
        sides["torch"] = other
    times = {name: [] for name in sides}
    for turn in range(options.turns + 2):
        for name in list(sides)[::-1 if turn % 2 else 1]:
            us = sides[name].time()
            if turn > 1:
                times[name].append(us)
    return row | {name: statistics.median(t) for name, t in times.items()}


def run(folder, out, options):
    sys.path.insert(0, str(folder))
    os.environ["HK_HOME"] = str(folder)
    import torch

    import hk

    torch.manual_seed(0)
    device, rows = hk.Device("cuda:0"), []

    def record(name, tokens, programs, function, inputs, peer=None):
        found = {side: getattr(program, function) for side, program in programs.items()}
        row = {"name": name, "tokens": tokens, **measure(torch, found, inputs, options, tokens > 1000, peer)}
        rows.append(row)
        print(json.dumps(row), flush=True)
        out.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": rows}, indent=1))

    def programs_of(name):
        return {side: hk.load(folder / f"{name}.{side}.so", device) for side in SIDES}

    for name, (function, sizes) in wanted(MODULES, options):
        programs = programs_of(name)
        for tokens in sizes:
            record(name, tokens, programs, function,
                   module_inputs(torch, getattr(programs["apart"], function), tokens))
    for name, sizes in wanted(LAYERS, options):
        programs, own = programs_of(name), layer_inputs(torch, sizes)
        for tokens in options.tokens:
            # A function of this size, which nothing compiled before makes dynamic.
            torch.compiler.reset()
            peer = None if sizes["s"] else torch_layers(torch, COUNT, **sizes)
            x, r = (torch.randn(tokens, n, device="cuda").to(torch.bfloat16) for n in (sizes["a"], sizes["h"]))
            record(name, tokens, programs, "moe", {"x": x, "r": r, **own}, peer)
        del own
        torch.cuda.empty_cache()
    table(out)


def table(path):
    print("| function | tokens | ordered us | apart us | ratio | same bits | torch us |\n" + "|---" * 7 + "|")
    for r in json.loads(path.read_text())["rows"]:
        peer = f"{r['torch']:.1f}" if "torch" in r else ""
        print(f"| {r['name']} | {r['tokens']} | {r['ordered']:.1f} | {r['apart']:.1f} | "
              f"{r['ordered'] / r['apart']:.3f} | {'yes' if r['same'] else 'NO'} | {peer} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pack", "run", "table"))
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--tokens", nargs="+", type=int, default=TOKENS, help="of layers")
    parser.add_argument("--only", nargs="+", choices=(*MODULES, *LAYERS))
    options = parser.parse_args()
    if options.what == "table":
        table(options.paths[0])
    else:
        first, second = options.paths
        pack(first, second, options) if options.what == "pack" else run(first.resolve(), second, options)


if __name__ == "__main__":
    main()
