// RUN: hk-opt %s --hk-check-state -verify-diagnostics -split-input-file
// A state that is read after a write, or written twice, would need a copy.

hk.kernel @write rowwise inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[2]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>):
    %c = hk.kv_cache_write %x, %slots into %cache : tensor<2x1x64xbf16>, tensor<2xi32>, tensor<1x32x1x64xbf16>
    hk.yield %c : tensor<1x32x1x64xbf16>
  }
}
hk.kernel @read rowwise inputs 1 shapes [#hk.shape<[1, 32, 1, 64]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<1x32x1x64xbf16>, %o: tensor<1x32x1x64xbf16>):
    %y = hk.neg %x : tensor<1x32x1x64xbf16>
    hk.yield %y : tensor<1x32x1x64xbf16>
  }
}
func.func @reads_old(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16> {hk.state}) -> (tensor<1x32x1x64xbf16>, tensor<1x32x1x64xbf16>) {
  // expected-note @below {{the state is written here}}
  %0 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%cache : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  %e = tensor.empty() : tensor<1x32x1x64xbf16>
  // expected-error @below {{needs a copy of the state in argument #2: a read of the value before a write}}
  %1 = hk.launch @read ins(%cache : tensor<1x32x1x64xbf16>) outs(%e : tensor<1x32x1x64xbf16>) reads [false] -> tensor<1x32x1x64xbf16>
  return %1, %0 : tensor<1x32x1x64xbf16>, tensor<1x32x1x64xbf16>
}

// -----

hk.kernel @write rowwise inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[2]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>):
    %c = hk.kv_cache_write %x, %slots into %cache : tensor<2x1x64xbf16>, tensor<2xi32>, tensor<1x32x1x64xbf16>
    hk.yield %c : tensor<1x32x1x64xbf16>
  }
}
func.func @writes_twice(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16> {hk.state}) -> (tensor<1x32x1x64xbf16>, tensor<1x32x1x64xbf16>) {
  // expected-error @below {{needs a copy of the state in argument #2: a second write of the same value}}
  %0 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%cache : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  // expected-note @below {{the state is written here}}
  %1 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%cache : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  return %0, %1 : tensor<1x32x1x64xbf16>, tensor<1x32x1x64xbf16>
}
