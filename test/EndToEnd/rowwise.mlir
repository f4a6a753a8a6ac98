// Row-wise kernels against the interpreter: odd widths, one row, no rows, rows
// too long for registers, and data that is not a number.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --function=softmax --dim=x.0=5 --check=%s
// RUN: hk-run %t.so --function=softmax --dim=x.0=1 --data=inf --check=%s
// RUN: hk-run %t.so --function=softmax --dim=x.0=0 --check=%s
// RUN: hk-run %t.so --function=softmax --dim=x.0=3 --data=nan --check=%s
// RUN: hk-run %t.so --function=softmax --dim=x.0=3 --data=huge --check=%s
// RUN: hk-run %t.so --function=softmax_any --dim=x.0=4 --dim=x.1=37 --check=%s
// RUN: hk-run %t.so --function=softmax_any --dim=x.0=4 --dim=x.1=1 --check=%s
// RUN: hk-run %t.so --function=softmax_any --dim=x.0=2 --dim=x.1=131072 --check=%s
// RUN: hk-run %t.so --function=add_norm_quantize --dim=x.0=7 --dim=res.0=7 --check=%s
// RUN: hk-run %t.so --function=add_norm_quantize --dim=x.0=2 --dim=res.0=2 --data=nan --check=%s
// RUN: hk-run %t.so --function=add_norm_quantize --dim=x.0=2 --dim=res.0=2 --data=equal --check=%s
// RUN: hk-run %t.so --function=add_norm_quantize --dim=x.0=2 --dim=res.0=2 --data=tiny --check=%s
// RUN: hk-run %t.so --function=norm_odd --dim=x.0=3 --check=%s
// RUN: hk-run %t.so --function=norm_odd --dim=x.0=3 --data=huge --check=%s
// RUN: hk-run %t.so --function=norm_pad --dim=x.0=3 --check=%s
// RUN: hk-run %t.so --function=layer_norm --dim=x.0=3 --check=%s
// RUN: hk-run %t.so --function=gated_mx --dim=x.0=3 --check=%s
// RUN: hk-run %t.so --function=gated_mx --dim=x.0=3 --data=inf --check=%s
// RUN: hk-run %t.so --function=gated_mx --dim=x.0=3 --data=tiny --check=%s
// RUN: hk-run %t.so --function=quantize_token --dim=x.0=3 --check=%s
// RUN: hk-run %t.so --function=qkv --dim=x.0=6 --dim=pos.0=6 --dim=slots.0=6 --range=pos=-1:600 --range=slots=iota:-2 --check=%s
// RUN: hk-run %t.so --function=heads --dim=x.0=6 --check=%s
// RUN: hk-run %t.so --function=embed --dim=ids.0=6 --range=ids=-2:120 --check=%s
// RUN: hk-run %t.so --function=transpose --dim=x.0=9 --check=%s
// RUN: hk-run %t.so --function=transpose_truth --dim=x.0=5 --check=%s
// RUN: hk-run %t.so --function=transpose_truth --dim=x.0=70 --check=%s

