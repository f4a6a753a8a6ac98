// Attention to a cached prefix and to the new tokens, and their combination, is one kernel
// with one running softmax; what keeps segments apart has a reason.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=WHY
// RUN: hk-compile %s --target=gfx942 --emit=kernels -o - | FileCheck %s --check-prefix=TEXT

// WHY-DAG: fused: hk.attention_combine / join hk.attention: it reads what that makes

// CHECK-LABEL: func.func @paged
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
// TEXT: constexpr AttentionSpec kSpec = {
// TEXT: .keys = AttentionKeys::paged(16, KeyCount::Given),
// TEXT-NEXT: .window = {100, -1, OwnKeys::Elsewhere},
// TEXT: .valueScaling = ValueScaling::FirstSegment,
// TEXT: constexpr AttentionSpec kSpec1 = {
// TEXT: .keys = AttentionKeys::ragged(KeyCount::All),
// TEXT-NEXT: .window = {100, 0, OwnKeys::Seen},
// TEXT: .valueScaling = ValueScaling::Probabilities,
// TEXT: using v0 = AttentionSegments<AttentionKernel<kSpec, AttentionTile{16, 32, 4, 1, 1}>, AttentionKernel<kSpec1, AttentionTile{16, 32, 4, 1, 1}>>;
// TEXT: v0::run(launchWords(words), arguments, arguments1, block, lds);
func.func @paged(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %kc: tensor<?x16x2x64xbf16>, %bounds: tensor<?xi32>, %lens: tensor<?xi32>, %pages: tensor<?x?xi32>, %sink: tensor<4xf32>) -> (tensor<?x4x64xbf16>, tensor<?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %kc q_offsets %bounds kv_lens %lens block_table %pages scale 0.125 past window_left 100 : tensor<?x4x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %k, %k q_offsets %bounds kv_offsets %bounds scale 0.125 causal window_left 100 : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %o, %l = hk.attention_combine %x, %a, %y, %b sink %sink : tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x64xf32>, tensor<?x4xf32> sink tensor<4xf32> -> tensor<?x4x64xbf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x64xbf16>, tensor<?x4xf32>
}

// Three segments, and a transposed result.
// CHECK-LABEL: func.func @three
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @three(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<2x30x64xbf16>, %w: tensor<9x2x64xbf16>) -> tensor<4x9x64xbf16> {
  %z = hk.transpose %v [1, 0, 2] : tensor<2x30x64xbf16> -> tensor<30x2x64xbf16>
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %q, %z, %z scale 0.125 softcap 20.0 : tensor<9x4x64xbf16>, tensor<30x2x64xbf16>, tensor<30x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %u, %c = hk.attention %q, %w, %w scale 0.1 causal : tensor<9x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b, %u, %c : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  %r = hk.transpose %o [1, 0, 2] : tensor<9x4x64xbf16> -> tensor<4x9x64xbf16>
  return %r : tensor<4x9x64xbf16>
}

// CHECK-LABEL: func.func @other_queries
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (unsupported-shape): hk.attention_combine / {{.*}}: the segments have different queries
func.func @other_queries(%q: tensor<9x4x64xbf16>, %p: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>) -> tensor<9x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %p, %k, %k scale 0.25 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}

// CHECK-LABEL: func.func @needed_elsewhere
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (result-escapes): hk.attention_combine / {{.*}}: the attention to one segment is needed elsewhere as well
func.func @needed_elsewhere(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %n: tensor<9x2x64xbf16>) -> (tensor<9x4x64xbf16>, tensor<9x4xf32>) {
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %q, %n, %n scale 0.125 causal : tensor<9x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  return %o, %a : tensor<9x4x64xbf16>, tensor<9x4xf32>
}

// CHECK-LABEL: func.func @own_sink
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (unsupported-shape): hk.attention_combine / {{.*}}: a segment has a sink of its own; give it to hk.attention_combine
func.func @own_sink(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %n: tensor<9x2x64xbf16>, %sink: tensor<4xf32>) -> tensor<9x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k sink %sink scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> sink tensor<4xf32> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %q, %n, %n scale 0.125 causal : tensor<9x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}

