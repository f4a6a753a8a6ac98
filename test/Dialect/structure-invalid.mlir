// RUN: hk-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{unknown target 'gfx906'; known are host, gfx942, gfx950, gfx1100, sm_90a, tiny}}
module attributes {hk.target = #hk.target<"gfx906">} {}

// -----

// expected-error @below {{expected a size or a dim symbol like d0}}
func.func private @symbol() attributes {s = #hk.shape<[x0]>}

// -----

// expected-error @below {{expected a size of at least 0, but got -1}}
func.func private @negative() attributes {s = #hk.shape<[-1]>}

// -----

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @below {{expected number of block arguments to be 2, one per operand, but got 1}}
  %0 = hk.fused rowwise ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @argument_type(%x: tensor<4xf32>) {
  // expected-error @below {{expected type of block argument 0 to be that of its operand, 'tensor<4xf32>', but got 'tensor<5xf32>'}}
  %0 = hk.fused rowwise ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: tensor<5xf32>, %o: tensor<4xf32>):
    hk.yield %o : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @terminator(%x: tensor<4xf32>) {
  // expected-error @below {{expected terminator of the body to be hk.yield, but got llvm.unreachable}}
  hk.fused rowwise ins(%x : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    llvm.unreachable
  }
  return
}

// -----

func.func @yields(%x: tensor<4xf32>) {
  %0 = hk.fused rowwise ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    // expected-error @below {{expected number of values to be 1, the number of outs, but got 2}}
    hk.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @yield_type(%x: tensor<4xf32>) {
  %0 = hk.fused rowwise ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    %b = hk.cast %a : tensor<4xf32> -> tensor<4xbf16>
    // expected-error @below {{expected type of value 0 to be that of its out, 'tensor<4xf32>', but got 'tensor<4xbf16>'}}
    hk.yield %b : tensor<4xbf16>
  } -> tensor<4xf32>
  return
}

// -----

// The region yields the written cache, and reads what it was before.
func.func @old_state(%x: tensor<3x2x16xf32>, %s: tensor<3xi32>, %cache: tensor<1x8x2x16xf32>, %e: tensor<1x8x2x16xf32>) {
  // expected-error @below {{expected number of uses of the state, block argument 2, to be 1 until it is yielded, but got 2}}
  %0:2 = hk.fused rowwise ins(%x, %s : tensor<3x2x16xf32>, tensor<3xi32>) outs(%cache, %e : tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) {
  ^bb0(%a: tensor<3x2x16xf32>, %t: tensor<3xi32>, %c: tensor<1x8x2x16xf32>, %o: tensor<1x8x2x16xf32>):
    // expected-note @below {{used here}}
    %w = hk.kv_cache_write %a, %t into %c : tensor<3x2x16xf32>, tensor<3xi32>, tensor<1x8x2x16xf32>
    // expected-note @below {{used here}}
    %n = hk.neg %c : tensor<1x8x2x16xf32>
    hk.yield %w, %n : tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>
  } -> tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>
  return
}

// -----

func.func @read_state(%cache: tensor<4xf32>) {
  // expected-error @below {{expected use of the state, block argument 0, to be a destination, but it is read by hk.neg}}
  %0 = hk.fused rowwise outs(%cache : tensor<4xf32>) {
  ^bb0(%c: tensor<4xf32>):
    // expected-note @below {{read here}}
    %n = hk.neg %c : tensor<4xf32>
    hk.yield %n : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{expected number of hk.spec to be 1, but got 0}}
hk.kernel @k rowwise inputs 0 shapes [] aligns [] {
}

// -----

// expected-error @below {{expected ops of the body to be hk.spec, hk.variant or hk.kernel, but got hk.weight}}
hk.kernel @k rowwise inputs 0 shapes [] aligns [] {
  hk.weight @w "w" : tensor<4xf32>
}

// -----

// expected-error @below {{expected number of inputs to be in [0, 1], but got 2}}
hk.kernel @k rowwise inputs 2 shapes [#hk.shape<[4]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    hk.yield
  }
}

// -----

// expected-error @below {{expected number of aligns to be 1, the number of shapes, but got 2}}
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    hk.yield
  }
}

// -----

// expected-error @below {{expected aligns to be powers of two, but got 12}}
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>] aligns [12] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    hk.yield
  }
}

