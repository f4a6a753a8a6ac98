// What the AMD chips compute another way, to the same bits: quotients by scales of
// f8E8M0FNU, which are powers of two, are products; limits of numbers that are cast
// to integers are limits of integers.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --function=powers --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=normal --check=%s
// RUN: hk-run %t.so --function=powers --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=huge --check=%s
// RUN: hk-run %t.so --function=powers --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=tiny --check=%s
// RUN: hk-run %t.so --function=powers --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=nan --check=%s
// RUN: hk-run %t.so --function=powers --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=powers --dim=x.0=70 --data=inf --check=%s
// RUN: hk-run %t.so --function=own_powers --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=normal --check=%s
// RUN: hk-run %t.so --function=own_powers --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=huge --check=%s
// RUN: hk-run %t.so --function=own_powers --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=tiny --check=%s
// RUN: hk-run %t.so --function=own_powers --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=nan --check=%s
// RUN: hk-run %t.so --function=own_powers --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=own_powers --dim=x.0=70 --data=inf --check=%s
// RUN: hk-run %t.so --function=limits --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=normal --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=normal --check=%s
// RUN: hk-run %t.so --function=limits --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=huge --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=huge --check=%s
// RUN: hk-run %t.so --function=limits --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=tiny --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=tiny --check=%s
// RUN: hk-run %t.so --function=limits --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=nan --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=nan --check=%s
// RUN: hk-run %t.so --function=limits --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=inf --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=limits --dim=x.0=70 --data=inf --check=%s

func.func @powers(%x: tensor<?x64xbf16>, %e: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %s = hk.cast %e : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf32>
  %s1 = tensor.expand_shape %s [[0], [1, 2]] output_shape [%n, 2, 1] : tensor<?x2xf32> into tensor<?x2x1xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xbf16> into tensor<?x2x32xbf16>
  %y = hk.div %g, %s1 : tensor<?x2x32xbf16>, tensor<?x2x1xf32> -> tensor<?x2x32xf32>
  %z = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x2x32xf32> into tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// Tiny blocks have the least scale, 2^-127.
func.func @own_powers(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x2xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %q, %e = hk.quantize_mx ceil %x : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  %s = hk.cast %e : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf32>
  %s1 = tensor.expand_shape %s [[0], [1, 2]] output_shape [%n, 2, 1] : tensor<?x2xf32> into tensor<?x2x1xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xf32> into tensor<?x2x32xf32>
  %y = hk.div %g, %s1 : tensor<?x2x32xf32>, tensor<?x2x1xf32>
  %z = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x2x32xf32> into tensor<?x64xf32>
  return %z, %e : tensor<?x64xf32>, tensor<?x2xf8E8M0FNU>
}

func.func @limits(%x: tensor<?x48xf32>) -> (tensor<?x48xi8>, tensor<?x48xi32>, tensor<?x48xi16>, tensor<?x48xi32>) {
  %many = hk.constant 100.0 : tensor<f32>
  %high = hk.constant 127.0 : tensor<f32>
  %low = hk.constant -127.0 : tensor<f32>
  %less = hk.constant -3.0 : tensor<f32>
  %odd = hk.constant 2.5 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %y = hk.mul %x, %many : tensor<?x48xf32>, tensor<f32>
  %a = hk.max %y, %low : tensor<?x48xf32>, tensor<f32>
  %b = hk.min %a, %high : tensor<?x48xf32>, tensor<f32>
  %i = hk.cast %b : tensor<?x48xf32> -> tensor<?x48xi32>
  %i8 = hk.cast %i : tensor<?x48xi32> -> tensor<?x48xi8>
  // A limit that is no integer stays.
  %c = hk.min %a, %odd : tensor<?x48xf32>, tensor<f32>
  %j = hk.cast %c : tensor<?x48xf32> -> tensor<?x48xi32>
  %d = hk.min %y, %high : tensor<?x48xf32>, tensor<f32>
  %e = hk.max %d, %less : tensor<?x48xf32>, tensor<f32>
  %k = hk.cast %e : tensor<?x48xf32> -> tensor<?x48xi32>
  %i16 = hk.cast %k : tensor<?x48xi32> -> tensor<?x48xi16>
  // NaN is 0, which these limits leave out.
  %f = hk.max %d, %one : tensor<?x48xf32>, tensor<f32>
  %l = hk.cast %f : tensor<?x48xf32> -> tensor<?x48xi32>
  return %i8, %j, %i16, %l : tensor<?x48xi8>, tensor<?x48xi32>, tensor<?x48xi16>, tensor<?x48xi32>
}
