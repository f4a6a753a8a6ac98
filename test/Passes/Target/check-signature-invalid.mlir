// RUN: hk-opt -hk-check-signature -split-input-file -verify-diagnostics %s

// expected-error @+1 {{'func.func' op expected argument #1 to be a ranked tensor of f32, bf16, f16, i1, i4, ui4, i8, i16, i32, i64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU or f4E2M1FN, but got 'f32'}}
func.func @scalar(%x: tensor<4xf32>, %y: f32) {
  return
}

// -----

// expected-error-re @+1 {{expected result #0 to be a ranked tensor of {{.*}}, but got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<4xf32>) -> tensor<*xf32> {
  %y = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  return %y : tensor<*xf32>
}

// -----

// expected-error-re @+1 {{expected argument #0 to be a ranked tensor of {{.*}}, but got 'tensor<4xf64>'}}
func.func @element(%x: tensor<4xf64>) {
  return
}

// -----

// expected-error @+1 {{expected a name in UTF-8, but got 'layer�'}}
func.func @"layer\FF"(%x: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{expected a tensor of at most 2^48 bytes, but got 'tensor<4x9223372036854775807xf32>'}}
func.func @overflow(%x: tensor<4x9223372036854775807xf32>) {
  return
}

// -----

func.func @large_result(%x: tensor<16777216x1xf32>, %y: tensor<1x16777216xf32>) {
  // expected-error @+1 {{expected a tensor of at most 2^48 bytes}}
  %0 = hk.add %x, %y : tensor<16777216x1xf32>, tensor<1x16777216xf32> -> tensor<16777216x16777216xf32>
  return
}

// -----

// expected-error @+1 {{expected public names to be different, but argument #0 and argument #1 are both 'x'; give one of them another 'hk.name'}}
func.func @twice(%x: tensor<4xf32> {hk.name = "x"}, %y: tensor<4xf32> {hk.name = "x"}) {
  return
}

// -----

// expected-error @+1 {{argument #0 and argument #1 are both 'arg1'}}
func.func @default_name(%x: tensor<4xf32> {hk.name = "arg1"}, %y: tensor<4xf32>) {
  return
}

// -----

// expected-error @+1 {{argument #0 and result #1 are both 'x'}}
func.func @with_result(%x: tensor<4xf32> {hk.name = "x"}) -> (tensor<4xf32>, tensor<4xf32> {hk.name = "x"}) {
  %y = hk.neg %x : tensor<4xf32>
  return %y, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{expected the dims 'D' to have one size, but got 64 in 'x' and 32 in 'arg1'}}
func.func @dims(%x: tensor<?x64xf32> {hk.name = "x", hk.dims = ["T", "D"]}, %w: tensor<32xf32> {hk.dims = ["D"]}) {
  return
}

// -----

func.func @lost_write(%v: tensor<?x2x64xbf16>, %s: tensor<?xi32>, %cache: tensor<1x512x2x64xbf16> {hk.state, hk.name = "cache"}) {
  // expected-error @+1 {{writes the state 'cache', but the function does not return what it wrote; return result #0 of it, or what later writes make of it}}
  %c = hk.kv_cache_write %v, %s into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  return
}

// -----

func.func @read_write(%v: tensor<?x2x64xbf16>, %s: tensor<?xi32>, %cache: tensor<1x512x2x64xbf16> {hk.state}) -> tensor<?x2x64xbf16> {
  // expected-error @+1 {{writes the state 'arg2', but the function does not return what it wrote}}
  %c = hk.kv_cache_write %v, %s into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %y = hk.attention %v, %c, %c scale 0.125 : tensor<?x2x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> -> tensor<?x2x64xbf16>
  return %y : tensor<?x2x64xbf16>
}

// -----

// A state's result has no argument of its own, so it may have the state's name.
func.func @chain(%v: tensor<?x2x64xbf16>, %s: tensor<?xi32>, %cache: tensor<1x512x2x64xbf16> {hk.state, hk.name = "c"}) -> (tensor<1x512x2x64xbf16> {hk.name = "c"}) {
  %c = hk.kv_cache_write %v, %s into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %d = hk.kv_cache_write %v, %s into %c : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  return %d : tensor<1x512x2x64xbf16>
}

// -----

// expected-error @+1 {{expected the last size of argument #0 to be static and even for 'ui4', but got 'tensor<4x?xui4>'}}
func.func @packed(%x: tensor<4x?xui4>) {
  return
}

// -----

// expected-error @+1 {{expected one block, but got 2; hk has no control flow: compute both branches and choose with hk.select, or compile a function for each}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  %y = hk.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @input(%v: tensor<?x2x64xbf16>, %s: tensor<?xi32>, %cache: tensor<2x512x2x64xbf16> {hk.name = "cache"}) -> tensor<1x512x2x64xbf16> {
  %part = tensor.extract_slice %cache[1, 0, 0, 0] [1, 512, 2, 64] [1, 1, 1, 1] : tensor<2x512x2x64xbf16> to tensor<1x512x2x64xbf16>
  // expected-error @+1 {{'hk.kv_cache_write' op writes in place into argument 'cache', which is an input; give the argument 'hk.state' or write into an hk.copy of it}}
  %c = hk.kv_cache_write %v, %s into %part : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  return %c : tensor<1x512x2x64xbf16>
}

// -----

hk.weight @w "w" : tensor<1x512x2x64xbf16>
func.func @weight(%v: tensor<?x2x64xbf16>, %s: tensor<?xi32>) -> tensor<1x512x2x64xbf16> {
  %w = hk.weight_ref @w : tensor<1x512x2x64xbf16>
  // expected-error @+1 {{'hk.kv_cache_write' op writes in place into a weight; write into an hk.copy of it}}
  %c = hk.kv_cache_write %v, %s into %w : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  return %c : tensor<1x512x2x64xbf16>
}
