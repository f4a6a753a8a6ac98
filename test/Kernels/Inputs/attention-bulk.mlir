// One kernel for each tile of the warp-specialised loops, with all that takes registers.
func.func @d64(%q: tensor<1x512x4x64xf16>, %k: tensor<1x512x2x64xf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x64xf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.125 causal window_left 100 : tensor<1x512x4x64xf16>, tensor<1x512x2x64xf16>, tensor<1x512x2x64xf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x64xf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x64xf16>, tensor<1x512x4xf32>
}
// Four warpgroups, dense and ragged.
func.func @wide64(%q: tensor<4x512x64x64xbf16>, %k: tensor<4x512x16x64xbf16>) -> tensor<4x512x64x64xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.125 : tensor<4x512x64x64xbf16>, tensor<4x512x16x64xbf16>, tensor<4x512x16x64xbf16> -> tensor<4x512x64x64xbf16>
  return %0 : tensor<4x512x64x64xbf16>
}
// The same where all is known, which stays in registers from tile to tile if nothing keeps it.
func.func @wide64_lse(%q: tensor<4x2048x16x64xbf16>, %k: tensor<4x2048x4x64xbf16>, %s: tensor<16xf32>) -> (tensor<4x2048x16x64xbf16>, tensor<4x2048x16xf32>) {
  %0, %1 = hk.attention %q, %k, %k sink %s scale 0.125 causal : tensor<4x2048x16x64xbf16>, tensor<4x2048x4x64xbf16>, tensor<4x2048x4x64xbf16> sink tensor<16xf32> -> tensor<4x2048x16x64xbf16>, tensor<4x2048x16xf32>
  return %0, %1 : tensor<4x2048x16x64xbf16>, tensor<4x2048x16xf32>
}
func.func @wide40(%q: tensor<?x20x40xf16>, %k: tensor<?x5x40xf16>, %o: tensor<?xi32>, %s: tensor<20xf32>) -> (tensor<?x20x40xf16>, tensor<?x20xf32>) {
  %0, %1 = hk.attention %q, %k, %k q_offsets %o kv_offsets %o sink %s scale 0.125 causal : tensor<?x20x40xf16>, tensor<?x5x40xf16>, tensor<?x5x40xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<20xf32> -> tensor<?x20x40xf16>, tensor<?x20xf32>
  return %0, %1 : tensor<?x20x40xf16>, tensor<?x20xf32>
}
func.func @d128(%q: tensor<1x512x4x128xbf16>, %k: tensor<1x512x2x128xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.0884 causal window_left 100 softcap 30.0 : tensor<1x512x4x128xbf16>, tensor<1x512x2x128xbf16>, tensor<1x512x2x128xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
}
func.func @d192(%q: tensor<1x512x4x192xbf16>, %k: tensor<1x512x2x192xbf16>, %v: tensor<1x512x2x128xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n sink %s scale 0.0722 causal softcap 30.0 : tensor<1x512x4x192xbf16>, tensor<1x512x2x192xbf16>, tensor<1x512x2x128xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
}
func.func @d256(%q: tensor<1x512x4x256xbf16>, %k: tensor<1x512x2x256xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.0625 causal window_left 100 : tensor<1x512x4x256xbf16>, tensor<1x512x2x256xbf16>, tensor<1x512x2x256xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>
}
func.func @d256_cap(%q: tensor<1x512x4x256xbf16>, %k: tensor<1x512x2x256xbf16>) -> tensor<1x512x4x256xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0625 causal window_left 100 softcap 30.0 : tensor<1x512x4x256xbf16>, tensor<1x512x2x256xbf16>, tensor<1x512x2x256xbf16> -> tensor<1x512x4x256xbf16>
  return %0 : tensor<1x512x4x256xbf16>
}
// A prefix in pages and new tokens.
func.func @segments64(%q: tensor<?x4x64xf16>, %k: tensor<?x2x64xf16>, %v: tensor<?x2x64xf16>, %kc: tensor<64x16x2x64xf16>, %vc: tensor<64x16x2x64xf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x40xi32>, %s: tensor<4xf32>) -> (tensor<?x4x64xf16>, tensor<?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 past window_left 100 : tensor<?x4x64xf16>, tensor<64x16x2x64xf16>, tensor<64x16x2x64xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x40xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.1 causal window_left 100 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b sink %s : tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x64xf32>, tensor<?x4xf32> sink tensor<4xf32> -> tensor<?x4x64xf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x64xf16>, tensor<?x4xf32>
}
func.func @segments128(%q: tensor<?x4x128xf16>, %k: tensor<?x2x128xf16>, %v: tensor<?x2x128xf16>, %kc: tensor<64x16x2x128xf16>, %vc: tensor<64x16x2x128xf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x40xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xf16>, tensor<?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 past window_left 100 softcap 30.0 : tensor<?x4x128xf16>, tensor<64x16x2x128xf16>, tensor<64x16x2x128xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x40xi32> -> tensor<?x4x128xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.1 causal window_left 100 softcap 30.0 : tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x128xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x128xf32>, tensor<?x4xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b sink %s : tensor<?x4x128xf32>, tensor<?x4xf32>, tensor<?x4x128xf32>, tensor<?x4xf32> sink tensor<4xf32> -> tensor<?x4x128xf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x128xf16>, tensor<?x4xf32>
}
func.func @segments192(%q: tensor<?x4x192xbf16>, %k: tensor<?x2x192xbf16>, %v: tensor<?x2x128xbf16>, %kc: tensor<64x24x2x192xbf16>, %vc: tensor<64x24x2x128xbf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x40xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xbf16>, tensor<?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 past window_left 100 softcap 30.0 : tensor<?x4x192xbf16>, tensor<64x24x2x192xbf16>, tensor<64x24x2x128xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x40xi32> -> tensor<?x4x128xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.1 causal window_left 100 softcap 30.0 : tensor<?x4x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2x128xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x128xf32>, tensor<?x4xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b sink %s : tensor<?x4x128xf32>, tensor<?x4xf32>, tensor<?x4x128xf32>, tensor<?x4xf32> sink tensor<4xf32> -> tensor<?x4x128xbf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x128xbf16>, tensor<?x4xf32>
}
func.func @segments256(%q: tensor<?x4x256xf16>, %k: tensor<?x2x256xf16>, %v: tensor<?x2x256xf16>, %kc: tensor<64x16x2x256xf16>, %vc: tensor<64x16x2x256xf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x40xi32>, %s: tensor<4xf32>) -> (tensor<?x4x256xf16>, tensor<?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 past window_left 100 : tensor<?x4x256xf16>, tensor<64x16x2x256xf16>, tensor<64x16x2x256xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x40xi32> -> tensor<?x4x256xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.1 causal window_left 100 : tensor<?x4x256xf16>, tensor<?x2x256xf16>, tensor<?x2x256xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x256xf32>, tensor<?x4xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b sink %s : tensor<?x4x256xf32>, tensor<?x4xf32>, tensor<?x4x256xf32>, tensor<?x4xf32> sink tensor<4xf32> -> tensor<?x4x256xf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x256xf16>, tensor<?x4xf32>
}
// Latent keys: two blocks of a cluster that take runs, and a block of its own.
func.func @latent_runs(%q: tensor<4x1x128x576xbf16>, %k: tensor<99x64x1x576xbf16>, %n: tensor<4xi32>, %t: tensor<4x90xi32>) -> (tensor<5x4x1x128x512xf32>, tensor<5x4x1x128xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [99, 64, 1, 512] [1, 1, 1, 1] : tensor<99x64x1x576xbf16> to tensor<99x64x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 causal kv_slices 5 : tensor<4x1x128x576xbf16>, tensor<99x64x1x576xbf16>, tensor<99x64x1x512xbf16> kv_lens tensor<4xi32> block_table tensor<4x90xi32> -> tensor<5x4x1x128x512xf32>, tensor<5x4x1x128xf32>
  return %0, %1 : tensor<5x4x1x128x512xf32>, tensor<5x4x1x128xf32>
}
func.func @latent(%q: tensor<?x16x576xf16>, %k: tensor<512x1x576xf16>, %o: tensor<5xi32>, %s: tensor<16xf32>) -> (tensor<?x16x512xf16>, tensor<?x16xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0] [512, 1, 512] [1, 1, 1] : tensor<512x1x576xf16> to tensor<512x1x512xf16>
  %0, %1 = hk.attention %q, %k, %v q_offsets %o kv_offsets %o sink %s scale 0.0417 causal softcap 30.0 : tensor<?x16x576xf16>, tensor<512x1x576xf16>, tensor<512x1x512xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> sink tensor<16xf32> -> tensor<?x16x512xf16>, tensor<?x16xf32>
  return %0, %1 : tensor<?x16x512xf16>, tensor<?x16xf32>
}
// Gradients: with sequences of different length, and dense.
func.func @backward128(%q: tensor<?x4x128xbf16>, %k: tensor<?x2x128xbf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.0884 causal window_left 100 : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
}
func.func @backward_dense128(%q: tensor<2x500x4x128xbf16>, %k: tensor<2x300x4x128xbf16>, %l: tensor<2x500x4xf32>) -> (tensor<2x500x4x128xbf16>, tensor<2x300x4x128xbf16>, tensor<2x300x4x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.0884 causal : tensor<2x500x4x128xbf16>, tensor<2x300x4x128xbf16>, tensor<2x300x4x128xbf16>, tensor<2x500x4x128xbf16>, tensor<2x500x4xf32> -> tensor<2x500x4x128xbf16>, tensor<2x300x4x128xbf16>, tensor<2x300x4x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<2x500x4x128xbf16>, tensor<2x300x4x128xbf16>, tensor<2x300x4x128xbf16>
}
func.func @backward80(%q: tensor<?x4x80xf16>, %k: tensor<?x2x80xf16>, %v: tensor<?x2x72xf16>, %g: tensor<?x4x72xf16>, %l: tensor<?x4xf32>) -> (tensor<?x4x80xf16>, tensor<?x2x80xf16>, tensor<?x2x72xf16>) {
  %0:3 = hk.attention_backward %q, %k, %v, %g, %l, %l scale 0.112 window_left 100 window_right 20 : tensor<?x4x80xf16>, tensor<?x2x80xf16>, tensor<?x2x72xf16>, tensor<?x4x72xf16>, tensor<?x4xf32> -> tensor<?x4x80xf16>, tensor<?x2x80xf16>, tensor<?x2x72xf16>
  return %0#0, %0#1, %0#2 : tensor<?x4x80xf16>, tensor<?x2x80xf16>, tensor<?x2x72xf16>
}
func.func @backward_cap128(%q: tensor<?x4x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>, %g: tensor<?x4x128xbf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %v, %g, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.0884 causal window_left 100 softcap 30.0 : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
}
func.func @backward_cap64(%q: tensor<?x4x64xf16>, %k: tensor<?x2x64xf16>, %v: tensor<?x2x64xf16>, %g: tensor<?x4x64xf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %v, %g, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.125 window_left 60 window_right 9 softcap 5.0 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
}
func.func @backward192(%q: tensor<?x4x192xbf16>, %k: tensor<?x2x192xbf16>, %v: tensor<?x2x128xbf16>, %g: tensor<?x4x128xbf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %v, %g, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.0722 causal window_left 100 softcap 30.0 : tensor<?x4x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x192xbf16>, tensor<?x2x192xbf16>, tensor<?x2x128xbf16>, tensor<4xf32>
}
func.func @backward_values192(%q: tensor<?x4x128xf16>, %k: tensor<?x2x128xf16>, %v: tensor<?x2x192xf16>, %g: tensor<?x4x192xf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x192xf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %v, %g, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.0884 window_left 100 window_right 20 : tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x192xf16>, tensor<?x4x192xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x192xf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x192xf16>, tensor<4xf32>
}
func.func @backward256(%q: tensor<?x4x256xf16>, %k: tensor<?x2x256xf16>, %v: tensor<?x2x64xf16>, %g: tensor<?x4x64xf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x256xf16>, tensor<?x2x256xf16>, tensor<?x2x64xf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %v, %g, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.0625 causal softcap 50.0 : tensor<?x4x256xf16>, tensor<?x2x256xf16>, tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x256xf16>, tensor<?x2x256xf16>, tensor<?x2x64xf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x256xf16>, tensor<?x2x256xf16>, tensor<?x2x64xf16>, tensor<4xf32>
}
func.func @backward_ordered(%q: tensor<8x2000x32x128xbf16>, %k: tensor<8x2100x8x128xbf16>, %l: tensor<8x2000x32xf32>) -> (tensor<8x2000x32x128xbf16>, tensor<8x2100x8x128xbf16>, tensor<8x2100x8x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.0884 causal : tensor<8x2000x32x128xbf16>, tensor<8x2100x8x128xbf16>, tensor<8x2100x8x128xbf16>, tensor<8x2000x32x128xbf16>, tensor<8x2000x32xf32> -> tensor<8x2000x32x128xbf16>, tensor<8x2100x8x128xbf16>, tensor<8x2100x8x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<8x2000x32x128xbf16>, tensor<8x2100x8x128xbf16>, tensor<8x2100x8x128xbf16>
}
func.func @backward_ordered_sink(%q: tensor<8x2000x9x128xf16>, %k: tensor<8x2100x9x128xf16>, %l: tensor<8x2000x9xf32>, %s: tensor<9xf32>) -> (tensor<8x2000x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<9xf32>) {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l sink %s scale 0.0884 : tensor<8x2000x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<8x2000x9x128xf16>, tensor<8x2000x9xf32> sink tensor<9xf32> -> tensor<8x2000x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<9xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<8x2000x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<8x2100x9x128xf16>, tensor<9xf32>
}
