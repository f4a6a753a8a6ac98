// A mask that adds, or is, the lowest number of f32: a query all of whose keys it hides gets
// the mean of the values, and not 0: the product of such a score with log2(e) is no number.
// Bounds of such scores are too wide to see that; the mean of ones is 1.
// RUN: rm -rf %t && mkdir -p %t && %python %S/Inputs/low_masks.py %t
// RUN: hk-compile %s -o %t/m.so --target=host,gfx942
// DEFINE: %{wide} = --input=v=%t/ones.npy
// DEFINE: %{host} = hk-run %t/m.so --device=host
// DEFINE: %{emu} = env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t/m.so --device=hip:0
// RUN: %{host} --function=added %{wide} --input=mask=%t/mask.npy --output=%t/host_added
// RUN: %{emu} --function=added %{wide} --input=mask=%t/mask.npy --output=%t/emu_added
// RUN: %{host} --function=odd --input=v=%t/narrow.npy --input=mask=%t/mask.npy --output=%t/host_odd
// RUN: %{emu} --function=odd --input=v=%t/narrow.npy --input=mask=%t/mask.npy --output=%t/emu_odd
// RUN: %{host} --function=chosen %{wide} --output=%t/host_chosen
// RUN: %{emu} --function=chosen %{wide} --output=%t/emu_chosen
// RUN: %python %S/Inputs/low_masks.py %t host_added emu_added host_odd emu_odd host_chosen emu_chosen | FileCheck %s --check-prefix=ONES
// ONES-COUNT-6: True
// ONES-NOT: False

// What is read for each key is bounded, slopes of heads are not.
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=CODE
// CODE-COUNT-3: ? kLowestScore : r;
// CODE-NOT: kLowestScore

func.func @added(%q: tensor<1x64x4x64xf16> {hk.name = "q"}, %k: tensor<1x70x2x64xf16> {hk.name = "k"}, %v: tensor<1x70x2x64xf16> {hk.name = "v"}, %mask: tensor<64x70xf32> {hk.name = "mask"}) -> (tensor<1x64x4x64xf16> {hk.name = "o"}) {
  %o = hk.attention %q, %k, %v reads (%mask) scale 0.125 : tensor<1x64x4x64xf16>, tensor<1x70x2x64xf16>, tensor<1x70x2x64xf16> reads (tensor<64x70xf32>) -> tensor<1x64x4x64xf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<64x70xf32>):
    %m = hk.gather_elements %t [%i, %j] : tensor<64x70xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %m : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %o : tensor<1x64x4x64xf16>
}

// A head size of no matrix fragment.
func.func @odd(%q: tensor<1x64x4x33xf32> {hk.name = "q"}, %k: tensor<1x70x2x33xf32> {hk.name = "k"}, %v: tensor<1x70x2x33xf32> {hk.name = "v"}, %mask: tensor<64x70xf32> {hk.name = "mask"}) -> (tensor<1x64x4x33xf32> {hk.name = "o"}) {
  %o = hk.attention %q, %k, %v reads (%mask) scale 0.125 : tensor<1x64x4x33xf32>, tensor<1x70x2x33xf32>, tensor<1x70x2x33xf32> reads (tensor<64x70xf32>) -> tensor<1x64x4x33xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<64x70xf32>):
    %m = hk.gather_elements %t [%i, %j] : tensor<64x70xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %m : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %o : tensor<1x64x4x33xf32>
}

// The lowest number in place of all scores of the first queries.
func.func @chosen(%q: tensor<1x64x4x64xf16> {hk.name = "q"}, %k: tensor<1x70x2x64xf16> {hk.name = "k"}, %v: tensor<1x70x2x64xf16> {hk.name = "v"}) -> (tensor<1x64x4x64xf16> {hk.name = "o"}) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<1x64x4x64xf16>, tensor<1x70x2x64xf16>, tensor<1x70x2x64xf16> -> tensor<1x64x4x64xf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %low = hk.constant -3.40282347E+38 : tensor<f32>
    %seven = hk.constant 7 : tensor<i32>
    %c = hk.compare gt %i, %seven : tensor<i32>, tensor<i32> -> tensor<i1>
    %y = hk.select %c, %s, %low : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %o : tensor<1x64x4x64xf16>
}

func.func @slopes(%q: tensor<1x64x4x64xbf16>, %k: tensor<1x70x2x64xbf16>, %v: tensor<1x70x2x64xbf16>, %x: tensor<4xf32>) -> tensor<1x64x4x64xbf16> {
  %o = hk.attention %q, %k, %v reads (%x) scale 0.125 : tensor<1x64x4x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16> reads (tensor<4xf32>) -> tensor<1x64x4x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4xf32>):
    %m = hk.gather_elements %t [%h] : tensor<4xf32> [tensor<i32>] -> tensor<f32>
    %f = hk.cast %j : tensor<i32> -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %y = hk.add %s, %p : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %o : tensor<1x64x4x64xbf16>
}
