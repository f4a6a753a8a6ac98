"""Which bounds of speed hold on the GPU that made these records.

  gates.py RECORDS..  reads what `gemm.py time`, `codes.py`, `attention.py time`, `moe.py time`,
                      `ordered.py run` (JSON, a line per case, of its output) and `ranks.py`
                      (OUT.json) wrote in one run, and
                      prints a table: work, what was measured, its bound, whether it holds

A bound is what this project set itself for a Hopper chip. Work without a record is listed as
not run. Exit status 1 when a bound is missed.
"""

import json
import pathlib
import sys

DENSE = ("4096_4096_4096", "8192_8192_8192", "4096_28672_4096", "4096_6144_4096", "4096_4096_14336")
FEW = ("1_28672_4096", "16_28672_4096", "64_28672_4096")
BACKWARD = {"backward_2_32_32_8192_8192_128_128": "32 heads", "backward_2_32_8_8192_8192_128_128": "32 and 8"}
FORWARD = {"causal_4_32_8_4096_4096_128_128": 1.08, "causal_2_64_8_8192_8192_128_128": 1.08,
           "causal_8_16_16_1024_1024_128_128": 1.08, "full_4_16_16_2048_2048_64_64": 1.0,
           "full_1_32_32_8192_8192_128_128": 1.0, "full_1_32_32_8192_8192_192_128": 1.0,
           "full_2_16_16_4096_4096_256_256": 1.0}
DECODE = {"decode_64_32_8_1_4096_128_128": 0.98, "decode_8_32_8_1_8192_128_128": 0.95,
          "decode_1_64_8_1_65536_128_128": 0.92, "ragged_64_32_8_1_12288_128_128": 0.94}
EXPERTS = ("mixtral_bf16", "qwen3_bf16", "deepseek_fp8", "deepseek_blocks", "gptoss_bf16", "gptoss_mxfp4",
           "llama4_bf16")
SUMS = {1: 0.42, 64: 0.42, 128: 0.42, 512: 0.6, 4096: 0.7}


def products(case):
    """Of matrix products: (work, function of the records, bound, whether it is an upper one)."""
    for size in DENSE:
        yield f"bf16 {size}, of cuBLAS, rested", lambda s=size: case[f"bf16_{s}"]["rested_of_peer"], 0.98, False
        yield f"bf16 {size}, at the power limit", lambda s=size: case[f"bf16_{s}"]["steady_of_peer"], 0.98, False
    for size in ("256_28672_4096", "300_5000_3000"):
        yield f"bf16 {size}, of cuBLAS", lambda s=size: case[f"bf16_{s}"]["of_peer"], 1.0, False
    for name in ("silu", "residual", "quantize"):
        yield (f"bf16 + {name} 4096_28672_4096, of the peer, rested",
               lambda n=name: case[f"{n}_4096_28672_4096"]["rested_of_peer"], 1.05, False)
    for name, bound in (("fp8", 0.97), ("blocks", 1.0)):
        for size in ("8192_8192_8192", "4096_7168_2048"):
            for state in ("rested", "steady"):
                yield (f"{name} {size}, of _scaled_mm, {state}",
                       lambda n=name, s=size, t=state: case[f"{n}_{s}"][f"{t}_of_peer"], bound, False)
    for size in ("517_3072_768", "8192_3072_768"):
        yield f"f32 {size}, of cuBLAS", lambda s=size: case[f"f32_{s}"]["of_peer"], 0.9, False
    for kind in ("bf16", "fp8"):
        for size in FEW:
            yield (f"{kind} {size}, of a copy's rate",
                   lambda k=kind, s=size: case[f"{k}_{s}"]["hk_TBps"] / case["copy"]["TBps"], 0.92, False)
    yield ("bf16 1_4096_4096, of a copy's rate",
           lambda: case["bf16_1_4096_4096"]["hk_TBps"] / case["copy"]["TBps"], 0.85, False)
    for codes, name in (("w4", "4-bit integers"), ("mx4", "mxfp4")):
        yield (f"{name} 16_28672_4096, times bf16's speed",
               lambda c=codes: case["codes 16"]["w16_us"] / case["codes 16"][f"{c}_us"], 3.0, False)


