// What hk-run --counters prints of an emulated kernel, and what it says when
// the device counts nothing.
// RUN: hk-compile %s --target=gfx942 -o %t.so
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=8 --counters | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=8 --counters=json > %t.json
// RUN: %python -c "import json; k, = json.load(open('%t.json'))['kernels']; assert k['launches'] == 1 and k['compulsory_bytes'] == 2 * 8 * 512 * 2, k; assert k['instructions']['mfma'] == k['mfma_clocks'] == 0, k; assert sum(k['instructions'].values()) == k['instructions_total'], k"
// RUN: hk-compile %s --target=host -o %t.host.so
// RUN: not hk-run %t.host.so --dim=x.0=8 --counters 2>&1 | FileCheck %s --check-prefix=HOST

// CHECK: counters of {{.*}} on emulated gfx942
// CHECK: launches 1
// CHECK: wave instructions {{[0-9]+}}
// CHECK: valu {{[0-9]+}}
// CHECK: VALU clocks {{[0-9]+}}
// CHECK: MFMA clocks 0
// CHECK: bank conflicts {{[0-9]+}}
// CHECK: global bytes read 8192
// CHECK: global bytes written 8192 1.00 x compulsory
// CHECK: compulsory bytes 16384
// CHECK: transactions of 64 bytes 256
// CHECK: transactions of 128 bytes 128
// CHECK: barriers {{[0-9]+}}
// HOST: --counters: host has no counters

func.func @f(%x: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %y = hk.softmax %x : tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
