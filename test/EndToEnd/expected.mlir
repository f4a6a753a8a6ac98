// What the interpreter expects can be written where the compiler is and compared where it
// is not, on a device and on kept results; the verdict is that of --check.
// RUN: hk-compile %s --target=host,gfx942 -o %t.so
// RUN: rm -rf %t.expected %t.results
// RUN: hk-run %t.so --dim=x.0=9 --check=%s --write-expected=%t.expected
// RUN: hk-run %t.so --dim=x.0=9 --check=%s | grep ^check > %t.check
// RUN: hk-run %t.so --dim=x.0=9 --expected=%t.expected --output=%t.results | grep ^check > %t.compare
// RUN: diff %t.check %t.compare
// RUN: FileCheck %s < %t.compare
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=9 --expected=%t.expected | FileCheck %s
// RUN: hk-run %t.so --dim=x.0=9 --expected=%t.expected --results=%t.results | FileCheck %s
// CHECK: check state: ok
// CHECK: check y: ok
// CHECK: check @f on {{.*}}: all within their bounds

// Other inputs are noticed, and so is a file that is not there.
// RUN: not hk-run %t.so --dim=x.0=9 --random=1 --expected=%t.expected | FileCheck %s --check-prefix=OTHER
// OTHER: check y: FAILED
// OTHER: check @f on host: DIFFERS
// RUN: rm %t.expected/bounds/state.npy
// RUN: not hk-run %t.so --dim=x.0=9 --expected=%t.expected 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: cannot read '{{.*}}/bounds/state.npy'

func.func @f(%x: tensor<?x2x64xbf16>, %state: tensor<2x16x2x64xbf16> {hk.state, hk.name = "state"}, %i: tensor<?xi32>) -> (tensor<?x2x64xbf16> {hk.name = "y"}, tensor<2x16x2x64xbf16>) {
  %y = hk.softmax %x : tensor<?x2x64xbf16>
  %w = hk.kv_cache_write %x, %i into %state : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<2x16x2x64xbf16>
  return %y, %w : tensor<?x2x64xbf16>, tensor<2x16x2x64xbf16>
}
