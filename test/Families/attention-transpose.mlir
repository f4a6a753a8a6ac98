// Heads in front of tokens are strides: an attention reads and stores through transposes
// that keep the elements of a head together.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline | FileCheck %s
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// DEFINE: %{host} = hk-run %t.so --check=%s --range=slots=0:511 --range=lens=300:512 --poison
// DEFINE: %{emu} = env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so %{host} --device=hip:0
// RUN: %{host} --function=written_cache | FileCheck %s --check-prefix=RIGHT
// RUN: %{emu} --function=written_cache | FileCheck %s --check-prefix=RIGHT
// RUN: %{host} --function=written_after --range=more=0:511 | FileCheck %s --check-prefix=RIGHT
// RUN: %{emu} --function=written_after --range=more=0:511 | FileCheck %s --check-prefix=RIGHT
// RUN: %{host} --function=written_between --range=more=0:511 | FileCheck %s --check-prefix=RIGHT
// RIGHT: all within their bounds

// CHECK-LABEL: func.func @head_major
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @head_major(%q: tensor<4x9x64xbf16>, %k: tensor<2x70x64xbf16>, %v: tensor<2x70x64xbf16>) -> tensor<4x9x64xbf16> {
  %x = hk.transpose %q [1, 0, 2] : tensor<4x9x64xbf16> -> tensor<9x4x64xbf16>
  %y = hk.transpose %k [1, 0, 2] : tensor<2x70x64xbf16> -> tensor<70x2x64xbf16>
  %z = hk.transpose %v [1, 0, 2] : tensor<2x70x64xbf16> -> tensor<70x2x64xbf16>
  %o = hk.attention %x, %y, %z scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %r = hk.transpose %o [1, 0, 2] : tensor<9x4x64xbf16> -> tensor<4x9x64xbf16>
  return %r : tensor<4x9x64xbf16>
}

// The elements of a head are apart, or the tensor is read in two orders: copies.
// CHECK-LABEL: func.func @elements
// CHECK-COUNT-2: hk.launch
func.func @elements(%q: tensor<9x4x64xbf16>, %k: tensor<2x64x70xbf16>, %v: tensor<70x2x64xbf16>) -> tensor<9x4x64xbf16> {
  %y = hk.transpose %k [2, 0, 1] : tensor<2x64x70xbf16> -> tensor<70x2x64xbf16>
  %o = hk.attention %q, %y, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}
// CHECK-LABEL: func.func @two_orders
// CHECK-COUNT-2: hk.launch
func.func @two_orders(%q: tensor<9x4x64xbf16>, %k: tensor<4x4x64xbf16>) -> tensor<9x4x64xbf16> {
  %y = hk.transpose %k [1, 0, 2] : tensor<4x4x64xbf16>
  %o = hk.attention %q, %k, %y scale 0.125 : tensor<9x4x64xbf16>, tensor<4x4x64xbf16>, tensor<4x4x64xbf16> -> tensor<9x4x64xbf16>
  return %o : tensor<9x4x64xbf16>
}

// A cache with heads in front that a kernel before has written: read where it lies.
// CHECK-LABEL: func.func @written_cache
// CHECK-COUNT-2: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @written_cache(%q: tensor<2x1x8x64xbf16>, %n: tensor<2x2x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<2x2x512x64xbf16> {hk.state}, %lens: tensor<2xi32>) -> (tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>) {
  %c = hk.kv_cache_write %n, %slots into %cache layout head_major : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x2x512x64xbf16>
  %y = hk.transpose %c [0, 2, 1, 3] : tensor<2x2x512x64xbf16> -> tensor<2x512x2x64xbf16>
  %o = hk.attention %q, %y, %y kv_lens %lens scale 0.125 causal : tensor<2x1x8x64xbf16>, tensor<2x512x2x64xbf16>, tensor<2x512x2x64xbf16> kv_lens tensor<2xi32> -> tensor<2x1x8x64xbf16>
  return %o, %c : tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>
}
// The same before another write: in time, since that waits for the attention.
// CHECK-LABEL: func.func @written_after
// CHECK-COUNT-3: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @written_after(%q: tensor<2x1x8x64xbf16>, %n: tensor<2x2x64xbf16>, %slots: tensor<2xi32>, %more: tensor<2xi32>, %cache: tensor<2x2x512x64xbf16> {hk.state}, %lens: tensor<2xi32>) -> (tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>) {
  %c = hk.kv_cache_write %n, %slots into %cache layout head_major : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x2x512x64xbf16>
  %y = hk.transpose %c [0, 2, 1, 3] : tensor<2x2x512x64xbf16> -> tensor<2x512x2x64xbf16>
  %o = hk.attention %q, %y, %y kv_lens %lens scale 0.125 causal : tensor<2x1x8x64xbf16>, tensor<2x512x2x64xbf16>, tensor<2x512x2x64xbf16> kv_lens tensor<2xi32> -> tensor<2x1x8x64xbf16>
  %d = hk.kv_cache_write %n, %more into %c layout head_major : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x2x512x64xbf16>
  return %o, %d : tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>
}
// The attention needs the second write: what it reads of the first one is copied.
// CHECK-LABEL: func.func @written_between
// CHECK-COUNT-4: hk.launch
// CHECK: return
func.func @written_between(%q: tensor<2x1x8x64xbf16>, %n: tensor<2x2x64xbf16>, %slots: tensor<2xi32>, %more: tensor<2xi32>, %cache: tensor<2x2x512x64xbf16> {hk.state}, %lens: tensor<2xi32>) -> (tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>) {
  %c = hk.kv_cache_write %n, %slots into %cache layout head_major : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x2x512x64xbf16>
  %y = hk.transpose %c [0, 2, 1, 3] : tensor<2x2x512x64xbf16> -> tensor<2x512x2x64xbf16>
  %d = hk.kv_cache_write %n, %more into %c layout head_major : tensor<2x2x64xbf16>, tensor<2xi32>, tensor<2x2x512x64xbf16>
  %z = hk.transpose %d [0, 2, 1, 3] : tensor<2x2x512x64xbf16> -> tensor<2x512x2x64xbf16>
  %o = hk.attention %q, %y, %z kv_lens %lens scale 0.125 causal : tensor<2x1x8x64xbf16>, tensor<2x512x2x64xbf16>, tensor<2x512x2x64xbf16> kv_lens tensor<2xi32> -> tensor<2x1x8x64xbf16>
  return %o, %d : tensor<2x1x8x64xbf16>, tensor<2x2x512x64xbf16>
}
