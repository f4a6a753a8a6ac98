// Some hundred rows times codes of 4 and 8 bits on sm_90a, which decodes them in front of the
// warpgroups that multiply. The host's kernels are checked here with the same calls; on a GPU hk.gemm_loop asks
// for the loop.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=nibbles --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=nibbles --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=nibbles --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=nibbles --dim=x.0=65
// RUN: hk-run %t.so --check=%s --function=nibbles --dim=x.0=300
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=64
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=128
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=257
// RUN: hk-run %t.so --check=%s --function=half --dim=x.0=70
// RUN: hk-run %t.so --check=%s --function=half --dim=x.0=190
// RUN: hk-run %t.so --check=%s --function=one_scale --dim=x.0=97 --data=inf
// RUN: hk-run %t.so --check=%s --function=powers --dim=x.0=40
// RUN: hk-run %t.so --check=%s --function=powers --dim=x.0=128
// RUN: hk-run %t.so --check=%s --function=powers --dim=x.0=200
// RUN: hk-run %t.so --check=%s --function=powers --dim=x.0=131 --data=nan
// RUN: hk-run %t.so --check=%s --function=deep --dim=x.0=128
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=80
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=256
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=66 --data=nan
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=31 --data=inf
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=96 --data=inf
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=160 --data=inf
// RUN: hk-run %t.so --check=%s --function=byte_zeros --dim=x.0=127
// RUN: hk-run %t.so --check=%s --function=byte_zeros --dim=x.0=300
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=64
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=140
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=256 --data=nan
// RUN: hk-run %t.so --check=%s --function=wide_fp8 --dim=x.0=70 --data=inf
// RUN: hk-run %t.so --check=%s --function=wide_fp8 --dim=x.0=128
// RUN: hk-run %t.so --check=%s --function=fp8_groups --dim=x.0=100
// RUN: hk-run %t.so --check=%s --function=fp8_groups --dim=x.0=513
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=70
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=128 --data=inf
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=300
// RUN: hk-run %t.so --check=%s --function=gate_bytes --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=gate_bytes --dim=x.0=190
// RUN: hk-run %t.so --check=%s --function=scaled_sums --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=scaled_sums --dim=x.0=50
// RUN: hk-run %t.so --check=%s --function=scaled_sums --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=scaled_sums --dim=x.0=300 --data=nan
// RUN: hk-run %t.so --check=%s --function=scaled_columns --dim=x.0=128
// RUN: hk-run %t.so --check=%s --function=scaled_columns --dim=x.0=70 --data=inf

