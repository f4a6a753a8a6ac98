// The modelled time of an emulated kernel: hk-run prints it with the counters
// and hk-emu compares files of it. Every figure is labelled.
// RUN: hk-compile %s --target=gfx950 -o %t.so
// RUN: rm -f %t.a.json %t.b.json
// RUN: env HK_EMU_CHIP=mi355x HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=8 --counters | FileCheck %s
// RUN: env HK_EMU_CHIP=mi355x HK_EMU_TIMING=%t.a.json HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=8 --counters=json > %t.json
// RUN: env HK_EMU_CHIP=mi355x HK_EMU_TIMING=%t.b.json HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=8
// RUN: %python -c "import json; k, = json.load(open('%t.json'))['kernels']; t = k['timing']; line = json.loads(open('%t.a.json').read()); assert t['modelled'] and t['clocks'] > 100 and t['chip'] == 'mi355x', t; assert set(line) == set(t), line"
// RUN: hk-emu --compare %t.a.json %t.b.json | FileCheck %s --check-prefix=SAME
// RUN: not hk-emu --compare %t.a.json %t.so 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: hk-emu --constants | FileCheck %s --check-prefix=TABLE

// CHECK: counters of {{.*}} on emulated gfx950
// CHECK: modelled clocks {{[0-9]+}} on mi355x, +-{{[0-9]+}} %
// CHECK: modelled us, burst {{[0-9.]+ [0-9.]+}} sustained
// CHECK: modelled limit
// CHECK: modelled wait:

// SAME: modelled the second is not distinguishable (1.00 of the first's clocks
// MODULE: two code objects are compared by running them
// TABLE: bytesInFlight B 32768 32768 32768 measured yes

func.func @f(%x: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = hk.softmax %x : tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
