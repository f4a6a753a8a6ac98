// Sinks whose logit in base 2 is no f32 although they are: what they outweigh gives
// zero, those far below change nothing, and the log-sum-exp is right. Some rows see no
// keys.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir -o %t/m.so --target=host --target=gfx942 --split-keys=3
// RUN: hk-run %t/m.so --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// CHECK-COUNT-8: all within their bounds

//--- calls
--function=matrix --range=sink=10:13
--function=matrix --range=sink=-13:-10
--function=vector --range=sink=10:13
--function=vector --range=sink=-13:-10
--function=split --range=sink=10:13 --range=n=0:300
--function=split --range=sink=-13:-10 --range=n=0:300
--function=gradients --range=sink=10:13
--function=gradients --range=sink=-13:-10

//--- model.mlir
func.func @matrix(%q: tensor<1x40x4x64xbf16>, %k: tensor<1x20x2x64xbf16>, %v: tensor<1x20x2x64xbf16>, %sink: tensor<4xi32>) -> (tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>) {
  %unit = hk.constant dense<2.5e37> : tensor<f32>
  %number = hk.cast %sink : tensor<4xi32> -> tensor<4xf32>
  %logit = hk.mul %number, %unit : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %out, %lse = hk.attention %q, %k, %v sink %logit scale 0.125 causal : tensor<1x40x4x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16> sink tensor<4xf32> -> tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>
  return %out, %lse : tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>
}
func.func @vector(%q: tensor<9x3x33xf32>, %k: tensor<40x3x33xf32>, %v: tensor<40x3x7xf32>, %sink: tensor<3xi32>) -> (tensor<9x3x7xf32>, tensor<9x3xf32>) {
  %unit = hk.constant dense<2.5e37> : tensor<f32>
  %number = hk.cast %sink : tensor<3xi32> -> tensor<3xf32>
  %logit = hk.mul %number, %unit : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %out, %lse = hk.attention %q, %k, %v sink %logit scale 0.2 causal : tensor<9x3x33xf32>, tensor<40x3x33xf32>, tensor<40x3x7xf32> sink tensor<3xf32> -> tensor<9x3x7xf32>, tensor<9x3xf32>
  return %out, %lse : tensor<9x3x7xf32>, tensor<9x3xf32>
}
func.func @split(%q: tensor<3x1x4x64xbf16>, %k: tensor<3x300x2x64xbf16>, %v: tensor<3x300x2x64xbf16>, %n: tensor<3xi32>, %sink: tensor<4xi32>) -> (tensor<3x1x4x64xbf16>, tensor<3x1x4xf32>) {
  %unit = hk.constant dense<2.5e37> : tensor<f32>
  %number = hk.cast %sink : tensor<4xi32> -> tensor<4xf32>
  %logit = hk.mul %number, %unit : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %out, %lse = hk.attention %q, %k, %v kv_lens %n sink %logit scale 0.125 causal : tensor<3x1x4x64xbf16>, tensor<3x300x2x64xbf16>, tensor<3x300x2x64xbf16> kv_lens tensor<3xi32> sink tensor<4xf32> -> tensor<3x1x4x64xbf16>, tensor<3x1x4xf32>
  return %out, %lse : tensor<3x1x4x64xbf16>, tensor<3x1x4xf32>
}
func.func @gradients(%q: tensor<1x35x2x64xbf16>, %k: tensor<1x20x2x64xbf16>, %v: tensor<1x20x2x64xbf16>, %dout: tensor<1x35x2x64xbf16>, %delta: tensor<1x35x2xf32>, %sink: tensor<2xi32>) -> (tensor<1x35x2x64xbf16>, tensor<1x35x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<2xf32>) {
  %unit = hk.constant dense<2.5e37> : tensor<f32>
  %number = hk.cast %sink : tensor<2xi32> -> tensor<2xf32>
  %logit = hk.mul %number, %unit : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %out, %lse = hk.attention %q, %k, %v sink %logit scale 0.125 causal : tensor<1x35x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16> sink tensor<2xf32> -> tensor<1x35x2x64xbf16>, tensor<1x35x2xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %dout, %lse, %delta sink %logit scale 0.125 causal : tensor<1x35x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x35x2x64xbf16>, tensor<1x35x2xf32> sink tensor<2xf32> -> tensor<1x35x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<2xf32>
  return %out, %dq, %dk, %dsink : tensor<1x35x2x64xbf16>, tensor<1x35x2x64xbf16>, tensor<1x20x2x64xbf16>, tensor<2xf32>
}
