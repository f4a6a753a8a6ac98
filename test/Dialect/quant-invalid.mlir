// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @scalar(%x: tensor<f32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %q, %s = hk.quantize per_token %x : tensor<f32> -> tensor<i8>, tensor<1xf32>
  return
}

// -----

func.func @group_size(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected group_size to be at least 1, but got 0}}
  %q, %s = hk.quantize per_group %x group 0 : tensor<2x8xf32> -> tensor<2x8xi8>, tensor<2x1xf32>
  return
}

// -----

func.func @limit(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected limit to be in (0, 1.270000e+02], the range of 'i8', but got 2.0}}
  %q, %s = hk.quantize per_token %x limit 200.0 : tensor<2x8xf32> -> tensor<2x8xi8>, tensor<2x1xf32>
  return
}

// -----

func.func @floor(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected amax_floor to be finite and at least 0, but got -1.0}}
  %q, %s = hk.quantize per_token %x amax_floor -1.0 : tensor<2x8xf32> -> tensor<2x8xi8>, tensor<2x1xf32>
  return
}

// -----

func.func @codes(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected shape of quantized to be [2, 8], but got [2, 4]}}
  %q, %s = hk.quantize per_token %x : tensor<2x8xf32> -> tensor<2x4xi8>, tensor<2x1xf32>
  return
}

// -----

func.func @token_scale(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected shape of scale to be [2, 1], but got [2, 8]}}
  %q, %s = hk.quantize per_token %x : tensor<2x8xf32> -> tensor<2x8xi8>, tensor<2x8xf32>
  return
}

// -----

func.func @group_scale(%x: tensor<2x300xf32>) {
  // expected-error @below {{expected shape of scale to be [2, 3], but got [2, 2]}}
  %q, %s = hk.quantize per_group %x : tensor<2x300xf32> -> tensor<2x300xi8>, tensor<2x2xf32>
  return
}

// -----

func.func @static_scale(%x: tensor<2x300xf32>, %s: tensor<2x2xf32>) {
  // expected-error @below {{expected shape of scale to be [2, 3], but got [2, 2]}}
  %q = hk.quantize_static %x, %s : tensor<2x300xf32>, tensor<2x2xf32> -> tensor<2x300xi8>
  return
}

// -----

func.func @static_token_scale(%x: tensor<2x300xf32>, %s: tensor<3x1xf32>) {
  // expected-error @below {{expected shape of scale to be [2, 1], but got [3, 1]}}
  %q = hk.quantize_static %x, %s : tensor<2x300xf32>, tensor<3x1xf32> -> tensor<2x300xi8>
  return
}

// -----

func.func @mx_scale(%x: tensor<2x64xf32>) {
  // expected-error @below {{expected shape of scale to be [2, 2], but got [2, 64]}}
  %q, %s = hk.quantize_mx even %x : tensor<2x64xf32> -> tensor<2x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  return
}

// -----

func.func @mx_odd(%x: tensor<2x63xf32>) {
  // expected-error @below {{expected size of dim 1 of quantized to be even for 'f4E2M1FN', but got 63}}
  %q, %s = hk.quantize_mx even %x : tensor<2x63xf32> -> tensor<2x63xf4E2M1FN>, tensor<2x2xf8E8M0FNU>
  return
}

// -----

func.func @mx_dynamic(%x: tensor<2x?xf32>) {
  // expected-error @below {{expected size of dim 1 of quantized to be static for 'f4E2M1FN', but got ?}}
  %q, %s = hk.quantize_mx even %x : tensor<2x?xf32> -> tensor<2x?xf4E2M1FN>, tensor<2x?xf8E8M0FNU>
  return
}

// -----

func.func @scale_type(%q: tensor<2x64xi8>, %s: tensor<2x1xi8>) {
  // expected-error @below {{expected element type of scale to be f32, bf16, f16 or f8E8M0FNU, but got 'i8'}}
  %0 = hk.dequantize %q, %s : tensor<2x64xi8>, tensor<2x1xi8> -> tensor<2x64xf32>
  return
}

// -----

func.func @code_type(%q: tensor<2x64xi32>, %s: tensor<2x1xf32>) {
  // expected-error @below {{expected element type of input to be i8, i4, ui4 or a float, but got 'i32'}}
  %0 = hk.dequantize %q, %s : tensor<2x64xi32>, tensor<2x1xf32> -> tensor<2x64xf32>
  return
}

// -----

func.func @dequantize_rank(%q: tensor<2x64xi8>, %s: tensor<2xf32>) {
  // expected-error @below {{expected rank of scale to be 2, but got 1}}
  %0 = hk.dequantize %q, %s : tensor<2x64xi8>, tensor<2xf32> -> tensor<2x64xf32>
  return
}

// -----

func.func @dequantize_blocks(%q: tensor<2x64xi8>, %s: tensor<2x3xf8E8M0FNU>) {
  // expected-error @below {{expected size of dim 1 of scale to be 2, but got 3}}
  %0 = hk.dequantize %q, %s : tensor<2x64xi8>, tensor<2x3xf8E8M0FNU> -> tensor<2x64xf32>
  return
}

// -----

func.func @reencode_shape(%a: tensor<2x64xf8E4M3FN>) {
  // expected-error @below {{expected shape of result to be [2, 64], but got [64, 2]}}
  %0 = hk.reencode %a : tensor<2x64xf8E4M3FN> -> tensor<64x2xf8E4M3FNUZ>
  return
}

