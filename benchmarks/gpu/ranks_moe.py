"""Writes a layer of experts (64 of 2048 x 768, 8 of them for a token) for ranks that have half of the experts each:
ranks_moe.py own|all > moe.mlir; with `own` every rank has tokens of its own, whose rows go to the experts."""

import sys

E, K, H, I = 64, 8, 2048, 768
OWN = sys.argv[1] == "own"
mark = """  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x2048xbf16>
"""
print(f"""{"shard.grid @mesh(shape = 2)" if OWN else ""}
hk.weight @w1 "w1" : tensor<{E}x{2 * I}x{H}xbf16>
hk.weight @w2 "w2" : tensor<{E}x{H}x{I}xbf16>
func.func @experts(%x: tensor<?x{H}xbf16> {{hk.dims = ["T", "_"]}}, %logits: tensor<?x{E}xf32> {{hk.dims = ["T", "_"]}}) -> (tensor<?x{H}xbf16> {{hk.name = "y"}}) {{
{mark if OWN else ""}  %w1 = hk.weight_ref @w1 : tensor<{E}x{2 * I}x{H}xbf16>
  %w2 = hk.weight_ref @w2 : tensor<{E}x{H}x{I}xbf16>
  %v, %ids = hk.topk %logits : tensor<?x{E}xf32> -> tensor<?x{K}xf32>, tensor<?x{K}xi32>
  %weights = hk.softmax %v : tensor<?x{K}xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x{K}xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<{E}xi32>
  %order, %place = hk.sort_by_key %keys bins {E} : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %hist : tensor<{E}xi32> -> tensor<{E + 1}xi32>
  %h = hk.grouped_matmul {"%mine" if OWN else "%x"}, %w1 bounds %bounds order %order transpose_b top_k {K} : tensor<?x{H}xbf16>, tensor<{E}x{2 * I}x{H}xbf16> groups tensor<{E + 1}xi32> order tensor<?xi32> -> tensor<?x{2 * I}xbf16>
  %g = hk.gated_activation silu %h : tensor<?x{2 * I}xbf16> -> tensor<?x{I}xbf16>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x{I}xbf16>, tensor<{E}x{H}x{I}xbf16> groups tensor<{E + 1}xi32> -> tensor<?x{H}xbf16>
  %rows = hk.gather_rows %y, %place : tensor<?x{H}xbf16>, tensor<?xi32> -> tensor<?x{H}xbf16>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x{H}xbf16>
  %each = tensor.expand_shape %rows [[0, 1], [2]] output_shape [%t, {K}, {H}] : tensor<?x{H}xbf16> into tensor<?x{K}x{H}xbf16>
  %share = tensor.expand_shape %weights [[0], [1, 2]] output_shape [%t, {K}, 1] : tensor<?x{K}xf32> into tensor<?x{K}x1xf32>
  %part = hk.mul %each, %share : tensor<?x{K}x{H}xbf16>, tensor<?x{K}x1xf32> -> tensor<?x{K}x{H}xf32>
  %slices = hk.transpose %part [1, 0, 2] : tensor<?x{K}x{H}xf32> -> tensor<{K}x?x{H}xf32>
  %sum = hk.sum_slices %slices : tensor<{K}x?x{H}xf32> -> tensor<?x{H}xbf16>
  return %sum : tensor<?x{H}xbf16>
}}""")