// -----

// expected-error @below {{expected number of block arguments of hk.spec to be 2, the number of shapes, but got 1}}
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    hk.yield
  }
}

// -----

// expected-error @below {{expected type of block argument 0 of hk.spec to have the shape #hk.shape<[d0, 4]>, but got 'tensor<4xf32>'}}
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[d0, 4]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    hk.yield
  }
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[d0]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<?xf32>):
    hk.yield
  }
  // expected-error @below {{expected number of block arguments to be 1, the dim symbols of the kernel, but got 0}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 64 lds 0 {
    %t = arith.constant true
    %c = arith.constant 1 : index
    hk.launch_dims if %t grid(%c, %c, %c)
  }
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[d0]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<?xf32>):
    hk.yield
  }
  // expected-error @below {{expected type of block argument 0 to be index, but got 'i32'}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 64 lds 0 {
  ^bb0(%d0: i32):
    %t = arith.constant true
    %c = arith.constant 1 : index
    hk.launch_dims if %t grid(%c, %c, %c)
  }
}

// -----

hk.kernel @k rowwise inputs 0 shapes [] aligns [] {
  hk.spec {
    hk.yield
  }
  // expected-error @below {{expected terminator of the body to be hk.launch_dims, but got hk.yield}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 64 lds 0 {
    hk.yield
  }
}

// -----

hk.kernel @k rowwise inputs 0 shapes [] aligns [] {
  hk.spec {
    hk.yield
  }
  // expected-error @below {{expected threads to be at least 1, but got 0}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 0 lds 0 {
    %t = arith.constant true
    %c = arith.constant 1 : index
    hk.launch_dims if %t grid(%c, %c, %c)
  }
}

// -----

hk.kernel @k rowwise inputs 0 shapes [] aligns [] {
  hk.spec {
    hk.yield
  }
  // expected-error @below {{expected lds to be at least 0, but got -1}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 64 lds -1 {
    %t = arith.constant true
    %c = arith.constant 1 : index
    hk.launch_dims if %t grid(%c, %c, %c)
  }
}

// -----

hk.kernel @k gemm inputs 0 shapes [] aligns [] {
  hk.spec {
    hk.yield
  }
  // expected-error @below {{expected tile of a gemm kernel to be #hk.gemm_tile, but got #hk.row_tile}}
  hk.variant @v #hk.row_tile<rows = 1, threads = 64, vec = 4, slots = 0> threads 64 lds 0 {
    %t = arith.constant true
    %c = arith.constant 1 : index
    hk.launch_dims if %t grid(%c, %c, %c)
  }
}

// -----

func.func @no_kernel(%x: tensor<4xf32>) {
  // expected-error @below {{expected kernel @k to be an hk.kernel of the module}}
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return
}

// -----

func.func @reads_length(%x: tensor<4xf32>) {
  // expected-error @below {{expected length of reads to be 1, the number of outs, but got 2}}
  %0 = hk.launch @k outs(%x : tensor<4xf32>) reads [false, false] -> tensor<4xf32>
  return
}

// -----

func.func @unranked(%x: memref<*xf32>) {
  // expected-error @below {{expected type of operand 0 to be ranked, but got 'memref<*xf32>'}}
  hk.launch @k outs(%x : memref<*xf32>) reads [false]
  return
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  }
}
func.func @inputs(%x: tensor<4xf32>) {
  // expected-error @below {{expected number of inputs to be 1, that of @k, but got 0}}
  %0 = hk.launch @k outs(%x : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  }
}
func.func @outs(%x: tensor<4xf32>) {
  // expected-error @below {{expected number of outs to be 1, that of @k, but got 2}}
  %0:2 = hk.launch @k ins(%x : tensor<4xf32>) outs(%x, %x : tensor<4xf32>, tensor<4xf32>) reads [false, false] -> tensor<4xf32>, tensor<4xf32>
  return
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  }
}
func.func @operand_type(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error @below {{expected type of block argument 0 of the kernel to be that of its operand, 'tensor<4xbf16>', but got 'tensor<4xf32>'}}
  %0 = hk.launch @k ins(%y : tensor<4xbf16>) outs(%x : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  }
}
func.func @reads(%x: tensor<4xf32>) {
  // expected-error @below {{expected reads of out 0 to be false, as the body of @k has it, but got true}}
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) reads [true] -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{expected shape of the weight to be static, but got 'tensor<?xf32>'}}
hk.weight @w "w" : tensor<?xf32>

