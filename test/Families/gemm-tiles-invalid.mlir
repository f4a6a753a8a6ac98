// A tile that does not fit says who asks, for how much, and what would fit.
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-outline --hk-select-tiles --split-input-file --verify-diagnostics

func.func @quantised(%x: tensor<8x256xbf16>, %w: tensor<512x256xbf16>, %q: tensor<8x512xf8E4M3FNUZ>, %s: tensor<8x4xf32>) -> (tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>) {
  %0:2 = hk.fused gemm ins(%x, %w : tensor<8x256xbf16>, tensor<512x256xbf16>) outs(%q, %s : tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>) {
  ^bb0(%a: tensor<8x256xbf16>, %b: tensor<512x256xbf16>, %c: tensor<8x512xf8E4M3FNUZ>, %d: tensor<8x4xf32>):
    // expected-error @+1 {{'hk.matmul' op in kernel @matmul_quantize: its smallest tile 32x128x64 waves 1x4 stages 1 needs 20480 bytes of LDS, but tiny has 8192; the nearest tile that fits is 32x32x64 waves 1x1 stages 1 with 8192 bytes; quantise outside of the product's kernel}}
    %y = hk.matmul %a, %b transpose_b : tensor<8x256xbf16>, tensor<512x256xbf16> -> tensor<8x512xbf16>
    %z, %t = hk.quantize per_group %y group 128 : tensor<8x512xbf16> -> tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>
    hk.yield %z, %t : tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>
  } -> tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>
  return %0#0, %0#1 : tensor<8x512xf8E4M3FNUZ>, tensor<8x4xf32>
}

// -----

// Nor is there one where the kernels of all that fit were found to spill.
module attributes {hk.spilling_tiles = {matmul = [
    #hk.gemm_tile<bm = 32, bn = 32, bk = 64, wm = 1, wn = 1, stages = 1, splitK = 1>,
    #hk.gemm_tile<bm = 32, bn = 32, bk = 32, wm = 1, wn = 1, stages = 1, splitK = 1>]}} {
  func.func @spills(%x: tensor<8x256xbf16>, %w: tensor<32x256xbf16>, %o: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
    %0 = hk.fused gemm ins(%x, %w : tensor<8x256xbf16>, tensor<32x256xbf16>) outs(%o : tensor<8x32xbf16>) {
    ^bb0(%a: tensor<8x256xbf16>, %b: tensor<32x256xbf16>, %c: tensor<8x32xbf16>):
      // expected-error @+1 {{'hk.matmul' op in kernel @matmul: its tile 32x32x32 waves 1x1 stages 1 needs more registers than tiny has, and no other tile fits; --no-fuse gives its operators kernels of their own}}
      %y = hk.matmul %a, %b transpose_b : tensor<8x256xbf16>, tensor<32x256xbf16> -> tensor<8x32xbf16>
      hk.yield %y : tensor<8x32xbf16>
    } -> tensor<8x32xbf16>
    return %0 : tensor<8x32xbf16>
  }
}
