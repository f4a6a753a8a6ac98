"""Ranks on GPUs of their own through NCCL: first what they compute, then what it takes. Two, or as many as RANKS says (for
moves, checks, norm, layers and prefill, with moves.so, ranks.so and layerN.so for so many; of four, layer2.so is timed
beside, by both pairs of them at once).

Usage: ranks.py FOLDER OUT.json PART...   (parts: moves, checks, norm, layers, prefill, stack, exchanges, experts; FOLDER has device_ranks.so,
parallel_mlp.so, ranks.so, ranks_engine.so, layer1.so, layer2.so, layer2_kernel.so, compiled for sm_90a, and what the
case "dispatch" of sharded.py compiles: moe.so, tokens.so, moe.safetensors, and of ranks_moe.py moe_own.so and moe_all.so, by --mesh=ep=2, and
moe_one.so, all on one GPU; HK_HOME names the folder whose lib/ has libhk_runtime.so, and hk is
on PYTHONPATH; moves.so is what ranks_moves.py writes). ranks_failures.py has what ranks are told when something is wrong.

ranks_engine.so is ranks.mlir with hk.exchange = "engine" among the attributes of its module: its sums are NCCL's, those of
ranks.so are made by its kernels in memory that the ranks share. layer2_kernel.so is a layer whose products do not send
what they compute (ranks_layer.py 2 kernel), layer2_engine.so and layer2_parts.so are such with sums of NCCL (2 engine;
2 engine 4096, where hk shares rows). stack1.so and stack2.so, for the part stack, are four layers one behind the other
(ranks_layer.py 1 x4; 2 x4), whose sums and norms between two layers are one launch; times are of a layer. Both sides in one process a GPU: hk's launches beside
torch.distributed's NCCL with compiled PyTorch, in CUDA graphs, interleaved, medians of the slower rank; before each timed
graph an all-reduce lets both GPUs begin together. A case that fails does not stop the others."""

import ctypes
import functools
import json
import os
import random
import sys
import threading
import time
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F

import hk
import ranks_moves

D, PAST = 8192, 1024
RANKS = int(os.environ.get("RANKS", 2))
LIMIT = float(os.environ.get("LIMIT", 86))  # seconds; then the process ends itself
# Two slots for all ranks, of the largest tensor.
SHARED = 2 * RANKS * (4096 * D * 2) + (1 << 20)