func.func @softmax(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %y = hk.softmax %x : tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}
func.func @softmax_any(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = hk.softmax %x : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @add_norm_quantize(%x: tensor<?x4096xbf16>, %res: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>) {
  %s = hk.add %x, %res : tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  %q, %sc = hk.quantize per_group %y group 128 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %s, %q, %sc : tensor<?x4096xbf16>, tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}
func.func @norm_odd(%x: tensor<?x3571xf16>, %w: tensor<3571xf16>) -> tensor<?x3571xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x3571xf16>, tensor<3571xf16>
  return %y : tensor<?x3571xf16>
}
func.func @norm_pad(%x: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> tensor<?x3072xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16>
  %p = hk.pad %y : tensor<?x2880xbf16> -> tensor<?x3072xbf16>
  return %p : tensor<?x3072xbf16>
}
func.func @layer_norm(%x: tensor<?x409xf32>, %w: tensor<409xf32>, %b: tensor<409xf32>) -> tensor<?x409xf32> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x409xf32>, tensor<409xf32>, tensor<409xf32>
  return %y : tensor<?x409xf32>
}
func.func @gated_mx(%x: tensor<?x1024xbf16>) -> (tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x1024xbf16> -> tensor<?x512xbf16>
  %q, %s = hk.quantize_mx even %y : tensor<?x512xbf16> -> tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
  return %q, %s : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
}
func.func @quantize_token(%x: tensor<?x500xbf16>) -> (tensor<?x500xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x500xbf16> -> tensor<?x500xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x500xi8>, tensor<?x1xf32>
}
func.func @qkv(%x: tensor<?x768xbf16>, %wq: tensor<64xbf16>, %cos: tensor<512x32xf32>, %sin: tensor<512x32xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %ck: tensor<3x128x2x64xbf16> {hk.state}, %cv: tensor<3x128x2x64xbf16> {hk.state}) -> (tensor<?x8x64xbf16>, tensor<3x128x2x64xbf16>, tensor<3x128x2x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x768xbf16>
  %h = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 12, 64] : tensor<?x768xbf16> into tensor<?x12x64xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%t, 8, 64] [1, 1, 1] : tensor<?x12x64xbf16> to tensor<?x8x64xbf16>
  %k = tensor.extract_slice %h[0, 8, 0] [%t, 2, 64] [1, 1, 1] : tensor<?x12x64xbf16> to tensor<?x2x64xbf16>
  %v = tensor.extract_slice %h[0, 10, 0] [%t, 2, 64] [1, 1, 1] : tensor<?x12x64xbf16> to tensor<?x2x64xbf16>
  %qn = hk.rms_norm %q, %wq epsilon 1.0e-06 : tensor<?x8x64xbf16>, tensor<64xbf16>
  %kn = hk.rms_norm %k, %wq epsilon 1.0e-06 : tensor<?x2x64xbf16>, tensor<64xbf16>
  %qr = hk.rope neox %qn, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %kn, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %a = hk.kv_cache_write %kr, %slots into %ck : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<3x128x2x64xbf16>
  %b = hk.kv_cache_write %v, %slots into %cv : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<3x128x2x64xbf16>
  return %qr, %a, %b : tensor<?x8x64xbf16>, tensor<3x128x2x64xbf16>, tensor<3x128x2x64xbf16>
}
func.func @heads(%x: tensor<?x3x80xf32>, %cos: tensor<16x20xf32>) -> tensor<?x240xf32> {
  %n = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x3x80xf32>
  %r = hk.rope gptj %n, %cos, %cos nope_first : tensor<?x3x80xf32>, tensor<16x20xf32>, tensor<16x20xf32>
  %z = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x3x80xf32> into tensor<?x240xf32>
  %w = hk.neg %z : tensor<?x240xf32>
  return %w : tensor<?x240xf32>
}
func.func @embed(%table: tensor<100x256xbf16>, %ids: tensor<?xi32>, %w: tensor<256xbf16>) -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %e = hk.gather_rows %table, %ids : tensor<100x256xbf16>, tensor<?xi32> -> tensor<?x256xbf16>
  %y = hk.rms_norm %e, %w epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16>
  return %e, %y : tensor<?x256xbf16>, tensor<?x256xbf16>
}
func.func @transpose(%x: tensor<?x96xf32>) -> tensor<96x?xf32> {
  %y = hk.transpose %x [1, 0] : tensor<?x96xf32> -> tensor<96x?xf32>
  return %y : tensor<96x?xf32>
}
// A truth value is a byte in memory.
func.func @transpose_truth(%x: tensor<?x24xbf16>) -> tensor<24x?xi1> {
  %z = hk.constant dense<0.0> : tensor<bf16>
  %c = hk.compare gt %x, %z : tensor<?x24xbf16>, tensor<bf16> -> tensor<?x24xi1>
  %y = hk.transpose %c [1, 0] : tensor<?x24xi1> -> tensor<24x?xi1>
  return %y : tensor<24x?xi1>
}