// -----

// expected-error @below {{expected source to be the name of a tensor, but got an empty string}}
hk.weight @w "" : tensor<4xf32>

// -----

func.func @no_weight() {
  // expected-error @below {{expected weight @w to be an hk.weight of the module}}
  %0 = hk.weight_ref @w : tensor<4xf32>
  return
}

// -----

hk.weight @w "w" : tensor<4xf32>
func.func @weight_type() {
  // expected-error @below {{expected type of result to be that of @w, 'tensor<4xf32>', but got 'tensor<4xbf16>'}}
  %0 = hk.weight_ref @w : tensor<4xbf16>
  return
}

// -----

// expected-error @below {{expected number of problems of a joint kernel to be at least 2, but got 0}}
hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c : tensor<4xf32>
  }
}

// -----

// expected-error @below {{expected number of problems of a rowwise kernel to be 0, but got 1}}
hk.kernel @k rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c : tensor<4xf32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{expected its problems to have its 0 inputs of 1 operands, but got 0 of 2}}
hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c : tensor<4xf32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
  hk.kernel @q rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>, #hk.shape<[8]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %b: tensor<8xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    %d = hk.constant 1.0 : tensor<8xf32>
    hk.yield %c, %d : tensor<4xf32>, tensor<8xf32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
  // expected-error @below {{expected shape of operand 0 to be that of the joint kernel, #hk.shape<[8]>, but got #hk.shape<[4]>}}
  hk.kernel @q rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{expected its first problem not to wait}}
hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>, #hk.shape<[4]>, #hk.shape<[2]>] aligns [16, 16, 4] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: tensor<2xi32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c, %c, %n : tensor<4xf32>, tensor<4xf32>, tensor<2xi32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] attributes {hk.waits} {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
  hk.kernel @q rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{expected its last out to be of 2 i32, in which blocks are counted that others wait for}}
hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>, #hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16, 4] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: tensor<4xi32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c, %c, %n : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
  hk.kernel @q rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] attributes {hk.waits} {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{expected its problems to have its 0 inputs of 3 operands, but got 0 of 2}}
hk.kernel @k joint inputs 0 shapes [#hk.shape<[4]>, #hk.shape<[4]>, #hk.shape<[2]>] aligns [16, 16, 4] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %n: tensor<2xi32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c, %c, %n : tensor<4xf32>, tensor<4xf32>, tensor<2xi32>
  }
  hk.kernel @p rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
  hk.kernel @q rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] {
    hk.spec {
    ^bb0(%a: tensor<4xf32>):
      %c = hk.constant 1.0 : tensor<4xf32>
      hk.yield %c : tensor<4xf32>
    }
  }
}

// -----

// expected-error @below {{hk has no attribute 'hk.waits' of 'hk.kernel'}}
hk.kernel @k rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] attributes {hk.waits} {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c : tensor<4xf32>
  }
}

// -----

hk.kernel @k rowwise inputs 0 shapes [#hk.shape<[4]>] aligns [16] threads 128 {
  hk.spec {
  ^bb0(%a: tensor<4xf32>):
    %c = hk.constant 1.0 : tensor<4xf32>
    hk.yield %c : tensor<4xf32>
  }
  // expected-error @below {{expected threads to be 128, those of the kernel, but got 64}}
  hk.variant @v0 #hk.row_tile<rows = 1, threads = 64, vec = 1, slots = 1> threads 64 lds 0 {
    %true = arith.constant true
    %c1 = arith.constant 1 : index
    hk.launch_dims if %true grid(%c1, %c1, %c1)
  }
}
