// A joint launch whose samples of few and of many rows want blocks of as many threads, and those
// between them another number: kernels and launch name no number of their own then.
// RUN: hk-opt %s --hk-graph=target=gfx942 | FileCheck %s
// RUN: hk-compile %s -o %t.so --target=gfx942
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --check=%s --poison --dim=p.1=3 --dim=p.2=3 --dim=v.1=3 --dim=x.0=3 | FileCheck %s --check-prefix=VALUES
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --check=%s --poison --dim=p.1=70 --dim=p.2=70 --dim=v.1=70 --dim=x.0=70 | FileCheck %s --check-prefix=VALUES
// VALUES: all within their bounds
// CHECK: hk.kernel @[[JOINT:matmul_transpose_then_quantize]] {{ *}}joint inputs 3 {{.*}}#hk.shape<[2]>] aligns [{{[0-9, ]+}}] {
// CHECK: hk.kernel @[[JOINT]]_0 {{ *}}gemm {{.*}} aligns [{{[0-9, ]+}}] {
// CHECK: hk.kernel @[[JOINT]]_1 {{ *}}rowwise {{.*}} aligns [{{[0-9, ]+}}] attributes {hk.waits} {
// CHECK: hk.variant @v0 #hk.joint_tile<{{.*}} threads 256
// CHECK: hk.variant @v1 #hk.joint_tile<{{.*}} threads 128
// CHECK: hk.variant @v2 #hk.joint_tile<{{.*}} threads 256

func.func @layer(%p: tensor<15x?x?xbf16> {hk.dims = ["_", "T", "T"]}, %v: tensor<15x?x40xbf16> {hk.dims = ["_", "T", "_"]}, %w: tensor<36x600xi8>, %ws: tensor<36x1xf32>, %x: tensor<?x36xbf16> {hk.dims = ["T", "_"]}, %nw: tensor<36xbf16>, %w2: tensor<160x36xi8>, %ws2: tensor<160x1xf32>, %w3: tensor<36x160xi8>, %ws3: tensor<36x1xf32>) -> (tensor<?x36xbf16>, tensor<?x36xbf16>) {
  %o = hk.matmul %p, %v : tensor<15x?x?xbf16>, tensor<15x?x40xbf16> -> tensor<15x?x40xbf16>
  %r = hk.transpose %o [1, 0, 2] : tensor<15x?x40xbf16> -> tensor<?x15x40xbf16>
  %f = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x15x40xbf16> into tensor<?x600xbf16>
  %q, %s = hk.quantize per_token %f : tensor<?x600xbf16> -> tensor<?x600xi8>, tensor<?x1xf32>
  %m = hk.matmul %q, %w scales (%s, %ws) transpose_b : tensor<?x600xi8>, tensor<36x600xi8> scales (tensor<?x1xf32>, tensor<36x1xf32>) -> tensor<?x36xbf16>
  %y = hk.add %x, %m : tensor<?x36xbf16>
  %n = hk.rms_norm %y, %nw epsilon 1.0e-5 : tensor<?x36xbf16>, tensor<36xbf16>
  %q2, %s2 = hk.quantize per_token %n : tensor<?x36xbf16> -> tensor<?x36xi8>, tensor<?x1xf32>
  %u = hk.matmul %q2, %w2 scales (%s2, %ws2) transpose_b : tensor<?x36xi8>, tensor<160x36xi8> scales (tensor<?x1xf32>, tensor<160x1xf32>) -> tensor<?x160xbf16>
  %g = hk.gelu_tanh %u : tensor<?x160xbf16>
  %q3, %s3 = hk.quantize per_token %g : tensor<?x160xbf16> -> tensor<?x160xi8>, tensor<?x1xf32>
  %d = hk.matmul %q3, %w3 scales (%s3, %ws3) transpose_b : tensor<?x160xi8>, tensor<36x160xi8> scales (tensor<?x1xf32>, tensor<36x1xf32>) -> tensor<?x36xbf16>
  %z = hk.add %y, %d : tensor<?x36xbf16>
  %n2 = hk.rms_norm %z, %nw epsilon 1.0e-5 : tensor<?x36xbf16>, tensor<36xbf16>
  return %n2, %z : tensor<?x36xbf16>, tensor<?x36xbf16>
}