class Bench:
    def __init__(self, rank, folder, out):
        self.rank, self.folder, self.out, self.start = rank, folder, out, time.time()
        self.results = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "failed": []}
        self.device = hk.Device(f"cuda:{rank}")
        self.stream = torch.cuda.Stream()
        self.comm = self.pair = None

    def say(self, *text):
        if self.rank == 0:
            print(f"{time.time() - self.start:6.1f}", *text, flush=True)
            with open(self.out, "w") as file:
                json.dump(self.results, file, indent=1)

    def case(self, name, body):
        """All ranks agree on whether it failed, so that they stay together."""
        try:
            body()
            failed = ""
        except Exception:
            failed = traceback.format_exc()
        everybody = [None] * RANKS
        dist.all_gather_object(everybody, failed)
        for rank, text in enumerate(everybody):
            if text:
                self.results["failed"].append(name)
                self.say(f"{name} FAILED on rank {rank}: {text}")

    def load(self, name, comm=True):
        return hk.load(f"{self.folder}/{name}.so", self.device, comm=self.comm if comm else None)

    def everyone(self, tensor):
        parts = [torch.empty_like(tensor.cpu()) for _ in range(RANKS)]
        dist.all_gather(parts, tensor.cpu())
        return [p.cuda() for p in parts]

    def wait(self):
        for comm in filter(None, (self.comm, self.pair)):
            comm.wait(torch.cuda.current_stream().cuda_stream, 20000)

    def graph(self, call, repeats):
        """`call` after a few direct ones, captured `repeats` times."""
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            dist.barrier()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                for _ in range(repeats):
                    call()
        torch.cuda.synchronize()
        dist.barrier()
        return graph, repeats, call  # whose tensors and workspace the graph uses

    def times(self, graphs, replays=11):
        """Medians in microseconds of the slower rank; each turn has an order of its own, the same on all ranks, since what
        follows a long graph finds the chips warm."""
        samples = {name: [] for name in graphs}
        for turn in range(replays + 2):
            for name in random.Random(turn).sample(sorted(graphs), len(graphs)):
                graph, repeats, _ = graphs[name]
                dist.barrier()
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                with torch.cuda.stream(self.stream):
                    # 1.5 ms, so that the host has launched the graph before it begins: on some it needs more than 100 us,
                    # and what the device waits would be counted.
                    torch.cuda._sleep(3000000)
                    dist.all_reduce(self.word, group=self.group)
                    begin.record()
                    graph.replay()
                    end.record()
                torch.cuda.synchronize()
                if turn >= 2:
                    samples[name].append(begin.elapsed_time(end) / repeats * 1e3)
        mine = {name: sorted(s)[len(s) // 2] for name, s in samples.items()}
        all_ = [None] * RANKS
        dist.all_gather_object(all_, mine)
        return {name: round(max(one[name] for one in all_), 2) for name in graphs}


def seeded(bench, seed, same=False):
    return torch.Generator(device="cuda").manual_seed(seed if same else seed + 100 + bench.rank)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def check_moves(bench):
    """Every kind of exchange, bit for bit."""
    for rows in (5, 1, 0, 333):
        x = torch.randn(rows, 4, 6, device="cuda", generator=seeded(bench, rows)).bfloat16()
        n = torch.randint(-99, 99, (rows, 4), device="cuda", generator=seeded(bench, rows), dtype=torch.int32)
        got = bench.load("device_ranks").sums(x, n)
        bench.wait()
        got = [torch.from_dlpack(t) for t in got]
        a, b = bench.everyone(x)
        s = (a.float() + b.float()).bfloat16()
        part = s[:, 2 * bench.rank:2 * bench.rank + 2]
        most = torch.maximum(*bench.everyone(n))
        wants = [s, part, most, s[:, :, 1:4], torch.cat([s, b], 1)]
        for index, (g, want) in enumerate(zip(got, wants)):
            expect(torch.equal(g.view(want.shape), want.contiguous()), f"sums of {rows} rows, result {index}")
    mlp = bench.load("parallel_mlp")
    for rows in (5, 0, 300):
        m = torch.randn(rows, 8, 6, device="cuda", generator=seeded(bench, rows)).bfloat16()
        if rows:
            m.view(-1)[7] = float("nan") if bench.rank else 1.0
        codes = bench.device.empty((4, 8), "i4")
        got = mlp.moves(m, codes)
        bench.wait()
        got = {name: torch.from_dlpack(getattr(got, name)) for name in
               ("gathered", "exchanged", "sent", "scattered", "most", "rank", "part")}
        a, b = bench.everyone(m)
        mine = slice(4 * bench.rank, 4 * bench.rank + 4)
        most, least = torch.maximum(a, b), torch.minimum(a, b)
        wants = {"gathered": torch.cat([a, b], 2), "exchanged": torch.cat([a[:, mine], b[:, mine]], 2), "sent": b,
                 "scattered": (a.float() + b.float()).half()[:, mine], "most": most, "part": least[:, :, 1:4],
                 "rank": torch.tensor(bench.rank, dtype=torch.int32, device="cuda")}
        for name, want in wants.items():
            expect(torch.allclose(got[name], want, rtol=0, atol=0, equal_nan=True), f"moves of {rows} rows, {name}")
    bench.say("exchanges: all equal")


@functools.cache
def experts_of(bench):
    """The communicator of modules that are cut along ep."""
    return hk.Communicator(bench.device, "ep=2", rank=bench.rank, world=2, id_file=f"{IDS}.ep", timeout_ms=8000,
                           shared_bytes=SHARED)


def check_rows(bench):
    """Rows by counts, and experts whose rows go to the rank that has them: what one rank computes of all tokens."""
    module = bench.load("parallel_mlp")
    for rows, counts in ((5, [[2, 3], [4, 1]]), (300, [[0, 300], [-1, 900]])):
        x = torch.randn(rows, 6, device="cuda", generator=seeded(bench, rows)).bfloat16()
        got = module.rows(x, torch.tensor(counts[bench.rank], device="cuda", dtype=torch.int32))
        bench.wait()
        got = {name: torch.from_dlpack(getattr(got, name)) for name in ("rows", "received", "few")}
        wants = {"rows": torch.zeros_like(got["rows"]), "few": torch.zeros_like(got["few"]),
                 "received": torch.tensor([c[bench.rank] for c in counts], device="cuda", dtype=torch.int32)}
        for place, part in enumerate(bench.everyone(x)):
            start = max(0, counts[place][0]) if bench.rank else 0
            come = part[start:start + max(0, counts[place][bench.rank])]
            wants["rows"][place, :len(come)] = come
            wants["few"][place, :len(come[:3])] = come[:3]
        for name, want in wants.items():
            expect(torch.equal(got[name], want), f"{rows} rows by counts, {name}")
    weights = f"{bench.folder}/moe.safetensors"
    load = lambda name, comm: hk.load(f"{bench.folder}/{name}.so", bench.device, weights=weights, comm=comm)
    one, two = load("moe", None), load("tokens", experts_of(bench))
    for rows in (2, 8, 600):
        x = torch.randn(rows, 24, device="cuda", generator=seeded(bench, rows, True))
        logits = torch.randn(rows, 4, device="cuda", generator=seeded(bench, 3, True))
        logits[:rows // 4, :2] += 9  # these tokens need experts of one rank only
        mine = slice(bench.rank * rows // 2, (bench.rank + 1) * rows // 2)
        got = two.bounds(x[mine].contiguous(), logits[mine].contiguous())
        want = one.bounds(x, logits)
        experts_of(bench).wait(torch.cuda.current_stream().cuda_stream, 20000)
        got, want = torch.from_dlpack(got.y), torch.from_dlpack(want.y)[mine]
        error = ((got - want).norm() / want.norm()).item()
        expect(error < 1e-6, f"experts of {rows} tokens: {error}")
        bench.say(f"experts of {rows} tokens, half on each rank: {error:.1e} from one rank")


def check_every_move(bench):
    """Every exchange between so many ranks, called and replayed, bit for bit."""
    moves, random = bench.load("moves").moves, torch.Generator().manual_seed(bench.rank)
    for rows in (5, 0, 1, 700):
        x, counts = (t.cuda() for t in ranks_moves.arguments_of(rows, RANKS, bench.rank))
        wants = {name: t.cuda() for name, t in ranks_moves.wanted(rows, RANKS, bench.rank).items()}
        outs = {name: torch.empty_like(t.contiguous()) for name, t in wants.items()}
        bound = moves.bind(x, counts, out=list(outs.values()))

        def compare(what):
            for name, want in wants.items():
                expect(torch.equal(outs[name], want), f"{what} of {rows} rows: {name}")
        bound()
        bench.wait()
        compare("moves")
        if rows not in (5, 700):
            continue
        graph, _, _ = bench.graph(bound, 1)
        for replay in range(200):
            with torch.cuda.stream(bench.stream):
                if int(torch.randint(3, (1,), generator=random)) == 0:
                    torch.cuda._sleep(int(torch.randint(1, 200000, (1,), generator=random)))
                for out in outs.values():
                    out.fill_(77)
                graph.replay()
            if replay % 10 == 9:
                bench.comm.wait(bench.stream.cuda_stream, 20000)
                compare(f"replay {replay}")
    bench.say(f"every exchange of {RANKS} ranks, and 2 x 200 replays with random delays: all equal")


def check_norm(bench, module, sizes, exact=True):
    for name in ("any_order", "in_order"):
        for rows in sizes:
            x = torch.randn(rows, D, device="cuda", generator=seeded(bench, rows)).bfloat16()
            r = torch.randn(rows, D, device="cuda", generator=seeded(bench, 9, True)).bfloat16()
            w = torch.randn(D, device="cuda", generator=seeded(bench, 8, True)).bfloat16()
            got = module[name](x, r, w)
            bench.wait()
            s, y = (torch.from_dlpack(t) for t in got)
            total = functools.reduce(torch.add, [part.float() for part in bench.everyone(x)])
            want = (total.bfloat16().float() + r.float()).bfloat16()
            if RANKS == 2 or name == "in_order" or exact:
                expect(torch.equal(s, want), f"{name} of {rows} rows: the residual differs")
            else:  # NCCL rounds partial sums
                expect((s.float() - want.float()).norm() < 2**-6 * want.float().norm(), f"{name} of {rows} rows is wrong")
                want = s
            f = want.double()
            norm = f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-5) * w.double()
            error = ((y.double() - norm).abs() / (norm.abs() + 1e-3)).max().item()
            expect(error <= 2**-8 * 1.01, f"{name} of {rows} rows: error {error}")
            ys = bench.everyone(y.view(torch.uint8))
            expect(all(torch.equal(ys[0], other) for other in ys), f"{name} of {rows} rows: ranks have different bits")
    bench.say("all-reduce + residual + norm: residual exact, norm within half a step of bf16, ranks equal")


def check_replays(bench, module):
    """1,000 replays with random delays against the bits of calls that were not captured."""
    shapes, graphs = (1, 16, 300), []
    for rows in shapes:
        x = torch.randn(rows, D, device="cuda", generator=seeded(bench, rows)).bfloat16()
        r, w = torch.zeros_like(x), torch.ones(D, device="cuda").bfloat16()
        outs = [torch.empty_like(x), torch.empty_like(x)]
        bound = module["any_order"].bind(x, r, w, out=outs)
        with torch.cuda.stream(bench.stream):
            bound()
        torch.cuda.synchronize()
        want = [o.clone() for o in outs]
        graphs.append((bench.graph(bound, 1), outs, want))
    random = torch.Generator().manual_seed(bench.rank)
    order = torch.Generator().manual_seed(77)
    wrong = 0
    for replay in range(1000):
        (graph, _, _), outs, want = graphs[int(torch.randint(3, (1,), generator=order))]
        with torch.cuda.stream(bench.stream):
            if int(torch.randint(3, (1,), generator=random)) == 0:
                torch.cuda._sleep(int(torch.randint(1, 200000, (1,), generator=random)))
            for o in outs:
                o.fill_(float("nan"))
            graph.replay()
        if replay % 50 == 49:
            bench.comm.wait(bench.stream.cuda_stream, 20000)
            wrong += any(not torch.equal(a, b) for a, b in zip(outs, want))
    expect(wrong == 0, f"{wrong} of 20 looks at 1,000 replays differ")
    bench.say("1,000 replays of three graphs with random delays: equal")


def time_norm(bench, modules):
    def norm(s, r, w):
        z = s + r
        f = z.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-5) * w.float()).bfloat16(), z

    compiled = torch.compile(norm, dynamic=True)
    table = bench.results["all-reduce + residual + norm, us"] = {}
    more = (16, 24, 32, 48, 80, 96, 192, 256, 1024) if len(modules) > 2 else ()
    for rows in sorted((1, 64, 128, 512, 4096) + more):
        x = torch.randn(rows, D, device="cuda", generator=seeded(bench, rows)).bfloat16()
        r, w, s = torch.randn_like(x), torch.ones(D, device="cuda").bfloat16(), torch.empty_like(x)

        def peer():
            dist.all_reduce(s, group=bench.group)
            compiled(s, r, w)

        repeats = 20 if rows <= 512 else 5
        graphs = {"torch": bench.graph(peer, repeats)}
        for label, module in modules.items():
            outs = [torch.empty_like(x), torch.empty_like(x)]
            graphs[label] = bench.graph(module.any_order.bind(x, r, w, out=outs), repeats)
        table[rows] = bench.times(graphs)
        bench.say(f"{rows:5} rows", table[rows], f"kernels / torch {table[rows]['kernels'] / table[rows]['torch']:.2f}")


def layer_tensors(bench, rows, parts, layers=1):
    """The arguments of a stack of layers, cut in `parts`; the same whole layers on both ranks."""
    gen = seeded(bench, 4, True)
    draw = lambda *shape: torch.randn(*shape, device="cuda", generator=gen, dtype=torch.float32).bfloat16()
    past = 0 if rows > 64 else PAST
    whole = {"x": draw(rows, D), "n1": 1 + draw(D) / 8, "wqkv": draw(80 * 128, D) / 90, "wo": draw(D, D) / 90,
             "n2": 1 + draw(D) / 8, "wgu": draw(2 * 28672, D) / 90, "wd": draw(D, 28672) / 170,
             **{f"{kind}{i}": draw(1, D, 8, 128) for i in range(layers) for kind in ("keys", "values")}}
    angles = torch.arange(D, device="cuda")[:, None] * 5e5 ** (-torch.arange(64, device="cuda") / 64)
    at = bench.rank % parts

    def cut(t, dim, segments):
        pieces = torch.split(t, segments, dim)
        return torch.cat([p.chunk(parts, dim)[at] for p in pieces], dim).contiguous()

    caches = {name: cut(t, 2, [8]) for name, t in whole.items() if name.startswith(("keys", "values"))}
    return {"x": whole["x"], "n1": whole["n1"], "wqkv": cut(whole["wqkv"], 0, [D, 1024, 1024]),
            "wo": cut(whole["wo"], 1, [D]), "n2": whole["n2"], "wgu": cut(whole["wgu"], 0, [28672, 28672]),
            "wd": cut(whole["wd"], 1, [28672]), "cos": angles.cos(), "sin": angles.sin(),
            "positions": torch.arange(past, past + rows, device="cuda", dtype=torch.int32),
            "kv_len": torch.tensor([past + rows], device="cuda", dtype=torch.int32), **caches}


def peer_layer(past, group):
    def rms(x, w):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-5)).bfloat16() * w

    def rope(x, c, s):
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).bfloat16()

    def reduced(x):
        if group is None:
            return x
        import torch.distributed._functional_collectives as fc
        return fc.wait_tensor(fc.all_reduce(x, "sum", group))

    def layer(x, n1, wqkv, wo, n2, wgu, wd, cos, sin, mask, keys, values):
        rows = x.shape[0]
        kv = keys.shape[2]
        heads = wqkv.shape[0] // 128 - 2 * kv
        q, k, v = F.linear(rms(x, n1), wqkv).view(rows, -1, 128).split([heads, kv, kv], 1)
        c, s = cos[past:past + rows, None], sin[past:past + rows, None]
        q, k = rope(q, c, s), rope(k, c, s)
        keys[0, past:past + rows] = k
        values[0, past:past + rows] = v
        seen = F.scaled_dot_product_attention(
            q.transpose(0, 1)[None], keys[:, :past + rows].transpose(1, 2), values[:, :past + rows].transpose(1, 2),
            attn_mask=mask, is_causal=mask is None and rows > 1, enable_gqa=True)
        r = x + reduced(F.linear(seen[0].transpose(0, 1).reshape(rows, -1), wo))
        g, u = F.linear(rms(r, n2), wgu).chunk(2, -1)
        return r + reduced(F.linear(F.silu(g) * u, wd))

    def stack(x, *rest):
        *others, caches = rest
        for keys, values in caches:
            x = layer(x, *others, keys, values)
        return x

    return stack