// -----

func.func @reencode_flavour(%a: tensor<2x64xf8E4M3FN>) {
  // expected-error @below {{expected element type of result to be the other e4m3 flavour, but got 'f8E4M3FN', that of input}}
  %0 = hk.reencode %a : tensor<2x64xf8E4M3FN> -> tensor<2x64xf8E4M3FN>
  return
}

// -----

func.func @int4_odd(%q: tensor<64x63xui4>, %s: tensor<64x1xf32>) {
  // expected-error @below {{expected size of dim 1 of input to be even for 'ui4', but got 63}}
  %0 = hk.dequantize %q, %s : tensor<64x63xui4>, tensor<64x1xf32> -> tensor<64x63xbf16>
  return
}

// -----

func.func @int4_dynamic(%q: tensor<64x?xi4>, %s: tensor<64x1xf32>) {
  // expected-error @below {{expected size of dim 1 of input to be static for 'i4', but got ?}}
  %0 = hk.dequantize %q, %s : tensor<64x?xi4>, tensor<64x1xf32> -> tensor<64x?xbf16>
  return
}

// -----

// Groups of 48 divide 100 into three.
func.func @int4_groups(%q: tensor<64x100xi4>, %s: tensor<64x2xf16>) {
  // expected-error @below {{expected size of dim 1 of scale to be 3, but got 2}}
  %0 = hk.dequantize %q, %s group 48 : tensor<64x100xi4>, tensor<64x2xf16> -> tensor<64x100xbf16>
  return
}

// -----

func.func @zero_point_shape(%q: tensor<64x128xui4>, %s: tensor<64x4xf16>, %z: tensor<4x64xui4>) {
  // expected-error @below {{expected shape of zero_point to be [64, 4], but got [4, 64]}}
  %0 = hk.dequantize %q, %s, %z group 32 : tensor<64x128xui4>, tensor<64x4xf16>, tensor<4x64xui4> -> tensor<64x128xbf16>
  return
}

// -----

func.func @zero_point_packed(%q: tensor<64x96xui4>, %s: tensor<64x3xf16>, %z: tensor<64x3xui4>) {
  // expected-error @below {{expected size of dim 1 of zero_point to be even for 'ui4', but got 3}}
  %0 = hk.dequantize %q, %s, %z group 32 : tensor<64x96xui4>, tensor<64x3xf16>, tensor<64x3xui4> -> tensor<64x96xbf16>
  return
}

// -----

func.func @zero_point_type(%q: tensor<64x96xui4>, %s: tensor<64x1xf16>, %z: tensor<64x1xi32>) {
  // expected-error @below {{expected element type of zero_point to be i8, i4, ui4, f32, bf16 or f16, but got 'i32'}}
  %0 = hk.dequantize %q, %s, %z : tensor<64x96xui4>, tensor<64x1xf16>, tensor<64x1xi32> -> tensor<64x96xbf16>
  return
}

// -----

func.func @offset_alone(%q: tensor<64x96xui4>, %s: tensor<64x3xf16>) {
  // expected-error @below {{expected a zero_point, which `offset` adds, but got none; name it behind the scale}}
  %0 = hk.dequantize %q, %s offset group 32 : tensor<64x96xui4>, tensor<64x3xf16> -> tensor<64x96xf32>
  return
}

// -----

func.func @offset_integer(%q: tensor<64x96xui4>, %s: tensor<64x4xf16>, %z: tensor<64x4xi8>) {
  // expected-error @below {{expected element type of zero_point to be f32, bf16 or f16 with `offset`, but got 'i8'}}
  %0 = hk.dequantize %q, %s, %z offset group 24 : tensor<64x96xui4>, tensor<64x4xf16>, tensor<64x4xi8> -> tensor<64x96xf32>
  return
}

// -----

func.func @zero_point_of_float(%q: tensor<64x96xf8E4M3FN>, %s: tensor<64x1xf32>, %z: tensor<64x1xf32>) {
  // expected-error @below {{expected element type of input to be i8, i4 or ui4 with a zero_point, but got 'f8E4M3FN'}}
  %0 = hk.dequantize %q, %s, %z : tensor<64x96xf8E4M3FN>, tensor<64x1xf32>, tensor<64x1xf32> -> tensor<64x96xbf16>
  return
}

// -----

func.func @zero_point_mx(%q: tensor<64x96xi8>, %s: tensor<64x3xf8E8M0FNU>, %z: tensor<64x3xi8>) {
  // expected-error @below {{expected element type of scale to be f32, bf16 or f16 with a zero_point, but got 'f8E8M0FNU'}}
  %0 = hk.dequantize %q, %s, %z : tensor<64x96xi8>, tensor<64x3xf8E8M0FNU>, tensor<64x3xi8> -> tensor<64x96xbf16>
  return
}

// -----

func.func @cast_to_int4(%x: tensor<4x64xi8>) {
  // expected-error @below {{expected element type of result to be other than 'i4', which only weights and arguments have}}
  %0 = hk.cast %x : tensor<4x64xi8> -> tensor<4x64xi4>
  return
}

// -----

// expected-error @below {{expected size of dim 1 of the weight to be even for 'i4', but got 7}}
hk.weight @odd "odd" : tensor<4x7xi4>

// -----

func.func @add_int4(%x: tensor<4x64xi4>) {
  // expected-error @below {{operand #0 must be ranked tensor}}
  %0 = hk.add %x, %x : tensor<4x64xi4>
  return
}
