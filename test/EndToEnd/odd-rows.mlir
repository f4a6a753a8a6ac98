// Rows of an odd number of 16-bit elements: chunks begin with vectors of memory, the first
// and the last ones have fewer lanes.
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s --check-prefix=KERNELS
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=norm --random=1 --dim=x.0=11 --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=norm --random=1 --dim=x.0=1 --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=softmax --random=2 --dim=x.0=10 --dim=x.1=3 --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=long --random=2 --dim=x.0=2 --check=%s | FileCheck %s
// CHECK: check @{{.*}}: all within their bounds

// KERNELS-LABEL: ==== @add_rms_norm
// KERNELS: shiftOf<8>
// KERNELS: loadPacked<DType::BF16, 8, 16>(p0
// KERNELS: storeMasked<DType::BF16, 8, 16>
func.func @norm(%x: tensor<?x1281xbf16> {hk.name = "x", hk.dims = ["T", "_"]}, %r: tensor<?x1281xbf16> {hk.name = "r", hk.dims = ["T", "_"]}, %w: tensor<1281xbf16> {hk.name = "w"}) -> (tensor<?x1281xbf16> {hk.name = "y"}, tensor<?x1281xbf16> {hk.name = "s"}) {
  %s = hk.add %x, %r : tensor<?x1281xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x1281xbf16>, tensor<1281xbf16>
  return %y, %s : tensor<?x1281xbf16>, tensor<?x1281xbf16>
}

// KERNELS-LABEL: ==== @softmax
// KERNELS: shiftOf<8>
func.func @softmax(%x: tensor<?x?x101xf16> {hk.name = "x"}) -> (tensor<?x?x101xf16> {hk.name = "y"}) {
  %y = hk.softmax %x : tensor<?x?x101xf16>
  return %y : tensor<?x?x101xf16>
}

// A row that does not fit is read element by element.
// KERNELS-LABEL: ==== @softmax
// KERNELS-NOT: shiftOf
func.func @long(%x: tensor<?x50257xbf16> {hk.name = "x"}) -> (tensor<?x50257xbf16> {hk.name = "y"}) {
  %y = hk.softmax %x : tensor<?x50257xbf16>
  return %y : tensor<?x50257xbf16>
}