def launch_times(bench, rows, cases):
    """What each launch of a layer takes, in the order of the layer; the shortest of five."""
    for label, (module, tensors, out) in cases.items():
        profile = hk.Profile()
        for _ in range(5):
            dist.barrier()
            module.layer(**tensors, out=[out], profile=profile)
        bench.wait()
        launches = {f"{e['ops']} ({e['variant'][-6:]})": round(e["min_us"], 1) for e in profile.entries()}
        bench.results[f"launches of {rows}, {label}"] = launches
        bench.say(f"launches of {rows}, {label}:", launches)


def check_sent(bench, sending, kernel):
    """Layers whose products send, against the bits of those whose sums do; then replays with random delays."""
    graphs = []
    for rows in (700, 64, 1153, 4096):
        tensors = layer_tensors(bench, rows, 2)
        outs = [torch.empty_like(tensors["x"]) for _ in range(2)]
        calls = [module.layer.bind(**tensors, out=[out]) for module, out in zip((kernel, sending), outs)]
        for call in calls:
            call()
            bench.wait()
        off = (outs[0].view(torch.int16) != outs[1].view(torch.int16)).nonzero()
        expect(len(off) == 0, f"a layer of {rows} rows differs where products send at {len(off)} places: {off[:4].tolist()}, "
               f"{off[-1:].tolist()}")
        graphs.append((bench.graph(calls[1], 1), outs))
    random = torch.Generator().manual_seed(bench.rank)
    order = torch.Generator().manual_seed(78)
    wrong = 0
    for replay in range(1000):
        (graph, _, _), outs = graphs[int(torch.randint(4, (1,), generator=order))]
        with torch.cuda.stream(bench.stream):
            if int(torch.randint(3, (1,), generator=random)) == 0:
                torch.cuda._sleep(int(torch.randint(1, 400000, (1,), generator=random)))
            outs[1].fill_(float("nan"))
            graph.replay()
            wrong += ~(outs[0].view(torch.int16) == outs[1].view(torch.int16)).all()
        if replay % 50 == 49:
            bench.comm.wait(bench.stream.cuda_stream, 20000)
    expect(int(wrong) == 0, f"{int(wrong)} of 1,000 replays differ where products send")
    bench.say("products that send: the bits of sums that do, and 1,000 replays of four graphs with random delays equal")


