"""Writes one rank's decoder layer of Llama 3 70B (8192 wide, 64 and 8 heads of 128, 28672 between), cut for 1 or 2
ranks: ranks_layer.py TP [kernel|engine] [ROWS] > layer.mlir; "kernel": its sums send their rows, and no product does;
"engine": they are NCCL's. With a number of ROWS that is known the compiler may share them between the ranks. All weights
are arguments, so that both sides of a comparison have the same."""

import sys

TP = int(sys.argv[1])
ROWS = next((word for word in sys.argv[2:] if word.isdigit()), "?")
ATTRIBUTES = ', '.join([f'hk.mesh = "tp={TP}"'] + [f'hk.exchange = "{by}"' for by in sys.argv[2:] if not by.isdigit()])
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


o, o_name = reduced("o")
d, d_name = reduced("d")
layer = f"""module{f' attributes {{{ATTRIBUTES}}}' if TP > 1 else ''} {{
func.func @layer(%x: tensor<?x{D}xbf16>, %n1: tensor<{D}xbf16>, %wqkv: tensor<{ALL * 128}x{D}xbf16>,
    %wo: tensor<{D}x{HEADS * 128}xbf16>, %n2: tensor<{D}xbf16>, %wgu: tensor<{2 * INNER}x{D}xbf16>,
    %wd: tensor<{D}x{INNER}xbf16>, %cos: {ROPE}, %sin: {ROPE}, %positions: tensor<?xi32>, %kv_len: tensor<1xi32>,
    %keys0: {CACHE} {{hk.name = "keys", hk.state}}, %values0: {CACHE} {{hk.name = "values", hk.state}})
    -> (tensor<?x{D}xbf16> {{hk.name = "y"}}, {CACHE}, {CACHE}) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x{D}xbf16>
  %a = hk.rms_norm %x, %n1 epsilon 1.0e-05 : tensor<?x{D}xbf16>, tensor<{D}xbf16>
  %qkv = hk.matmul %a, %wqkv transpose_b : tensor<?x{D}xbf16>, tensor<{ALL * 128}x{D}xbf16> -> tensor<?x{ALL * 128}xbf16>
  %h = tensor.expand_shape %qkv [[0], [1, 2]] output_shape [%t, {ALL}, 128] : tensor<?x{ALL * 128}xbf16> into tensor<?x{ALL}x128xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%t, {HEADS}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{HEADS}x128xbf16>
  %k = tensor.extract_slice %h[0, {HEADS}, 0] [%t, {KV}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{KV}x128xbf16>
  %v = tensor.extract_slice %h[0, {HEADS + KV}, 0] [%t, {KV}, 128] [1, 1, 1] : tensor<?x{ALL}x128xbf16> to tensor<?x{KV}x128xbf16>
  %qr = hk.rope neox %q, %cos, %sin positions %positions : tensor<?x{HEADS}x128xbf16>, {ROPE}, {ROPE} positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %positions : tensor<?x{KV}x128xbf16>, {ROPE}, {ROPE} positions tensor<?xi32>
  %keys = hk.kv_cache_write %kr, %positions into %keys0 : tensor<?x{KV}x128xbf16>, tensor<?xi32>, {CACHE}
  %values = hk.kv_cache_write %v, %positions into %values0 : tensor<?x{KV}x128xbf16>, tensor<?xi32>, {CACHE}
  %m = hk.attention %qr, %keys, %values kv_lens %kv_len scale 0.08838834764831845 causal : tensor<?x{HEADS}x128xbf16>, {CACHE}, {CACHE} kv_lens tensor<1xi32> -> tensor<?x{HEADS}x128xbf16>
  %f = tensor.collapse_shape %m [[0], [1, 2]] : tensor<?x{HEADS}x128xbf16> into tensor<?x{HEADS * 128}xbf16>
  %o = hk.matmul %f, %wo transpose_b : tensor<?x{HEADS * 128}xbf16>, tensor<{D}x{HEADS * 128}xbf16> -> tensor<?x{D}xbf16>
{o}  %r = hk.add %x, %{o_name} : tensor<?x{D}xbf16>
  %b = hk.rms_norm %r, %n2 epsilon 1.0e-05 : tensor<?x{D}xbf16>, tensor<{D}xbf16>
  %gu = hk.matmul %b, %wgu transpose_b : tensor<?x{D}xbf16>, tensor<{2 * INNER}x{D}xbf16> -> tensor<?x{2 * INNER}xbf16>
  %g = hk.gated_activation silu %gu : tensor<?x{2 * INNER}xbf16> -> tensor<?x{INNER}xbf16>
  %d = hk.matmul %g, %wd transpose_b : tensor<?x{INNER}xbf16>, tensor<{D}x{INNER}xbf16> -> tensor<?x{D}xbf16>
{d}  %y = hk.add %r, %{d_name} : tensor<?x{D}xbf16>
  return %y, %keys, %values : tensor<?x{D}xbf16>, {CACHE}, {CACHE}
}}
}}"""
if ROWS != "?":  # the dynamic dims are all numbers of rows
    layer = layer.replace("?", ROWS).replace("[%t,", f"[{ROWS},")
print(layer)
