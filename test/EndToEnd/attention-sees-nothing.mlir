// A query that sees no key gives 0, also where all values are infinite or no number and other
// queries of its tile see them: on matrix fragments with many rows and with few, on the vector
// units, where slices are combined, behind a sink, in an epilogue, where values are columns of
// keys, and without a softmax.
// RUN: rm -rf %t && mkdir -p %t && split-file %s %t
// RUN: %python %t/values.py %t
// RUN: hk-compile %t/model.mlir -o %t/m.so --target=host,gfx942,gfx950 --split-keys=3
// RUN: hk-run %t/m.so --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// CHECK-COUNT-8: all within their bounds

//--- values.py
import os
import sys

import numpy as np

os.chdir(sys.argv[1])
for name, shape in (("v", (1, 20, 2, 64)), ("short", (1, 5, 2, 64)), ("long", (1, 300, 2, 64)), ("odd", (20, 3, 7)), ("large", (1, 20, 1, 576))):
    v = np.full(shape, np.inf, np.float32)
    v[..., ::3] = np.nan
    np.save(name, v)
with open("calls", "w") as calls:
    for function, value in (("many", "v"), ("few", "short"), ("sink", "v"), ("vector", "odd"), ("split", "long"),
                            ("gated", "v"), ("latent", "large"), ("unweighted", "v")):
        calls.write(f"--function={function} --input=v={os.getcwd()}/{value}.npy{' --range=n=2:3' * (function == 'split')}\n")

//--- model.mlir
func.func @many(%q: tensor<1x150x4x64xbf16>, %k: tensor<1x20x2x64xbf16>, %v: tensor<1x20x2x64xbf16> {hk.name = "v"}) -> (tensor<1x150x4x64xbf16>, tensor<1x150x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x150x4x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16> -> tensor<1x150x4x64xbf16>, tensor<1x150x4xf32>
  return %out, %lse : tensor<1x150x4x64xbf16>, tensor<1x150x4xf32>
}
func.func @few(%q: tensor<1x8x4x64xf16>, %k: tensor<1x5x2x64xf16>, %v: tensor<1x5x2x64xf16> {hk.name = "v"}) -> tensor<1x8x4x64xf16> {
  %out = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x8x4x64xf16>, tensor<1x5x2x64xf16>, tensor<1x5x2x64xf16> -> tensor<1x8x4x64xf16>
  return %out : tensor<1x8x4x64xf16>
}
func.func @sink(%q: tensor<1x40x4x64xf16>, %k: tensor<1x20x2x64xf16>, %v: tensor<1x20x2x64xf16> {hk.name = "v"}, %sink: tensor<4xf32>) -> tensor<1x40x4x64xf16> {
  %out = hk.attention %q, %k, %v sink %sink scale 0.125 causal : tensor<1x40x4x64xf16>, tensor<1x20x2x64xf16>, tensor<1x20x2x64xf16> sink tensor<4xf32> -> tensor<1x40x4x64xf16>
  return %out : tensor<1x40x4x64xf16>
}
func.func @vector(%q: tensor<29x3x33xf32>, %k: tensor<20x3x33xf32>, %v: tensor<20x3x7xf32> {hk.name = "v"}) -> tensor<29x3x7xf32> {
  %out = hk.attention %q, %k, %v scale 0.125 causal : tensor<29x3x33xf32>, tensor<20x3x33xf32>, tensor<20x3x7xf32> -> tensor<29x3x7xf32>
  return %out : tensor<29x3x7xf32>
}
func.func @split(%q: tensor<1x4x4x64xbf16>, %k: tensor<1x300x2x64xbf16>, %v: tensor<1x300x2x64xbf16> {hk.name = "v"}, %n: tensor<1xi32>) -> tensor<1x4x4x64xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<1x4x4x64xbf16>, tensor<1x300x2x64xbf16>, tensor<1x300x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x4x64xbf16>
  return %out : tensor<1x4x4x64xbf16>
}
func.func @gated(%q: tensor<1x40x4x64xbf16>, %k: tensor<1x20x2x64xbf16>, %v: tensor<1x20x2x64xbf16> {hk.name = "v"}, %gate: tensor<1x40x4x64xbf16>) -> tensor<1x40x4x64xbf16> {
  %out = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x40x4x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16> -> tensor<1x40x4x64xbf16>
  %y = hk.mul %out, %gate : tensor<1x40x4x64xbf16>
  return %y : tensor<1x40x4x64xbf16>
}
func.func @latent(%q: tensor<1x40x4x576xbf16>, %v: tensor<1x20x1x576xbf16> {hk.name = "v"}) -> tensor<1x40x4x512xbf16> {
  %values = tensor.extract_slice %v[0, 0, 0, 0] [1, 20, 1, 512] [1, 1, 1, 1] : tensor<1x20x1x576xbf16> to tensor<1x20x1x512xbf16>
  %out = hk.attention %q, %v, %values scale 0.125 causal : tensor<1x40x4x576xbf16>, tensor<1x20x1x576xbf16>, tensor<1x20x1x512xbf16> -> tensor<1x40x4x512xbf16>
  return %out : tensor<1x40x4x512xbf16>
}
func.func @unweighted(%q: tensor<1x40x4x64xbf16>, %k: tensor<1x20x2x64xbf16>, %v: tensor<1x20x2x64xbf16> {hk.name = "v"}) -> tensor<1x40x4x64xbf16> {
  %out = hk.attention %q, %k, %v scale 0.125 causal normalizer none : tensor<1x40x4x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16> -> tensor<1x40x4x64xbf16>
  return %out : tensor<1x40x4x64xbf16>
}
