"""Times the gated delta rule on one GPU beside a copy of as many bytes and PyTorch.

  gated_delta.py FOLDER [PART]..  FOLDER has libhk_runtime.so.0 and gated_delta.so
                                  (gated_delta.mlir for sm_90a); HK_HOME or a build folder as
                                  python/README.md says; PART: decode, layer, prefill

Decode: one token of 1, 16, 64 and 256 sequences; the peer is PyTorch's formulas compiled
(torch.compile). A whole decode step, projections to gated norm in one launch: no peer; its time
beside that of the recurrence is what the rest costs. Prefill: one sequence of 2,048, 8,192 and
32,768 tokens through the chunk operators, with 16 key and 32 value heads and with 2 and 8; the
peer is flash-linear-attention (PyPI, wheels on PYTHONPATH) where it runs, norms and an initial
state included on both sides. Both are checked against the recurrence in f64 first.

A time is that of kernels: CUDA graphs of many calls, over so many operands that no cache holds
them, each side in turn, as benchmarks/rowwise/gpu.py takes it. Times of single kernels are the
runtime's, between events. Prints a JSON line each.
"""

import json
import pathlib
import statistics
import sys


ROOT = pathlib.Path(__file__).resolve().parents[2]
COLD = 240_000_000  # bytes of states that calls in turn work on


def by_graphs(calls, rounds=3):
    """Microseconds of a call of each side, given as calls that differ in their states."""
    from gpu import timed

    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, side in calls.items():
            times[name].append(timed(side))
    return {f"{name}_us": round(statistics.median(t), 2) for name, t in times.items()}


def draw(torch, *shape, dtype=None):
    return torch.randn(shape, device="cuda", dtype=dtype or torch.bfloat16)


def recurrent(torch, q, k, v, a, b, s):
    """One token; the state is updated in place."""
    def unit(x):
        x = x.float().repeat_interleave(2, 1)
        return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
    q, k, v = unit(q[:, 0]), unit(k[:, 0]), v[:, 0].float()
    s *= torch.exp(-a[:, 0].abs())[..., None, None]
    d = torch.sigmoid(b[:, 0])[..., None] * (v - (s * k[..., None]).sum(-2))
    s += k[..., None] * d[..., None, :]
    return (s * (q * 128**-0.5)[..., None]).sum(-2).bfloat16()[:, None]


