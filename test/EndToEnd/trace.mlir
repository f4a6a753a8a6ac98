// hk-run --trace: the launches as a timeline, of the host's clock or as the emulator models them.
// RUN: hk-compile %s --target=host,gfx942 -o %t.so
// RUN: hk-run %t.so --dim=x.0=5 --trace=%t.host.json > /dev/null
// RUN: %python %S/Inputs/trace.py %t.host.json measured 1 rms_norm matmul_add | FileCheck %s --check-prefix=HOST
// RUN: hk-run %t.so --dim=x.0=5 --bench=3 --trace=%t.bench.json > /dev/null
// RUN: %python %S/Inputs/trace.py %t.bench.json measured 3 rms_norm matmul_add | FileCheck %s --check-prefix=BENCH
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=x.0=5 --bench=2 --trace=%t.emu.json > /dev/null
// RUN: %python %S/Inputs/trace.py %t.emu.json modelled 2 rms_norm matmul_add | FileCheck %s --check-prefix=EMULATED
// RUN: not hk-run %t.so --dim=x.0=5 --trace=%t.none/t.json 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not hk-run %t.so --dim=x.0=5 --results=%t --trace=%t.json 2>&1 | FileCheck %s --check-prefix=RESULTS

// HOST: 2 launches in 1 calls, measured
// BENCH: 6 launches in 3 calls, measured
// EMULATED: 4 launches in 2 calls, modelled
// FOLDER: --trace: cannot write '{{.*}}t.json': No such file or directory
// RESULTS: --results makes no call that --bench, --trace or --counters could look at

func.func @step(%x: tensor<?x256xbf16> {hk.name = "x"}, %w: tensor<256x256xbf16>, %g: tensor<256xbf16>) -> (tensor<?x256xbf16> {hk.name = "y"}) {
  %n = hk.rms_norm %x, %g epsilon 1.0e-06 : tensor<?x256xbf16>, tensor<256xbf16>
  %m = hk.matmul %n, %w transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %y = hk.add %m, %x : tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
