// An attribute that nobody defines would be ignored and another function compiled.
// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @inherent(%q: tensor<8x4x64xbf16>, %k: tensor<8x4x64xbf16>) {
  // expected-error @below {{has no attribute 'is_causal'; did you mean 'causal'?}}
  %0 = hk.attention %q, %k, %k scale 0.125 {is_causal} : tensor<8x4x64xbf16>, tensor<8x4x64xbf16>, tensor<8x4x64xbf16> -> tensor<8x4x64xbf16>
  return
}

// -----

func.func @case(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) {
  // expected-error @below {{has no attribute 'transposeB'; did you mean 'transpose_b'?}}
  %0 = hk.matmul %x, %w {transposeB} : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  return
}

// -----

func.func @underscore(%x: tensor<8x256xf32>) {
  // expected-error @below {{has no attribute 'groupsize'; did you mean 'group'?}}
  %0, %1 = hk.quantize per_group %x {groupsize = 128 : i64} : tensor<8x256xf32> -> tensor<8x256xi8>, tensor<8x2xf32>
  return
}

// -----

func.func @word(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) {
  // expected-error @below {{'hk.matmul' has 'transpose_b' as a word in front of the colon, not in braces}}
  %0 = hk.matmul %x, %w {transpose_b} : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<8x32xbf16>
  return
}

// -----

func.func @word_of_another_name(%x: tensor<8x256xf32>) {
  // expected-error @below {{'hk.quantize' has 'group' as a word in front of the colon, not in braces}}
  %0, %1 = hk.quantize per_group %x {group_size = 64 : i64} : tensor<8x256xf32> -> tensor<8x256xi8>, tensor<8x4xf32>
  return
}

// -----

func.func @positional(%x: tensor<8x16xf32>) {
  // expected-error @below {{'hk.gated_activation' has 'kind' as a word in front of the colon, not in braces}}
  %0 = hk.gated_activation silu %x {kind = 1 : i32} : tensor<8x16xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @none(%x: tensor<8xf32>) {
  // expected-error @below {{has no attribute 'beta'; it has none}}
  %0 = hk.silu %x {beta = 1.0 : f32} : tensor<8xf32>
  return
}

// -----

func.func @far(%x: tensor<8xf32>) {
  // expected-error @below {{has no attribute 'scheme'; it has interleaved, kind, limit, round_before_up}}
  %0 = hk.gated_activation silu %x {scheme} : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @of_hk(%x: tensor<8xf32>) {
  // expected-error @below {{hk has no attribute 'hk.beta' of 'hk.silu'; it has none}}
  %0 = hk.silu %x {hk.beta} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{hk has no attribute 'hk.targt' of a module; did you mean 'hk.target'?}}
module attributes {hk.targt = "host"} {}

// -----

// expected-error @below {{expected 'hk.gemm_loop' to be "blocks", "warp_specialised", "skinny", "skinny_codes", "microscaled", "register_cells", "ping_pong", "streamed_codes" or "swapped", but got "fast"}}
module attributes {hk.gemm_loop = "fast"} {}

// -----

// expected-error @below {{expected 'hk.target' to be a target, as #hk.target<"gfx942">, but got "host"}}
module attributes {hk.target = "host"} {}

// -----

// expected-error @below {{hk has no attribute 'hk.nam' of argument #0; did you mean 'hk.name'?}}
func.func @argument(%x: tensor<8xf32> {hk.nam = "x"}) {
  return
}

// -----

// expected-error @below {{hk has no attribute 'hk.state' of result #0; it has hk.name}}
func.func @result(%x: tensor<8xf32>) -> (tensor<8xf32> {hk.state}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{expected 'hk.state' of argument #0 to have no value, but got true}}
func.func @unit(%x: tensor<8xf32> {hk.state = true}) {
  return
}

// -----

// expected-error @below {{expected 'hk.name' of argument #0 to be a string, but got 3}}
func.func @name(%x: tensor<8xf32> {hk.name = 3}) {
  return
}

// -----

// expected-error @below {{expected 'hk.name' of argument #0 to be usable as the name of a file, but got '../esc': it has a '/'}}
func.func @outside(%x: tensor<8xf32> {hk.name = "../esc"}) {
  return
}

// -----

// expected-error @below {{of result #0 to be usable as the name of a file, but got '..': it is the name of a folder}}
func.func @folder(%x: tensor<8xf32>) -> (tensor<8xf32> {hk.name = ".."}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @below {{but got '': it is empty}}
func.func @empty(%x: tensor<8xf32> {hk.name = ""}) {
  return
}

// -----

// expected-error @below {{but got 'a\00b': it has a NUL}}
func.func @nul(%x: tensor<8xf32> {hk.name = "a\00b"}) {
  return
}

// -----

// expected-error @below {{but got 'a\FF': it is not UTF-8}}
func.func @utf8(%x: tensor<8xf32> {hk.name = "a\FF"}) {
  return
}

// -----

// expected-error @below {{expected 'hk.dims' of argument #0 to be an array of strings, as ["T", "_"], but got "T"}}
func.func @dims(%x: tensor<8xf32> {hk.dims = "T"}) {
  return
}

// -----

// expected-error @below {{expected 'hk.dims' of argument #0 to have 2 names, one per dim of 'tensor<?x8xf32>', but got 1}}
func.func @rank(%x: tensor<?x8xf32> {hk.dims = ["T"]}) {
  return
}

// -----

// expected-error @below {{to have no empty name; '_' names no dim}}
func.func @unnamed(%x: tensor<?xf32> {hk.dims = [""]}) {
  return
}

// -----

// What belongs to another dialect stays.
func.func @others(%x: tensor<8xf32> {tf.name = "x"}) {
  %0 = hk.silu %x {test.note = "kept"} : tensor<8xf32>
  return
}