def layer_case(bench, rows, module1, module2, table, group, others, layers=1, pair=None):
    """Times of a layer in a stack of so many; `pair`: the module of two ranks."""
    past = 0 if rows > 64 else PAST
    whole, part = layer_tensors(bench, rows, 1, layers), layer_tensors(bench, rows, RANKS, layers)
    out1, out2 = torch.empty_like(whole["x"]), torch.empty_like(whole["x"])
    one = module1.layer.bind(**whole, out=[out1])
    two = module2.layer.bind(**part, out=[out2])
    mask = None
    if 1 < rows <= 64:
        mask = torch.ones(rows, past + rows, dtype=torch.bool, device="cuda").tril(past)
    arguments = lambda t: [t[n] for n in ("x", "n1", "wqkv", "wo", "n2", "wgu", "wd", "cos", "sin")]
    caches = lambda t: [(t[f"keys{i}"].clone(), t[f"values{i}"].clone()) for i in range(layers)]
    eager = peer_layer(past, None)(*arguments(whole), mask, caches(whole))
    one()
    two()
    bench.wait()
    size = eager.float().norm()
    errors = [((o.float() - eager.float()).norm() / size).item() for o in (out1, out2)]
    apart = ((out2.float() - out1.float()).norm() / size).item()
    bench.say(f"layer of {rows}: error against eager PyTorch {errors}, tp={RANKS} against tp=1 {apart:.2e}")
    expect(max(errors) < 1e-2 * layers and apart < 1e-2 * layers, f"layer of {rows} rows is wrong: {errors}, {apart}")
    everyone = bench.everyone(out2.view(torch.uint8))
    expect(all(torch.equal(everyone[0], other) for other in everyone), "ranks have different bits")
    repeats = 10 // layers if rows <= 64 else -(-2 // layers)
    each = lambda graph: (graph[0], graph[1] * layers, graph[2])
    graphs = {"hk tp=1": each(bench.graph(one, repeats)), f"hk tp={RANKS}": each(bench.graph(two, repeats))}
    others = {name: (module, part) for name, module in others.items()}
    if pair:
        others["hk tp=2"] = (pair, layer_tensors(bench, rows, 2, layers))
    for name, (module, tensors) in others.items():
        out = torch.empty_like(out2)
        graphs[name] = bench.graph(module.layer.bind(**tensors, out=[out]), repeats)
        bench.wait()
        apart = ((out.float() - out2.float()).norm() / size).item()
        expect(apart < 1e-2, f"{name}: {apart}")
        bench.say(f"{name}: from hk tp={RANKS} {apart:.1e}")
    table[rows] = bench.times(graphs)
    bench.say(f"layer of {rows}:", table[rows])
    launch_times(bench, rows, {"tp=1": (module1, whole, out1), f"tp={RANKS}": (module2, part, out2)})

    def peer():
        compiled, own = torch.compile(peer_layer(past, group), dynamic=False), caches(part)
        call = lambda: compiled(*arguments(part), mask, own)
        error = ((call().float() - eager.float()).norm() / size).item()
        expect(error < 1e-2 * layers, f"PyTorch's layer of {rows} rows is wrong: {error}")
        graphs[f"torch tp={RANKS}"] = each(bench.graph(call, repeats))
        table[rows] = bench.times(graphs)
        bench.say(f"layer of {rows}:", table[rows])

    return peer


