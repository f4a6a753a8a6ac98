"""Writes products and attention of the sizes that models have: model_shapes.py FOLDER SEED COUNT
makes FOLDER/gemm.mlir and FOLDER/attention.mlir with COUNT functions each, drawn by SEED;
attentions with windows, a soft cap or a sink are eight more, the latter beside those without.

For `gemm.py time` and `attention.py time` to look for sizes at which hk falls behind, none of
which anything was fitted to. Compile both for sm_90a beside them (gemm.so, attention.so).
"""

import pathlib
import random
import sys

import few_rows

# Columns and depth of projections, from SmolLM2-135M to Llama 3 405B's, vision and speech towers.
WEIGHTS = [(960, 576), (1536, 576), (576, 1536), (49152, 576), (1152, 896), (4864, 896), (896, 4864),
           (1280, 1280), (5120, 1280), (768, 3072), (2304, 768), (1152, 4304), (3072, 2048), (2048, 5632),
           (6144, 2560), (9728, 2560), (5120, 3072), (3072, 8192), (4608, 3584), (3584, 18944), (18944, 3584),
           (6144, 4096), (4096, 12288), (128256, 4096), (7168, 5120), (5120, 27648), (8192, 8192),
           (28672, 8192), (2112, 7168), (7168, 16384), (24576, 1536), (512, 7168), (129280, 7168)]
ROWS = (1, 2, 5, 16, 33, 64, 96, 128, 150, 197, 256, 320, 500, 512, 577, 777, 1024, 1500, 2048, 3000, 4096, 8192)
# Query heads, key heads, head size.
HEADS = [(9, 3, 64), (14, 2, 64), (12, 12, 64), (16, 16, 64), (16, 16, 72), (16, 16, 80), (32, 32, 80), (20, 20, 64),
         (32, 32, 96), (16, 16, 88), (28, 4, 128), (32, 8, 128), (40, 8, 128), (64, 8, 128), (24, 8, 128), (16, 16, 112),
         (8, 4, 256), (16, 8, 256), (32, 4, 128), (96, 8, 128)]
LENGTHS = (50, 77, 128, 197, 257, 384, 577, 1000, 1024, 1500, 2048, 3001, 4096, 6000, 8192, 16384)
MOST_OPERATIONS = 4e12


def attention(mask, b, h, hk, s, keys, d):
    name = f"{mask}_{b}_{h}_{hk}_{s}_{keys}_{d}_{d}"
    q, k = f"tensor<{b}x{s}x{h}x{d}xbf16>", f"tensor<{b}x{keys}x{hk}x{d}xbf16>"
    masks = " causal" if mask not in ("full", "decode") else ""
    if mask.startswith("window"):
        masks += f" window_left {mask.removeprefix('window')}"
    elif mask == "capped":
        masks = f" softcap 50.0{masks}"
    sink, sink_type, argument = "", "", ""
    if mask == "sink":
        sink, sink_type, argument = " sink %s", f" sink tensor<{h}xf32>", f', %s: tensor<{h}xf32> {{hk.name = "s"}}'
    return f"""func.func @{name}(%q: {q} {{hk.name = "q"}}, %k: {k} {{hk.name = "k"}}, %v: {k} {{hk.name = "v"}}{argument}) -> {q} {{
  %0 = hk.attention %q, %k, %v{sink} scale {d ** -0.5:.6f}{masks} : {q}, {k}, {k}{sink_type} -> {q}
  return %0 : {q}
}}
"""


FEATURES = ("window127", "window511", "window1023", "window4095", "capped", "capped", "sink", "sink")
LEAST_FEATURED = 1000  # queries


def draw(random, masks=("causal", "causal", "full", "decode")):
    """A prompt of several sequences, or decode steps behind them."""
    h, hk, d = random.choice(HEADS)
    keys = random.choice(LENGTHS)
    mask = random.choice(masks)
    b = random.choice((1, 1, 2, 4, 8, 16, 32, 64))
    queries = 1 if mask == "decode" else keys
    while b > 1 and (4.0 * b * h * queries * keys * d > MOST_OPERATIONS or 4 * b * hk * keys * d > 1 << 31):
        b //= 2
    return mask, b, h, hk, queries, keys, d


def main():
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    drawn = random.Random(seed)
    products = {(drawn.choice((few_rows.bf16, few_rows.bf16, few_rows.fp8)), drawn.choice(ROWS), *drawn.choice(WEIGHTS))
                for _ in range(count)}
    (folder / "gemm.mlir").write_text("".join(make(*sizes) for make, *sizes in sorted(products, key=lambda p: p[1:])))
    calls = {draw(drawn) for _ in range(count)}
    for feature in FEATURES:
        sizes = next(sizes for sizes in iter(lambda: draw(drawn, ("causal",))[1:], None) if sizes[4] >= LEAST_FEATURED)
        calls |= {(feature, *sizes)} | ({("causal", *sizes)} if feature in ("capped", "sink") else set())
    (folder / "attention.mlir").write_text("".join(attention(*call) for call in sorted(calls)))


if __name__ == "__main__":
    main()
