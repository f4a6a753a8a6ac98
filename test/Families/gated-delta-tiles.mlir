// Chunks of whole fragments in one 16-bit type are multiplied on matrix units,
// by as many waves as fill the chip with one sequence; others on vector units.
// RUN: hk-opt %s --hk-graph=target=gfx942 | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: hk-opt %s --hk-graph=target=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hk-opt %s --hk-graph=target=host | FileCheck %s --check-prefix=HOST

// HOST-COUNT-4: waves = 0>

// One chunk of operands at a time in 64 KiB, two where there is more.
// GFX942: #hk.gated_delta_tile<threads = 320, lanes = 1, columns = 8, waves = 1> threads 320 lds 45328
// SM90: #hk.gated_delta_tile<threads = 320, lanes = 1, columns = 8, waves = 2> threads 320 lds 82464
func.func @state(%k: tensor<1x?x16x128xbf16>, %w: tensor<1x?x32x128xbf16>, %u: tensor<1x?x32x128xbf16>, %a: tensor<1x?x32xf32>) -> (tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u decay %a chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>
  return %h, %v : tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>
}

// Values are no multiple of a fragment.
// CHECK: waves = 0
func.func @few_values(%k: tensor<1x?x1x64xbf16>, %w: tensor<1x?x1x64xbf16>, %u: tensor<1x?x1x16xbf16>) -> (tensor<1x?x1x64x16xbf16>, tensor<1x?x1x16xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x1x16xbf16> -> tensor<1x?x1x64x16xbf16>, tensor<1x?x1x16xbf16>
  return %h, %v : tensor<1x?x1x64x16xbf16>, tensor<1x?x1x16xbf16>
}

// Keys and values are of different types.
// CHECK: waves = 0
func.func @two_types(%k: tensor<1x?x1x64xbf16>, %v: tensor<1x?x1x64xf16>, %x: tensor<1x?x1x64xbf16>) -> (tensor<1x?x1x64xbf16>, tensor<1x?x1x64xf16>) {
  %w, %u = hk.chunk_wu %k, %v, %x : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xf16>, tensor<1x?x1x64xbf16> -> tensor<1x?x1x64xbf16>, tensor<1x?x1x64xf16>
  return %w, %u : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xf16>
}

// CHECK: waves = {{[24]}}
func.func @output(%q: tensor<1x?x1x64xf16>, %k: tensor<1x?x1x64xf16>, %v: tensor<1x?x1x64xf16>, %h: tensor<1x?x1x64x64xf16>) -> tensor<1x?x1x64xf32> {
  %o = hk.chunk_output %q, %k, %v, %h chunk 64 : tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16>, tensor<1x?x1x64xf16>, tensor<1x?x1x64x64xf16> -> tensor<1x?x1x64xf32>
  return %o : tensor<1x?x1x64xf32>
}
