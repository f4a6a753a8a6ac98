// A head that no tile holds: who asks, for how much, and what to do.
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse --hk-outline --hk-select-tiles --verify-diagnostics

func.func @wide(%q: tensor<?x1x2000xf16>, %l: tensor<?x1xf32>) -> tensor<?x1x2000xf16> {
  // expected-error @+1 {{'hk.attention_backward' op in kernel @attention_backward: its smallest tile 1x64 waves 1 stages 1 needs 16512 bytes of LDS, but tiny has 8192; use smaller head sizes than 2000 and 2000}}
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 : tensor<?x1x2000xf16>, tensor<?x1x2000xf16>, tensor<?x1x2000xf16>, tensor<?x1x2000xf16>, tensor<?x1xf32> -> tensor<?x1x2000xf16>, tensor<?x1x2000xf16>, tensor<?x1x2000xf16>
  return %0#0 : tensor<?x1x2000xf16>
}
