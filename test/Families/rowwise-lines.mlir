// On sm_90a rows of elements that are loaded alone begin anywhere in a line of memory. The
// slots of a thread then begin with that line, where a slot more is not needed for it.
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// AMD-NOT: LedSlots

// CHECK-LABEL: ==== @softmax
// CHECK: LedSlots<i64, 25, 2048, 32, 50257>{thread, leadOf<32>(row, 50257)}
// CHECK-NOT: RowSlots
func.func @odd(%x: tensor<?x50257xf32>) -> tensor<?x50257xf32> {
  %y = hk.softmax %x : tensor<?x50257xf32>
  return %y : tensor<?x50257xf32>
}

// Every row begins with a line; vectors of 16 bytes straddle one less often.
// CHECK-LABEL: ==== @rms_norm
// CHECK-NOT: LedSlots
func.func @whole_lines(%x: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> tensor<?x2880xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x2880xbf16>, tensor<2880xbf16>
  return %y : tensor<?x2880xbf16>
}
