// On AMD rows that no vector of more than two elements divides are accessed by vectors from their
// first element on, of which the last one is partial by a number that the text knows; on sm_90a
// element by element. Halves of a gate, statistics and groups of whole vectors are, too; what is more than rows (a view)
// is not, and neither are rows whose last vector would be a large part of lanes for nothing. Lanes behind a row whose last
// group is short take its last chunk once more, which is in no sum; groups are never fewer lanes than hold one.
// RUN: hk-compile %s --target=gfx942 --emit=kernels -o - | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=NONE
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
// DEFINE: %{run} = hk-run %t.so --poison --check=%s --device=hip:0 --calls=%t.calls
// RUN: echo '--function=pointwise --dim=x.0=57' > %t.calls
// RUN: echo '--function=pointwise --dim=x.0=1 --data=nan' >> %t.calls
// RUN: echo '--function=gate --dim=x.0=33' >> %t.calls
// RUN: echo '--function=words --dim=x.0=130' >> %t.calls
// RUN: echo '--function=pairs --dim=x.0=70' >> %t.calls
// RUN: echo '--function=sum --dim=x.0=21' >> %t.calls
// RUN: echo '--function=short --dim=x.0=300' >> %t.calls
// RUN: echo '--function=norm --dim=x.0=9' >> %t.calls
// RUN: echo '--function=norm --dim=x.0=700' >> %t.calls
// RUN: echo '--function=codes --dim=x.0=13' >> %t.calls
// RUN: echo '--function=codes --dim=x.0=13 --data=nan' >> %t.calls
// RUN: echo '--function=long --dim=x.0=2' >> %t.calls
// RUN: echo '--function=turns --dim=x.0=9' >> %t.calls
// RUN: echo '--function=heads --dim=x.0=11' >> %t.calls
// RUN: echo '--function=norm_then_groups --dim=x.0=21' >> %t.calls
// RUN: echo '--function=norm_then_groups --dim=x.0=21 --data=nan' >> %t.calls
// RUN: echo '--function=norm_then_group --dim=x.0=33' >> %t.calls
// RUN: echo '--function=blocks --dim=x.0=67' >> %t.calls
// RUN: echo '--function=blocks --dim=x.0=67 --data=nan' >> %t.calls
// RUN: echo '--function=there_and_back --dim=x.0=130' >> %t.calls
// RUN: echo '--function=there_and_back --dim=x.0=130 --data=inf' >> %t.calls
// RUN: echo '--function=one_group --dim=x.0=300' >> %t.calls
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_STRICT_RACES=1 %{run} | FileCheck %s --check-prefix=VALUES
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_STRICT_RACES=1 %{run} | FileCheck %s --check-prefix=VALUES
// VALUES-COUNT-22: all within their bounds
// NONE-NOT: tailOf

