// Chunks of whole fragments in one 16-bit type are multiplied on matrix units,
// by as many waves as fill the chip with one sequence; others on vector units.
// Of few tokens the states are the time: waves read 128 bytes of a row at once.
// A walk over many tokens has operands of the next ones in LDS.
// RUN: hk-opt %s --hk-graph=target=gfx942 | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: hk-opt %s --hk-graph=target=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hk-opt %s --hk-graph=target=host | FileCheck %s --check-prefix=HOST

// HOST-COUNT-7: waves = 0>

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

// One token: few lanes share a column, so that a wave has a whole line.
// CHECK: hk.kernel @gated_delta_rule {{.*}}[d0, 1, 2, 128]>, #hk.shape<[d0, 2, 128, 128]
// GFX942: hk.variant @v0 #hk.gated_delta_tile<threads = 64, lanes = 8, columns = 4, waves = 0>
// SM90: hk.variant @v0 #hk.gated_delta_tile<threads = 64, lanes = 4, columns = 4, waves = 0>
// CHECK-NOT: hk.variant @v1
func.func @decode(%q: tensor<?x1x1x128xbf16>, %k: tensor<?x1x1x128xbf16>, %v: tensor<?x1x2x128xbf16>, %s: tensor<?x2x128x128xf32> {hk.state}) -> (tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>) {
  %o, %n = hk.gated_delta_rule %q, %k, %v state %s : tensor<?x1x1x128xbf16>, tensor<?x1x1x128xbf16>, tensor<?x1x2x128xbf16> state tensor<?x2x128x128xf32> -> tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>
  return %o, %n : tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>
}

// The launch knows how many tokens there are.
// CHECK-LABEL: hk.kernel @gated_delta_rule_1
// GFX942: hk.variant @v0 #hk.gated_delta_tile<threads = 64, lanes = 8, columns = 4, waves = 0>
// SM90: hk.variant @v0 #hk.gated_delta_tile<threads = 64, lanes = 4, columns = 4, waves = 0>
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %{{.*}}, %c4
// CHECK: hk.launch_dims if %[[FEW]]
// CHECK: hk.variant @v1 #hk.gated_delta_tile<threads = 256, lanes = 16, columns = 4, waves = 0> threads 256 lds 20480
func.func @some(%q: tensor<2x?x1x128xbf16>, %k: tensor<2x?x1x128xbf16>, %v: tensor<2x?x2x128xbf16>, %s: tensor<2x2x128x128xf32> {hk.state}) -> (tensor<2x?x2x128xbf16>, tensor<2x2x128x128xf32>) {
  %o, %n = hk.gated_delta_rule %q, %k, %v state %s : tensor<2x?x1x128xbf16>, tensor<2x?x1x128xbf16>, tensor<2x?x2x128xbf16> state tensor<2x2x128x128xf32> -> tensor<2x?x2x128xbf16>, tensor<2x2x128x128xf32>
  return %o, %n : tensor<2x?x2x128xbf16>, tensor<2x2x128x128xf32>
}

// Lines are along the keys already.
// CHECK-LABEL: hk.kernel @gated_delta_rule_2
// CHECK: hk.variant @v0 #hk.gated_delta_tile<threads = 256, lanes = 16, columns = 4, waves = 0> threads 256 lds 0
// CHECK-NOT: hk.variant @v1
func.func @values_first(%q: tensor<?x1x1x128xbf16>, %k: tensor<?x1x1x128xbf16>, %v: tensor<?x1x2x128xbf16>, %s: tensor<?x2x128x128xf32> {hk.state}) -> (tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>) {
  %o, %n = hk.gated_delta_rule %q, %k, %v state %s state_layout value_major : tensor<?x1x1x128xbf16>, tensor<?x1x1x128xbf16>, tensor<?x1x2x128xbf16> state tensor<?x2x128x128xf32> -> tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>
  return %o, %n : tensor<?x1x2x128xbf16>, tensor<?x2x128x128xf32>
}