def expert_weights(bench, path):
    """64 experts of 2048 x 768, as a safetensors file."""
    if bench.rank == 0:
        generator = seeded(bench, 12, True)
        shapes = {"w1": (64, 1536, 2048), "w2": (64, 2048, 768)}
        header, at = {}, 0
        for name, shape in shapes.items():
            size = 2 * shape[0] * shape[1] * shape[2]
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for shape in shapes.values():
                w = torch.randn(*shape, device="cuda", generator=generator).bfloat16() / shape[-1]**0.5
                w.cpu().view(torch.uint8).numpy().tofile(file)
    dist.barrier()


def time_experts(bench):
    """Experts on the ranks that have them: all tokens on every rank and one sum, or rows that go there and back."""
    path = "/dev/shm/hk-experts.safetensors"
    expert_weights(bench, path)
    load = lambda name, comm: hk.load(f"{bench.folder}/{name}.so", bench.device, weights=path, comm=comm).experts
    comm = experts_of(bench)
    one, every, own = load("moe_one", None), load("moe_all", comm), load("moe_own", comm)
    table = bench.results["experts, us"] = {}
    for tokens in (16, 128, 2048):
        x = torch.randn(tokens, 2048, device="cuda", generator=seeded(bench, tokens, True)).bfloat16()
        logits = torch.randn(tokens, 64, device="cuda", generator=seeded(bench, 5, True))
        mine = slice(bench.rank * tokens // 2, (bench.rank + 1) * tokens // 2)
        outs = [torch.empty_like(x), torch.empty_like(x), torch.empty_like(x[mine])]
        calls = {"one GPU": one.bind(x, logits, out=[outs[0]]), "sum": every.bind(x, logits, out=[outs[1]]),
                 "rows": own.bind(x[mine].contiguous(), logits[mine].contiguous(), out=[outs[2]])}
        for call in calls.values():
            call()
        comm.wait(torch.cuda.current_stream().cuda_stream, 20000)
        want = outs[0].float()
        errors = [((o.float() - w).norm() / w.norm()).item() for o, w in ((outs[1], want), (outs[2], want[mine]))]
        expect(max(errors) < 4e-3, f"experts of {tokens} tokens: {errors}")  # partial sums and rows are rounded to bf16
        table[tokens] = bench.times({name: bench.graph(call, 10) for name, call in calls.items()})
        bench.say(f"experts of {tokens} tokens: {table[tokens]}, from one GPU {errors[0]:.1e}, {errors[1]:.1e}")


def check_native(bench):
    """hk over a communicator that the caller has made."""
    nccl = ctypes.CDLL("libnccl.so.2")

    class Id(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_byte * 128)]

    name = Id()
    if bench.rank == 0:
        nccl.ncclGetUniqueId(ctypes.byref(name))
    box = [bytes(name)]
    dist.broadcast_object_list(box, 0)
    native = ctypes.c_void_p()
    nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, Id, ctypes.c_int]
    expect(nccl.ncclCommInitRank(ctypes.byref(native), 2, Id.from_buffer_copy(box[0]), bench.rank) == 0, "ncclCommInitRank")
    comm = hk.Communicator(bench.device, "tp=2", rank=bench.rank, world=2, id_file=f"{IDS}.native",
                           native=[native.value], timeout_ms=20000)
    module = hk.load(f"{bench.folder}/ranks.so", bench.device, comm=comm)
    x = torch.full((3, D), 1.0 + bench.rank, device="cuda").bfloat16()
    s, _ = module.any_order(x, torch.zeros_like(x), torch.ones(D, device="cuda").bfloat16())
    comm.wait(torch.cuda.current_stream().cuda_stream, 10000)
    expect(torch.from_dlpack(s).eq(3).all().item(), "the sum over the caller's communicator is wrong")
    bench.say("the caller's communicator: equal")