// CHECK-LABEL: ==== @gelu
// CHECK: raw0[s] = loadPacked<DType::BF16, 8, 2>({{.*}}, (tailOf<8, 75>(c)));
// CHECK: storeExact<DType::BF16, 8, 2>({{.*}}, (tailOf<8, 75>(c)), v
func.func @pointwise(%x: tensor<?x75xbf16>) -> tensor<?x75xbf16> {
  %y = hk.gelu %x : tensor<?x75xbf16>
  return %y : tensor<?x75xbf16>
}
// CHECK-LABEL: ==== @gated_activation
// CHECK: store<DType::F8E4M3FN, 8, 1>({{.*}}, (tailOf<8, 45>(c)), divideFor8Bits
func.func @gate(%x: tensor<?x90xbf16>, %scale: tensor<1xf32>) -> tensor<?x45xf8E4M3FN> {
  %y = hk.gated_activation silu %x : tensor<?x90xbf16> -> tensor<?x45xf32>
  %q = hk.quantize_static %y, %scale : tensor<?x45xf32>, tensor<1xf32> -> tensor<?x45xf8E4M3FN>
  return %q : tensor<?x45xf8E4M3FN>
}
// CHECK-LABEL: ==== @
// CHECK: (tailOf<4, 7>(c))
func.func @words(%x: tensor<?x7xf32>, %y: tensor<7xf32>) -> tensor<?x7xf32> {
  %z = hk.mul %x, %y : tensor<?x7xf32>, tensor<7xf32>
  return %z : tensor<?x7xf32>
}
// CHECK-LABEL: ==== @
// CHECK: (tailOf<8, 34>(c))
func.func @pairs(%x: tensor<?x34xf16>) -> tensor<?x34xf16> {
  %y = hk.silu %x : tensor<?x34xf16>
  return %y : tensor<?x34xf16>
}
// CHECK-LABEL: ==== @
// CHECK-NOT: tailOf
func.func @short(%x: tensor<?x9xf16>) -> tensor<?x9xf16> {
  %y = hk.silu %x : tensor<?x9xf16>
  return %y : tensor<?x9xf16>
}
// CHECK-LABEL: ==== @add for
// CHECK: (tailOf<8, 15>(c))
func.func @sum(%x: tensor<?x15xbf16>, %y: tensor<?x15xbf16>) -> tensor<?x15xbf16> {
  %z = hk.add %x, %y : tensor<?x15xbf16>
  return %z : tensor<?x15xbf16>
}
// CHECK-LABEL: ==== @add_rms_norm
// CHECK: Sum::apply<Vec<float, 8>>({{.*}}keepFirst<8>({{.*}}(tailOf<8, 359>(c)), Sum::kIdentity)
func.func @norm(%x: tensor<?x359xbf16>, %r: tensor<?x359xbf16>, %w: tensor<359xbf16>) -> (tensor<?x359xbf16>, tensor<?x359xbf16>) {
  %s = hk.add %x, %r : tensor<?x359xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x359xbf16>, tensor<359xbf16>
  return %y, %s : tensor<?x359xbf16>, tensor<?x359xbf16>
}
func.func @codes(%x: tensor<?x1245xf16>) -> (tensor<?x1245xi8>, tensor<?x1xf32>, tensor<?x1245xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x1245xf16> -> tensor<?x1245xi8>, tensor<?x1xf32>
  %p, %t = hk.quantize per_token %x : tensor<?x1245xf16> -> tensor<?x1245xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s, %p, %t : tensor<?x1245xi8>, tensor<?x1xf32>, tensor<?x1245xf8E4M3FN>, tensor<?x1xf32>
}
// In registers, in LDS, and the rest in strips.
func.func @long(%x: tensor<?x150001xbf16>) -> tensor<?x150001xbf16> {
  %y = hk.softmax %x : tensor<?x150001xbf16>
  return %y : tensor<?x150001xbf16>
}
// Not halves, but in turns: each element is loaded by itself.
func.func @turns(%x: tensor<?x90xbf16>) -> tensor<?x45xbf16> {
  %y = hk.gated_activation silu %x interleaved : tensor<?x90xbf16> -> tensor<?x45xbf16>
  return %y : tensor<?x45xbf16>
}
// CHECK-LABEL: ==== @{{.*}}transpose
// CHECK-NOT: tailOf
func.func @heads(%x: tensor<?x5x9xbf16>) -> tensor<?x9x5xbf16> {
  %t = hk.transpose %x [0, 2, 1] : tensor<?x5x9xbf16> -> tensor<?x9x5xbf16>
  %y = hk.silu %t : tensor<?x9x5xbf16>
  return %y : tensor<?x9x5xbf16>
}
// CHECK-LABEL: ==== @rms_norm_quantize for
// CHECK: raw0[s] = loadPacked<DType::F16, 8, 16>({{.*}}
// CHECK: if (RepeatedPiece<i32, 2, 16>{0, thread, 25}.exists(s)) acc0 = fma<8>(
// CHECK: segmentReduce<MagnitudeMax, 16, 16>
// CHECK: if (own) storeWithin<
func.func @norm_then_groups(%x: tensor<?x200xf16>, %w: tensor<200xf16>) -> (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x200xf16>, tensor<200xf16> -> tensor<?x200xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x200xf32> -> tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
}
// CHECK-LABEL: ==== @rms_norm_quantize_1 for
// CHECK: rowOfThread<32, 8>
// CHECK: segmentReduce<MagnitudeMax, 8, 8>
func.func @norm_then_group(%x: tensor<?x128xf16>, %w: tensor<128xf16>) -> (tensor<?x128xf8E4M3FN>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x128xf16>, tensor<128xf16> -> tensor<?x128xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
}
// CHECK-LABEL: ==== @quantize_mx for
// CHECK: segmentReduce<MagnitudeMax, 4, 4>(largestMagnitude<8>(keepFirst<8>(v{{[0-9]+}}, (tailOf<8, 70>(c)), MagnitudeMax::kIdentity)))
// CHECK: if (own) storeNumbers<DType::F4E2M1FN, 8, 1>({{.*}}, (tailOf<8, 70>(c)), mxScaled
func.func @blocks(%x: tensor<?x70xbf16>) -> (tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x70xbf16> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
// CHECK-LABEL: ==== @quantize_mx_dequantize for
// CHECK: segmentReduce<MagnitudeMax, 4, 4>
// CHECK: roundedToFp4<8>(mxScaled<8>(
func.func @there_and_back(%x: tensor<?x70xbf16>) -> tensor<?x70xbf16> {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x70xbf16> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %y = hk.dequantize %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU> -> tensor<?x70xbf16>
  return %y : tensor<?x70xbf16>
}
// A row that is a part of one group: every lane of it has a chunk, the last one of which is partial.
// CHECK-LABEL: ==== @gated_activation_quantize_mx for
// CHECK: Piece<i32, 1, 2, true>
// CHECK: segmentReduce<MagnitudeMax, 2, {{2|64}}>
func.func @one_group(%x: tensor<?x28xbf16>) -> (tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x28xbf16> -> tensor<?x14xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x14xf32> -> tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