module attributes {hk.gemm_loop = "swapped"} {
func.func @nibbles(%x: tensor<?x1312xbf16>, %w: tensor<300x1312xi4>, %s: tensor<300x9xbf16>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s group 160 : tensor<300x1312xi4>, tensor<300x9xbf16> -> tensor<300x1312xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1312xbf16>, tensor<300x1312xbf16> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @zeros(%x: tensor<?x1280xbf16>, %w: tensor<700x1280xui4>, %s: tensor<700x10xbf16>, %z: tensor<700x10xui4>) -> tensor<?x700xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<700x1280xui4>, tensor<700x10xbf16>, tensor<700x10xui4> -> tensor<700x1280xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1280xbf16>, tensor<700x1280xbf16> -> tensor<?x700xbf16>
  return %y : tensor<?x700xbf16>
}
func.func @half(%x: tensor<?x2048xf16>, %w: tensor<130x2048xui4>, %s: tensor<130x16xf16>, %z: tensor<130x16xui4>) -> tensor<?x130xf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<130x2048xui4>, tensor<130x16xf16>, tensor<130x16xui4> -> tensor<130x2048xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x2048xf16>, tensor<130x2048xf16> -> tensor<?x130xf16>
  return %y : tensor<?x130xf16>
}
func.func @one_scale(%x: tensor<?x1056xbf16>, %w: tensor<264x1056xi4>, %s: tensor<264x1xbf16>) -> tensor<?x264xf32> {
  %d = hk.dequantize %w, %s group 1056 : tensor<264x1056xi4>, tensor<264x1xbf16> -> tensor<264x1056xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1056xbf16>, tensor<264x1056xbf16> -> tensor<?x264xf32>
  return %y : tensor<?x264xf32>
}
func.func @powers(%x: tensor<?x1184xbf16>, %w: tensor<300x1184xf4E2M1FN>, %s: tensor<300x37xf8E8M0FNU>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s : tensor<300x1184xf4E2M1FN>, tensor<300x37xf8E8M0FNU> -> tensor<300x1184xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1184xbf16>, tensor<300x1184xbf16> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @deep(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xi4>, %s: tensor<4096x32xbf16>) -> tensor<?x4096xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<4096x4096xi4>, tensor<4096x32xbf16> -> tensor<4096x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @columns(%x: tensor<?x1296xbf16>, %w: tensor<300x1296xi8>, %s: tensor<300x1xf32>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s group 1296 : tensor<300x1296xi8>, tensor<300x1xf32> -> tensor<300x1296xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1296xbf16>, tensor<300x1296xbf16> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @groups(%x: tensor<?x1200xbf16>, %w: tensor<700x1200xi8>, %s: tensor<700x8xbf16>) -> tensor<?x700xbf16> {
  %d = hk.dequantize %w, %s group 160 : tensor<700x1200xi8>, tensor<700x8xbf16> -> tensor<700x1200xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1200xbf16>, tensor<700x1200xbf16> -> tensor<?x700xbf16>
  return %y : tensor<?x700xbf16>
}
func.func @byte_zeros(%x: tensor<?x2048xbf16>, %w: tensor<130x2048xi8>, %s: tensor<130x16xbf16>, %z: tensor<130x16xi8>) -> tensor<?x130xf32> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<130x2048xi8>, tensor<130x16xbf16>, tensor<130x16xi8> -> tensor<130x2048xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x2048xbf16>, tensor<130x2048xbf16> -> tensor<?x130xf32>
  return %y : tensor<?x130xf32>
}
func.func @fp8(%x: tensor<?x1040xbf16>, %w: tensor<520x1040xf8E4M3FN>, %s: tensor<520x1xf32>) -> tensor<?x520xbf16> {
  %d = hk.dequantize %w, %s group 1040 : tensor<520x1040xf8E4M3FN>, tensor<520x1xf32> -> tensor<520x1040xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1040xbf16>, tensor<520x1040xbf16> -> tensor<?x520xbf16>
  return %y : tensor<?x520xbf16>
}
func.func @wide_fp8(%x: tensor<?x640xbf16>, %w: tensor<100x640xf8E5M2>) -> tensor<?x100xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x640xbf16>, tensor<100x640xf8E5M2> -> tensor<?x100xbf16>
  return %y : tensor<?x100xbf16>
}
func.func @fp8_groups(%x: tensor<?x1024xbf16>, %w: tensor<264x1024xf8E4M3FN>, %s: tensor<264x8xbf16>) -> tensor<?x264xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<264x1024xf8E4M3FN>, tensor<264x8xbf16> -> tensor<264x1024xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1024xbf16>, tensor<264x1024xbf16> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @gate(%x: tensor<?x1280xbf16>, %w: tensor<600x1280xui4>, %s: tensor<600x10xbf16>, %z: tensor<600x10xui4>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<600x1280xui4>, tensor<600x10xbf16>, tensor<600x10xui4> -> tensor<600x1280xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1280xbf16>, tensor<600x1280xbf16> -> tensor<?x600xbf16>
  %g = hk.gated_activation silu %y : tensor<?x600xbf16> -> tensor<?x300xbf16>
  return %g : tensor<?x300xbf16>
}
func.func @gate_bytes(%x: tensor<?x1040xbf16>, %w: tensor<496x1040xf8E4M3FN>, %s: tensor<496x1xf32>) -> tensor<?x248xbf16> {
  %d = hk.dequantize %w, %s group 1040 : tensor<496x1040xf8E4M3FN>, tensor<496x1xf32> -> tensor<496x1040xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1040xbf16>, tensor<496x1040xbf16> -> tensor<?x496xbf16>
  %g = hk.gated_activation gelu_tanh %y : tensor<?x496xbf16> -> tensor<?x248xbf16>
  return %g : tensor<?x248xbf16>
}
func.func @scaled_sums(%x: tensor<?x1168xbf16>, %w: tensor<328x1168xf8E4M3FN>, %s: tensor<3x10xf32>) -> tensor<?x328xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<?x1168xbf16>, tensor<328x1168xf8E4M3FN> scales (none, tensor<3x10xf32>) -> tensor<?x328xbf16>
  return %y : tensor<?x328xbf16>
}
func.func @scaled_columns(%x: tensor<?x1056xbf16>, %w: tensor<200x1056xf8E5M2>, %s: tensor<2x9xf32>) -> tensor<?x200xf32> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<?x1056xbf16>, tensor<200x1056xf8E5M2> scales (none, tensor<2x9xf32>) -> tensor<?x200xf32>
  return %y : tensor<?x200xf32>
}
}
