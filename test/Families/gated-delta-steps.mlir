// The five operators of the chunked form, written one by one, are two launches: what needs
// no other chunk, and the walk over the chunks. Refused with a reason: states that are
// needed elsewhere as well, another key, results that a GPU's walk would compute on vector
// units.
// RUN: hk-opt %s --pass-pipeline='builtin.module(hk-assign-target{target=gfx942},hk-fuse,hk-outline)' | FileCheck %s
// RUN: hk-compile %s --target=host --explain -o %t.so 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-compile %s --target=gfx942 --explain 2>&1 | FileCheck %s --check-prefix=GPU

// The sums are stored as well, for the second launch.
// CHECK-LABEL: func.func @chunked
// CHECK-COUNT-2: hk.launch @
// CHECK-NOT: hk.launch @
// CHECK: return
// EXPLAIN: 2 launches in @chunked, 2 launches in @states_too, 2 launches in @another_key, 1 launches in @few_values
func.func @chunked(%q: tensor<1x?x1x64xbf16>, %k: tensor<1x?x1x64xbf16>, %v: tensor<1x?x2x64xbf16>, %g: tensor<1x?x2xf32>, %b: tensor<1x?x2xf32>, %s: tensor<1x2x64x64xf32> {hk.state}) -> (tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>) {
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x2xf32>
  %a = hk.chunk_kkt %k decay %sum beta %b chunk 64 : tensor<1x?x1x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %a : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  %w, %u = hk.chunk_wu %k, %v, %x decay %sum beta %b : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>
  %h, %v1, %s1 = hk.chunk_state %k, %w, %u decay %sum state %s chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> state tensor<1x2x64x64xf32> -> tensor<1x?x2x64x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>
  %o = hk.chunk_output %q, %k, %v1, %h decay %sum chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>
  return %o, %s1 : tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>
}

// CHECK-LABEL: func.func @states_too
// CHECK-COUNT-2: hk.launch @
// CHECK: return
// EXPLAIN-DAG: not fused (result-escapes): hk.chunk_output / join hk.chunk_state: hk.chunk_state gives states or values that are needed elsewhere as well
func.func @states_too(%q: tensor<1x?x1x64xbf16>, %k: tensor<1x?x1x64xbf16>, %w: tensor<1x?x2x64xbf16>, %u: tensor<1x?x2x64xbf16>) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x?x2x64x64xbf16>, tensor<1x?x2x64xbf16>
  %o = hk.chunk_output %q, %k, %v, %h chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16> -> tensor<1x?x2x64xbf16>
  return %o, %h : tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16>
}

// CHECK-LABEL: func.func @another_key
// CHECK-COUNT-2: hk.launch @
// CHECK: return
// EXPLAIN-DAG: not fused (row-dims-differ): hk.chunk_output / join hk.chunk_state: hk.chunk_output has another key, decay, offsets or chunk than hk.chunk_state
func.func @another_key(%q: tensor<1x?x1x64xbf16>, %k: tensor<1x?x1x64xbf16>, %w: tensor<1x?x2x64xbf16>, %u: tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x?x2x64x64xbf16>, tensor<1x?x2x64xbf16>
  %o = hk.chunk_output %q, %q, %v, %h chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16> -> tensor<1x?x2x64xbf16>
  return %o : tensor<1x?x2x64xbf16>
}

// GPU: not fused (costlier-fused): hk.chunk_output / join hk.chunk_state: hk.chunk_output would be computed on vector units, chunk by chunk; whole fragments of a 16-bit type are computed on matrix units
func.func @few_values(%q: tensor<1x?x1x64xbf16>, %k: tensor<1x?x1x64xbf16>, %w: tensor<1x?x2x64xbf16>, %u: tensor<1x?x2x16xbf16>) -> tensor<1x?x2x16xbf16> {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x16xbf16> -> tensor<1x?x2x64x16xbf16>, tensor<1x?x2x16xbf16>
  %o = hk.chunk_output %q, %k, %v, %h chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x16xbf16>, tensor<1x?x2x64x16xbf16> -> tensor<1x?x2x16xbf16>
  return %o : tensor<1x?x2x16xbf16>
}