def attention(case):
    for name, bound in FORWARD.items():
        yield f"attention {name}, of the faster peer", lambda n=name: case[n]["of_faster_peer"], bound, False
    for name, heads in BACKWARD.items():
        yield f"gradients, causal 2 x 8192, {heads}, of cuDNN", lambda n=name: case[n]["of_faster_peer"], 1.0, False
    for name, bound in DECODE.items():
        yield f"attention {name}, of a copy's rate", lambda n=name: case[n]["hk_of_copy"], bound, False
    batch = "64_32_8_1_4096_128_128"
    yield ("pages of 16 behind dense keys, of a copy's rate",
           lambda: case[f"decode_{batch}"]["hk_of_copy"] - case[f"paged_{batch}"]["hk_of_copy"], 0.03, True)
    yield ("decode of an fp8 cache, times bf16's speed",
           lambda: case[f"decode_{batch}"]["hk_us"] / case[f"fp8_{batch}"]["hk_us"], 1.8, False)
    yield "latent, 128 heads, TFLOP/s", lambda: case["latent_128_128_1_1_8192_576_512"]["hk_TFLOPs"], 580, False
    yield "latent, 16 heads, of a copy's rate", lambda: case["latent_128_16_1_1_8192_576_512"]["hk_of_copy"], 0.9, False
    yield ("512 new tokens behind 16,384, of dense prefill",
           lambda: case["extend_4_32_8_512_16896_128_128"]["of_faster_peer"], 0.9, False)
    yield ("prefill beside decode, of two launches' time",
           lambda: 1 / case["pod_32_32_8_1_4096_128_128"]["of_faster_peer"], 0.9, True)


def experts(case):
    def peer(row):
        return min(row[key] for key in ("torch_us", "triton_us") if key in row) / row["hk_us"]

    for product in (f"{model}_{part}" for model in EXPERTS for part in ("up", "down")):
        for tokens in (1, 64):
            name = f"{product} {tokens}"
            yield (f"experts {name} tokens, of a copy's rate",
                   lambda n=name: case[n]["hk_GBps"] / case[n]["copy_GBps"], 0.85, False)
        name = f"{product} 4096"
        yield f"experts {name} tokens, of the faster peer", lambda n=name: peer(case[n]), 1.2, False
        yield (f"experts {name} tokens, of the dense product's rate",
               lambda n=name: case[n]["hk_TFLOPs"] / case[n]["dense_TFLOPs"], 0.85, False)
        yield (f"experts {name} tokens, of what bytes and that product allow",
               lambda n=name: case[n]["least_us"] / case[n]["hk_us"], 0.85, False)
    for tokens in (1, 64, 4096):
        yield (f"three layers of Qwen3's experts, {tokens} tokens, of torch.compile",
               lambda t=tokens: case[f"q {t}"]["torch"] / case[f"q {t}"]["ordered"], 1.2, False)


def ranks(case):
    def of(table, rows, side, other):
        row = case[table][str(rows)]
        return row[side] / row[other]

    sums, layer = "all-reduce + residual + norm, us", "layer, us"
    for rows, bound in SUMS.items():
        yield (f"all-reduce + residual + norm, {rows} x 8192, of PyTorch's time",
               lambda r=rows: of(sums, r, "kernels", "torch"), bound, True)
    for rows, bound in ((1, 1.75), (64, 1.75), (4096, 1.85)):
        yield (f"layer of Llama 3 70B on two, {rows} tokens, times one",
               lambda r=rows: of(layer, r, "hk tp=1", "hk tp=2"), bound, False)
        yield ("the same, times PyTorch on two",
               lambda r=rows: of(layer, r, "torch tp=2", "hk tp=2"), 1.1, False)


def read(paths):
    """Every record by its case's name; what ranks.py wrote by its tables' names."""
    case = {}
    for path in paths:
        text = path.read_text()
        if path.suffix == ".json":
            for name, table in json.loads(text).items():
                if isinstance(table, dict):
                    case.setdefault(name, {}).update(table)
            continue
        for row in map(json.loads, filter(lambda line: line.startswith("{"), text.splitlines())):
            if "tokens" in row:
                case[f"{row.get('product') or row['name']} {row['tokens']}"] = row
            elif "module" in row:
                case[f"{row['module']} {row['rows']}"] = row
            elif "copy_TBps" in row:
                case["copy"] = {"TBps": row["copy_TBps"], "device": row["device"]}
            elif name := row.get("product") or row.get("attention"):
                case[name] = row
    return case


def main():
    case = read([pathlib.Path(path) for path in sys.argv[1:]])
    missed = 0
    print("| work | measured | bound | |\n|---|---|---|---|")
    for group in (products, attention, experts, ranks):
        for work, measure, bound, upper in group(case):
            try:
                value = measure()
            except KeyError:
                print(f"| {work} | | {bound} | not run |")
                continue
            holds = value <= bound if upper else value >= bound
            missed += not holds
            print(f"| {work} | {value:.4g} | {'at most ' if upper else ''}{bound} | {'' if holds else 'missed'} |")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