def decode(torch, program, n, compiled):
    f32, sets = torch.float32, max(1, -(-COLD // (n * 32 * 128 * 128 * 4)))
    x = [draw(torch, n, 1, 16, 128), draw(torch, n, 1, 16, 128), draw(torch, n, 1, 32, 128),
         draw(torch, n, 1, 32, dtype=f32), draw(torch, n, 1, 32, dtype=f32)]
    states = [draw(torch, n, 32, 128, 128, dtype=f32) for _ in range(sets)]
    ours, theirs, other = states[0].clone(), states[0].clone(), torch.empty_like(states[0])
    got, expected = program.decode(*x, ours), recurrent(torch, *x, theirs)
    got = torch.from_dlpack(got[0] if isinstance(got, tuple) else got)
    error = ((got.float() - expected.float()).norm() / expected.float().norm()).item()
    row = by_graphs({"hk": [program.decode.bind(*x, s) for s in states],
                     "copy": [lambda s=s: other.copy_(s) for s in states],
                     "torch_compile": [lambda s=s: compiled(*x, s) for s in states]})
    row["state_TBps"] = round(2 * states[0].numel() * 4 / row["hk_us"] * 1e-6, 3)
    row["of_copy"] = round(row["copy_us"] / row["hk_us"], 3)
    print(json.dumps({"decode": n, **row, "error": error}), flush=True)


def decode_layer(torch, program, n):
    f32, sets = torch.float32, max(1, -(-COLD // (n * 32 * 128 * 128 * 4)))
    x = [draw(torch, n, 12288), draw(torch, n, 64), draw(torch, 8192, 4), draw(torch, 32, dtype=f32),
         draw(torch, 32, dtype=f32), draw(torch, 128)]
    line = torch.arange(n, device="cuda", dtype=torch.int32)
    states = [(draw(torch, n, 3, 8192), draw(torch, n, 32, 128, 128, dtype=f32)) for _ in range(sets)]
    other = torch.empty_like(states[0][1])
    row = by_graphs({"hk": [program.decode_layer.bind(*x, *s, line) for s in states],
                     "copy": [lambda s=s: other.copy_(s[1]) for s in states]})
    print(json.dumps({"decode_layer": n, **row, "of_copy": round(row["copy_us"] / row["hk_us"], 3)}), flush=True)


def prefill_exactly(torch, q, k, v, a, b, s):
    """The recurrence in f64, of operands that are normalised in bf16 as by both sides."""
    def unit(x):
        x = x.float()
        x = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)).bfloat16().double()
        return x[0].repeat_interleave(v.shape[2] // x.shape[2], 1)
    q, k, v, s = unit(q) * 128**-0.5, unit(k), v[0].double(), s[0].double()
    decay, beta = torch.exp(-a[0].abs().double()), torch.sigmoid(b[0].double())
    rows = []
    for t in range(len(q)):
        s = s * decay[t][:, None, None]
        d = beta[t][:, None] * (v[t] - (s * k[t][..., None]).sum(-2))
        s = s + k[t][..., None] * d[:, None, :]
        rows.append((s * q[t][..., None]).sum(-2))
    return torch.stack(rows)[None], s[None]


def peer_of(torch):
    """flash-linear-attention's prefill, or why there is none."""
    try:
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule
    except Exception as error:  # noqa: BLE001
        return None, f"{type(error).__name__}: {error}"

    def call(q, k, v, decay, beta, s):
        return chunk_gated_delta_rule(q, k, v, decay, beta, initial_state=s, output_final_state=True,
                                      use_qk_l2norm_in_kernel=True)
    return torch.no_grad()(call), None


def gated(torch, q, k, v, a, b):
    """The peer's operands: it is given its gates, which hk computes."""
    return q, k, v, -a.abs(), torch.sigmoid(b)


def prefill_operands(torch, t, keys, heads):
    f32 = torch.float32
    return [draw(torch, 1, t, keys, 128), draw(torch, 1, t, keys, 128), draw(torch, 1, t, heads, 128),
            draw(torch, 1, t, heads, dtype=f32) * 0.1, draw(torch, 1, t, heads, dtype=f32)]


def check_prefill(torch, function, peer, keys, heads):
    """Error ratios of results and last states of 2,000 tokens: the last chunk is no whole one."""
    x = prefill_operands(torch, 2000, keys, heads)
    s = draw(torch, 1, heads, 128, 128, dtype=torch.float32)
    expected = prefill_exactly(torch, *x, s)
    row, ours = {}, s.clone()
    got = function(*x, ours)
    sides = {"hk": (torch.from_dlpack(got[0] if isinstance(got, tuple) else got), ours)}
    if peer:
        sides["fla"] = peer(*gated(torch, *x), s)
    for side, found in sides.items():
        for name, one, other in zip(("result", "state"), found, expected):
            ratio = (one.double() - other).norm() / other.norm()
            row[f"{side}_{name}_error"] = float(f"{ratio.item():.3g}")
    return row


def kernel_times(hk, function, operands):
    """Median microseconds of each kernel of a call, by the operators that begin its name."""
    times = {}
    for _ in range(9):
        profile = hk.Profile(launches=16)
        function(*operands, profile=profile)
        for i, launch in enumerate(profile.launches()):
            times.setdefault(f"{i} {launch['ops'][:60]}", []).append(launch["duration_us"])
    return {name: round(statistics.median(t), 1) for name, t in times.items()}


def prefill(torch, hk, function, peer, keys, heads, t):
    state = torch.zeros(1, heads, 128, 128, device="cuda")
    size = t * 2 * 128 * (2 * keys + heads)
    sets = [prefill_operands(torch, t, keys, heads) for _ in range(min(16, max(1, -(-COLD // size))))]
    calls = {"hk": [function.bind(*x, state) for x in sets]}
    if peer:
        calls["fla"] = [lambda x=gated(torch, *x): peer(*x, state) for x in sets]
    row = by_graphs(calls)
    row["kernels_us"] = kernel_times(hk, function, [*sets[0], state])
    return row


def prefills(torch, hk, program):
    peer, reason = peer_of(torch)
    if reason:
        print(json.dumps({"fla": reason}), flush=True)
    # Without the peer first: its autotuning may outlast the time that there is.
    sizes = [("prefill8", 2, 8), ("prefill", 16, 32)]
    runs = [(None, *size) for size in sizes] + [(peer, *size) for size in sizes if peer]
    for peer, name, keys, heads in runs:
        function = getattr(program, name)
        for part in (lambda: check_prefill(torch, function, peer, keys, heads),
                     *(lambda t=t: prefill(torch, hk, function, peer, keys, heads, t)
                       for t in (2048, 8192, 32768))):
            try:
                row = part()
            except Exception as error:  # noqa: BLE001
                row = {"failed": f"{type(error).__name__}: {error}"[:2000]}
            tokens = (part.__defaults__ or (2000,))[0]
            print(json.dumps({"prefill": tokens, "value_heads": heads, **row}), flush=True)


def main():
    import torch
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benchmarks" / "rowwise")]
    import hk
    program = hk.load(pathlib.Path(sys.argv[1]) / "gated_delta.so", "cuda:0")
    parts = sys.argv[2:] or ["prefill", "decode", "layer"]
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    if "prefill" in parts:
        prefills(torch, hk, program)
    if "decode" in parts:
        compiled = torch.compile(lambda *x: recurrent(torch, *x))
        for n in (1, 16, 64, 256):
            decode(torch, program, n, compiled)
    if "layer" in parts:
        for n in (1, 16, 64, 256):
            decode_layer(torch, program, n)


if __name__ == "__main__":
    main()
