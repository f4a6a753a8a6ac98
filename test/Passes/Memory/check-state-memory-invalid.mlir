// RUN: hk-opt %s --hk-check-state -verify-diagnostics -split-input-file
// Only a state, or a result of a kernel, may be written in place; views count as
// readers.

hk.kernel @write rowwise inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[2]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>):
    %c = hk.kv_cache_write %x, %slots into %cache : tensor<2x1x64xbf16>, tensor<2xi32>, tensor<1x32x1x64xbf16>
    hk.yield %c : tensor<1x32x1x64xbf16>
  }
}
func.func @input(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>) -> tensor<1x32x1x64xbf16> {
  // expected-error @below {{writes in place into argument #2, which is an input; give the argument 'hk.state' or write into an hk.copy of it}}
  %0 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%cache : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  return %0 : tensor<1x32x1x64xbf16>
}

// -----

hk.weight @w "w" : tensor<1x32x1x64xbf16>
hk.kernel @write rowwise inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[2]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>):
    %c = hk.kv_cache_write %x, %slots into %cache : tensor<2x1x64xbf16>, tensor<2xi32>, tensor<1x32x1x64xbf16>
    hk.yield %c : tensor<1x32x1x64xbf16>
  }
}
func.func @weight(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>) -> tensor<1x32x1x64xbf16> {
  %w = hk.weight_ref @w : tensor<1x32x1x64xbf16>
  // expected-error @below {{writes in place into a weight}}
  %0 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%w : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  return %0 : tensor<1x32x1x64xbf16>
}

// -----

hk.kernel @write rowwise inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[2]>, #hk.shape<[1, 32, 1, 64]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16>):
    %c = hk.kv_cache_write %x, %slots into %cache : tensor<2x1x64xbf16>, tensor<2xi32>, tensor<1x32x1x64xbf16>
    hk.yield %c : tensor<1x32x1x64xbf16>
  }
}
hk.kernel @read rowwise inputs 1 shapes [#hk.shape<[64]>, #hk.shape<[64]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<64xbf16>, %o: tensor<64xbf16>):
    %y = hk.neg %x : tensor<64xbf16>
    hk.yield %y : tensor<64xbf16>
  }
}
func.func @view(%x: tensor<2x1x64xbf16>, %slots: tensor<2xi32>, %cache: tensor<1x32x1x64xbf16> {hk.state}) -> (tensor<64xbf16>, tensor<1x32x1x64xbf16>) {
  %v = tensor.extract_slice %cache[0, 3, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1] : tensor<1x32x1x64xbf16> to tensor<64xbf16>
  // expected-note @below {{the state is written here}}
  %0 = hk.launch @write ins(%x, %slots : tensor<2x1x64xbf16>, tensor<2xi32>) outs(%cache : tensor<1x32x1x64xbf16>) reads [true] -> tensor<1x32x1x64xbf16>
  %e = tensor.empty() : tensor<64xbf16>
  // expected-error @below {{needs a copy of the state in argument #2: a read of the value before a write}}
  %1 = hk.launch @read ins(%v : tensor<64xbf16>) outs(%e : tensor<64xbf16>) reads [false] -> tensor<64xbf16>
  return %1, %0 : tensor<64xbf16>, tensor<1x32x1x64xbf16>
}

// -----

// A state that is only read, and one that is not used at all.
hk.kernel @read rowwise inputs 1 shapes [#hk.shape<[2, 64]>, #hk.shape<[2, 64]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x64xbf16>, %y: tensor<2x64xbf16>):
    %c = hk.add %x, %x : tensor<2x64xbf16>
    hk.yield %c : tensor<2x64xbf16>
  }
}
// expected-warning @below {{nothing writes state 'cache' of @unwritten, so it never changes; write into it, or make it an input (without 'hk.state')}}
func.func @unwritten(%cache: tensor<2x64xbf16> {hk.state, hk.name = "cache"},
// expected-warning @below {{nothing writes state #1 of @unwritten}}
    %other: tensor<2x64xbf16> {hk.state}) -> tensor<2x64xbf16> {
  %out = tensor.empty() : tensor<2x64xbf16>
  %0 = hk.launch @read ins(%cache : tensor<2x64xbf16>) outs(%out : tensor<2x64xbf16>) reads [false] -> tensor<2x64xbf16>
  return %0 : tensor<2x64xbf16>
}
