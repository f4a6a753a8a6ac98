// Causal convolutions of more than four tokens: dense sequences of every length around a strip, odd
// channels, ragged sequences that go on from their states.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// RUN: hk-run %t.so --check=%s --function=dense --dim=x.0=2 --dim=x.1=33
// RUN: hk-run %t.so --check=%s --function=dense --dim=x.0=1 --dim=x.1=8
// RUN: hk-run %t.so --check=%s --function=dense --dim=x.0=3 --dim=x.1=1
// RUN: hk-run %t.so --check=%s --function=odd --dim=x.0=2 --dim=x.1=17
// RUN: hk-run %t.so --check=%s --function=ragged --dim=x.0=67 --dim=cu.0=8 --dim=lines.0=7 --dim=initial.0=7 --range=cu=bounds:67 --range=lines=iota:-1 --range=initial=0:1
// RUN: hk-run %t.so --check=%s --function=ragged --dim=x.0=9 --dim=cu.0=9 --dim=lines.0=8 --dim=initial.0=8 --range=cu=bounds:9 --range=lines=iota:2 --range=initial=0:1
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=dense --dim=x.0=2 --dim=x.1=33
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=ragged --dim=x.0=67 --dim=cu.0=8 --dim=lines.0=7 --dim=initial.0=7 --range=cu=bounds:67 --range=lines=iota:-1 --range=initial=0:1

func.func @dense(%x: tensor<?x?x96xbf16>, %w: tensor<96x7xbf16>, %b: tensor<96xbf16>) -> tensor<?x?x96xbf16> {
  %y = hk.causal_conv1d channel_last %x, %w bias %b : tensor<?x?x96xbf16>, tensor<96x7xbf16> bias tensor<96xbf16> -> tensor<?x?x96xbf16>
  return %y : tensor<?x?x96xbf16>
}
func.func @odd(%x: tensor<?x?x67xf32>, %w: tensor<67x8xf32>) -> tensor<?x?x67xf32> {
  %y = hk.causal_conv1d channel_last %x, %w : tensor<?x?x67xf32>, tensor<67x8xf32> -> tensor<?x?x67xf32>
  return %y : tensor<?x?x67xf32>
}
func.func @ragged(%x: tensor<?x96xbf16>, %w: tensor<96x7xbf16>, %cu: tensor<?xi32>, %s: tensor<8x6x96xbf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x96xbf16>, tensor<8x6x96xbf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines has_initial %initial : tensor<?x96xbf16>, tensor<96x7xbf16> offsets tensor<?xi32> state tensor<8x6x96xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x96xbf16>, tensor<8x6x96xbf16>
  return %y, %s2 : tensor<?x96xbf16>, tensor<8x6x96xbf16>
}
