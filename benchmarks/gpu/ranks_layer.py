"""Writes one rank's decoder layers of Llama 3 70B (8192 wide, 64 and 8 heads of 128, 28672 between), cut for 1 or 2
ranks: ranks_layer.py TP [kernel|engine] [ROWS] [xLAYERS] > layer.mlir; "kernel": its sums send their rows, and no product
does; "engine": they are NCCL's. With a number of ROWS that is known the compiler may share them between the ranks. All
weights are arguments, so that both sides of a comparison have the same; all layers have the same ones, and caches of their
own."""

import sys

TP, WORDS = int(sys.argv[1]), sys.argv[2:]
ROWS = next((word for word in WORDS if word.isdigit()), "?")
LAYERS = next((int(word[1:]) for word in WORDS if word[0] == "x"), 1)
EXCHANGES = [word for word in WORDS if word in ("kernel", "engine")]
ATTRIBUTES = ', '.join([f'hk.mesh = "tp={TP}"'] + [f'hk.exchange = "{by}"' for by in EXCHANGES])
D, HEADS, KV, INNER, PLACES = 8192, 64 // TP, 8 // TP, 28672 // TP, 8192
ALL = HEADS + 2 * KV
CACHE = f"tensor<1x{PLACES}x{KV}x128xbf16>"
ROPE = f"tensor<{PLACES}x64xf32>"


def reduced(name):
    """The sum of all ranks' terms."""
    if TP == 1:
        return "", name
    return (f'  %{name}_all = hk.all_reduce sum %{name} axis "tp" transport any_order : tensor<?x{D}xbf16>\n',
            f"{name}_all")


def layer(x, i):
    """Layer `i` of the rows %x; its result is %y{i}."""
    o, o_name = reduced(f"o{i}")
    d, d_name = reduced(f"d{i}")
    return f"""  %a{i} = hk.rms_norm %{x}, %n1 epsilon 1.0e-05 : tensor<?x{D}xbf16>, tensor<{D}xbf16>
  %qkv{i} = hk.matmul %a{i}, %wqkv transpose_b : tensor<?x{D}xbf16>, tensor<{ALL * 128}x{D}xbf16> -> tensor<?x{ALL * 128}xbf16>
  %h{i} = tensor.expand_shape %qkv{i} [[0], [1, 2]] output_shape [%t, {ALL}, 128] : tensor<?x{ALL * 128}xbf16> into tensor<?x{ALL}x128xbf16>
  %q{i} = tensor.extract_slice %h{i}[0, 0, 0] [%t, {HEADS}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{HEADS}x128xbf16>
  %k{i} = tensor.extract_slice %h{i}[0, {HEADS}, 0] [%t, {KV}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{KV}x128xbf16>
  %v{i} = tensor.extract_slice %h{i}[0, {HEADS + KV}, 0] [%t, {KV}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{KV}x128xbf16>
  %qr{i} = hk.rope neox %q{i}, %cos, %sin positions %positions : tensor<?x{HEADS}x128xbf16>, {ROPE}, {ROPE} positions tensor<?xi32>
  %kr{i} = hk.rope neox %k{i}, %cos, %sin positions %positions : tensor<?x{KV}x128xbf16>, {ROPE}, {ROPE} positions tensor<?xi32>
  %keys{i} = hk.kv_cache_write %kr{i}, %positions into %keys{i}_0 : tensor<?x{KV}x128xbf16>, tensor<?xi32>, {CACHE}
  %values{i} = hk.kv_cache_write %v{i}, %positions into %values{i}_0 : tensor<?x{KV}x128xbf16>, tensor<?xi32>, {CACHE}
  %m{i} = hk.attention %qr{i}, %keys{i}, %values{i} kv_lens %kv_len scale 0.08838834764831845 causal : tensor<?x{HEADS}x128xbf16>, {CACHE}, {CACHE} kv_lens tensor<1xi32> -> tensor<?x{HEADS}x128xbf16>
  %f{i} = tensor.collapse_shape %m{i} [[0], [1, 2]] : tensor<?x{HEADS}x128xbf16> into tensor<?x{HEADS * 128}xbf16>
  %o{i} = hk.matmul %f{i}, %wo transpose_b : tensor<?x{HEADS * 128}xbf16>, tensor<{D}x{HEADS * 128}xbf16> -> tensor<?x{D}xbf16>
{o}  %r{i} = hk.add %{x}, %{o_name} : tensor<?x{D}xbf16>
  %b{i} = hk.rms_norm %r{i}, %n2 epsilon 1.0e-05 : tensor<?x{D}xbf16>, tensor<{D}xbf16>
  %gu{i} = hk.matmul %b{i}, %wgu transpose_b : tensor<?x{D}xbf16>, tensor<{2 * INNER}x{D}xbf16> -> tensor<?x{2 * INNER}xbf16>
  %g{i} = hk.gated_activation silu %gu{i} : tensor<?x{2 * INNER}xbf16> -> tensor<?x{INNER}xbf16>
  %d{i} = hk.matmul %g{i}, %wd transpose_b : tensor<?x{INNER}xbf16>, tensor<{D}x{INNER}xbf16> -> tensor<?x{D}xbf16>
{d}  %y{i} = hk.add %r{i}, %{d_name} : tensor<?x{D}xbf16>
"""


def each(text):
    """`text` for every layer, whose number is @."""
    return "".join(text.replace("@", str(i)) for i in range(LAYERS))


CACHES = each(f""",
    %keys@_0: {CACHE} {{hk.name = "keys@", hk.state}}, %values@_0: {CACHE} {{hk.name = "values@", hk.state}}""")
BODY = "".join(layer(f"y{i - 1}" if i else "x", i) for i in range(LAYERS))
module = f"""module{f' attributes {{{ATTRIBUTES}}}' if TP > 1 else ''} {{
func.func @layer(%x: tensor<?x{D}xbf16>, %n1: tensor<{D}xbf16>, %wqkv: tensor<{ALL * 128}x{D}xbf16>,
    %wo: tensor<{D}x{HEADS * 128}xbf16>, %n2: tensor<{D}xbf16>, %wgu: tensor<{2 * INNER}x{D}xbf16>,
    %wd: tensor<{D}x{INNER}xbf16>, %cos: {ROPE}, %sin: {ROPE}, %positions: tensor<?xi32>, %kv_len: tensor<1xi32>{CACHES})
    -> (tensor<?x{D}xbf16> {{hk.name = "y"}}{f', {CACHE}, {CACHE}' * LAYERS}) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x{D}xbf16>
{BODY}  return %y{LAYERS - 1}{each(', %keys@, %values@')} : tensor<?x{D}xbf16>{f', {CACHE}, {CACHE}' * LAYERS}
}}
}}"""
if ROWS != "?":  # the dynamic dims are all numbers of rows
    module = module.replace("?", ROWS).replace("[%t,", f"[{ROWS},")
print(module)