IDS = "/dev/shm/hk-ranks"


def worker(rank, folder, out, parts):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    torch.cuda.set_device(rank)
    threading.Timer(LIMIT, lambda: (print("out of time on rank", rank, flush=True), os._exit(3))).start()
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.zeros(1, device="cuda")
    torch._dynamo.config.recompile_limit = 64
    bench = Bench(rank, folder, out)
    bench.group = dist.new_group(backend="nccl")
    bench.word = torch.zeros(1, device="cuda")
    dist.all_reduce(bench.word, group=bench.group)
    torch.cuda.synchronize()
    begin = time.time()
    bench.comm = hk.Communicator(bench.device, f"tp={RANKS}", rank=rank, world=RANKS, id_file=IDS, timeout_ms=8000,
                                 shared_bytes=SHARED)
    bench.say(f"{bench.results['device']}, torch {torch.__version__}, opened in {time.time() - begin:.2f} s")
    for part in parts:
        {"moves": lambda b: b.case("moves", lambda: check_every_move(b)), "checks": lambda b: norm_cases(b, times=False),
         "norm": norm_cases, "layers": lambda b: layer_cases(b, (1, 64)), "prefill": lambda b: layer_cases(b, (4096,)),
         "stack": lambda b: layer_cases(b, (4096, 64, 1), 4),
         "exchanges": exchange_cases, "experts": expert_cases}[part](bench)
    bench.say("done:", bench.results)
    dist.barrier()
    os._exit(0)