// CHECK-LABEL: func.func @other_groups
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (unsupported-shape): hk.attention_combine / {{.*}}: the segments have different numbers of key heads
func.func @other_groups(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %n: tensor<9x4x64xbf16>) -> tensor<9x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %q, %n, %n scale 0.125 causal : tensor<9x4x64xbf16>, tensor<9x4x64xbf16>, tensor<9x4x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}

// CHECK-LABEL: func.func @channels
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (unsupported-shape): hk.attention_combine / {{.*}}: a segment has scales of the channels of its values
func.func @channels(%q: tensor<1x9x4x64xbf16>, %k: tensor<1x70x2x64xf8E4M3FN>, %n: tensor<1x9x2x64xbf16>, %scale: tensor<1x1x2x64xf32>) -> tensor<1x9x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k v_scale %scale scale 0.125 : tensor<1x9x4x64xbf16>, tensor<1x70x2x64xf8E4M3FN>, tensor<1x70x2x64xf8E4M3FN> v_scale tensor<1x1x2x64xf32> -> tensor<1x9x4x64xf32>, tensor<1x9x4xf32>
  %y, %b = hk.attention %q, %n, %n scale 0.125 causal : tensor<1x9x4x64xbf16>, tensor<1x9x2x64xbf16>, tensor<1x9x2x64xbf16> -> tensor<1x9x4x64xf32>, tensor<1x9x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<1x9x4x64xf32>, tensor<1x9x4xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4xf32> -> tensor<1x9x4x64xbf16>
  return %o : tensor<1x9x4x64xbf16>
}

// The transpose of one segment's keys is read as it is by the other.
// CHECK-LABEL: func.func @two_orders
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (unsupported-shape): hk.attention_combine / {{.*}}: the segments read a tensor in different orders
func.func @two_orders(%q: tensor<4x4x64xbf16>, %k: tensor<4x4x64xbf16>) -> tensor<4x4x64xbf16> {
  %t = hk.transpose %k [1, 0, 2] : tensor<4x4x64xbf16>
  %x, %a = hk.attention %q, %t, %t scale 0.125 : tensor<4x4x64xbf16>, tensor<4x4x64xbf16>, tensor<4x4x64xbf16> -> tensor<4x4x64xf32>, tensor<4x4xf32>
  %y, %b = hk.attention %q, %k, %k scale 0.125 causal : tensor<4x4x64xbf16>, tensor<4x4x64xbf16>, tensor<4x4x64xbf16> -> tensor<4x4x64xf32>, tensor<4x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<4x4x64xf32>, tensor<4x4xf32>, tensor<4x4x64xf32>, tensor<4x4xf32> -> tensor<4x4x64xbf16>
  return %o : tensor<4x4x64xbf16>
}

// CHECK-LABEL: func.func @sum_of_parts
// CHECK-COUNT-2: hk.launch
// WHY-DAG: not fused (not-an-epilogue): hk.attention_combine / {{.*}}: not all that is combined are the results of attentions as they are
func.func @sum_of_parts(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %p: tensor<9x4x64xf32>, %l: tensor<9x4xf32>) -> tensor<9x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o = hk.attention_combine %x, %a, %p, %l : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}

// Heads of 36 bytes, of any number of queries.
// CHECK-LABEL: func.func @odd_heads
// CHECK-COUNT-3: hk.launch
// WHY-DAG: not fused (costlier-fused): hk.attention_combine / {{.*}}: without matrix units a wave walks over the keys of one query; many queries are quicker one segment after the other
func.func @odd_heads(%q: tensor<?x4x18xbf16>, %k: tensor<70x2x18xbf16>, %n: tensor<?x2x18xbf16>) -> tensor<?x4x18xbf16> {
  %x, %a = hk.attention %q, %k, %k scale 0.25 : tensor<?x4x18xbf16>, tensor<70x2x18xbf16>, tensor<70x2x18xbf16> -> tensor<?x4x18xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %n, %n scale 0.25 causal : tensor<?x4x18xbf16>, tensor<?x2x18xbf16>, tensor<?x2x18xbf16> -> tensor<?x4x18xf32>, tensor<?x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<?x4x18xf32>, tensor<?x4xf32>, tensor<?x4x18xf32>, tensor<?x4xf32> -> tensor<?x4x18xbf16>
  return %o : tensor<?x4x18xbf16>
}
