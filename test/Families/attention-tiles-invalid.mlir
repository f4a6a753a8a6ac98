// A tile that does not fit says who asks, for how much, and what would fit.
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse --hk-outline --hk-select-tiles --verify-diagnostics

func.func @wide(%q: tensor<?x4x128xbf16>, %k: tensor<1x512x2x128xbf16>) -> tensor<?x4x128xbf16> {
  // expected-error @+1 {{'hk.attention' op in kernel @attention: its smallest tile 128x32 waves 4 stages 1 needs 16384 bytes of LDS, but tiny has 8192; the nearest tile that fits is 128x16 waves 4 stages 1 with 8192 bytes, fewer keys than a matrix fragment has}}
  %0 = hk.attention %q, %k, %k scale 0.125 causal : tensor<?x4x128xbf16>, tensor<1x512x2x128xbf16>, tensor<1x512x2x128xbf16> -> tensor<?x4x128xbf16>
  return %0 : tensor<?x4x128xbf16>
}