def norm_cases(bench, times=True):
    modules = {"kernels": bench.load("ranks"), "engine": bench.load("ranks_engine")}
    for form in ("one_shot", "two_shots"):  # what ranks.so has for few rows and for many, for all
        if os.path.exists(f"{bench.folder}/ranks_{form}.so"):
            modules[form] = bench.load(f"ranks_{form}")
    for name in [name for name in modules if name != "engine"]:
        bench.case(f"norm by {name}", lambda: check_norm(bench, modules[name], (1, 2, 3, 64, 131, 700)))
    bench.case("norm by the engine", lambda: check_norm(bench, modules["engine"], (1, 64), exact=False))
    bench.case("replays", lambda: check_replays(bench, modules["kernels"]))
    if times:
        bench.case("times of norm", lambda: time_norm(bench, modules))


def expert_cases(bench):
    bench.case("experts", lambda: time_experts(bench))


def exchange_cases(bench):
    bench.case("exchanges", lambda: check_moves(bench))
    bench.case("native", lambda: check_native(bench))
    bench.case("rows", lambda: check_rows(bench))


def layer_cases(bench, sizes, layers=1):
    table = bench.results.setdefault("layer, us" if layers == 1 else f"layer of {layers}, us", {})
    modules, forms, name = {}, {}, "layer" if layers == 1 else "stack"
    paired = RANKS == 4 and layers == 1
    if paired and not bench.pair:
        bench.pair = hk.Communicator(bench.device, "tp=2", rank=bench.rank % 2, world=2, timeout_ms=8000,
                                     id_file=f"{IDS}.pair{bench.rank // 2}", shared_bytes=SHARED // 2)
    if 4096 in sizes and RANKS == 2 and layers == 1:
        forms = {"sums send": "kernel", "sums of NCCL": "engine", "sequence parallel by NCCL": "parts"}

    def load():
        modules[1], modules[2] = bench.load(f"{name}1", comm=False), bench.load(f"{name}{RANKS}")
        for form in forms.values():
            modules[form] = bench.load(f"layer{RANKS}_{form}")
        if paired:
            modules["pair"] = hk.load(f"{bench.folder}/layer2.so", bench.device, comm=bench.pair)
    bench.case("loading", load)
    if forms:
        bench.case("products that send", lambda: check_sent(bench, modules[2], modules["kernel"]))
    peers = {}

    def layer(rows):
        peers[rows] = layer_case(bench, rows, modules[1], modules[2], table, bench.group,
                                 {f"hk tp=2, {what}": modules[form] for what, form in forms.items()}, layers,
                                 modules.get("pair"))
    for rows in sizes:
        bench.case(f"layer of {rows}", functools.partial(layer, rows))
    for rows in peers:
        late = [None] * RANKS
        dist.all_gather_object(late, time.time() - bench.start > LIMIT - 20)
        if any(late):
            bench.say(f"no time left for PyTorch's layer of {rows}")
            break
        bench.case(f"PyTorch's layer of {rows}", peers[rows])


if __name__ == "__main__":
    for suffix in ("", ".native", ".ep", ".pair0", ".pair1"):
        if os.path.exists(IDS + suffix):
            os.unlink(IDS + suffix)
    mp.spawn(worker, args=(sys.argv[1], sys.argv[2], sys.argv[3:]), nprocs=RANKS)
