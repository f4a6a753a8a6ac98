// A module says what its integer arguments may hold, and hk-run draws that: every
// call below is a right one without --range, and no element of a result is that of
// an index that misses.
// RUN: hk-compile %s -o %t.so
// RUN: hk-run %t.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t.so --function=decode --dim=q.0=5 --dim=new.0=6 --dim=slots.0=6 --dim=qo.0=4 --dim=lens.0=3 --dim=table.0=3 --poison --check=%s | FileCheck %s --check-prefixes=DECODE,OK
// RUN: hk-run %t.so --function=embed --dim=ids.0=7 --check=%s | FileCheck %s --check-prefixes=EMBED,OK
// RUN: hk-run %t.so --function=conv --dim=x.0=40 --dim=cu.0=5 --dim=lines.0=4 --poison --check=%s | FileCheck %s --check-prefixes=CONV,OK
// RUN: hk-run %t.so --function=lengths --dim=x.0=9 --dim=lens.0=4 --check=%s | FileCheck %s --check-prefixes=LENGTHS,OK
// RUN: hk-run %t.so --function=numbers --dim=a.0=6 --check=%s | FileCheck %s --check-prefixes=NUMBERS,OK
// RUN: hk-run %t.so --function=half --dim=x.0=9 --dim=i.0=4 --check=%s | FileCheck %s --check-prefixes=HALF,OK
// RUN: hk-run %t.so --function=decode --dim=q.0=0 --dim=new.0=0 --dim=slots.0=0 --dim=qo.0=1 --dim=lens.0=0 --dim=table.0=0 --poison --check=%s | FileCheck %s --check-prefixes=OK
// The same inputs where nobody checks.
// RUN: rm -rf %t.dir
// RUN: hk-run %t.so --function=conv --dim=x.0=40 --dim=cu.0=5 --dim=lines.0=4 --output=%t.dir
// RUN: hk-run %t.so --function=conv --dim=x.0=40 --dim=cu.0=5 --dim=lines.0=4 --results=%t.dir --check=%s | FileCheck %s --check-prefix=OK

// INFO: "name": "slots"
// INFO: "kind": "distinct"
// DECODE: state k
// DECODE: input slots {{.*}} different ones of [0, 127]
// DECODE: input qo {{.*}} bounds of sequences of 5 tokens
// DECODE: input lens {{.*}} random in [0, 64]
// DECODE: input table {{.*}} random in [0, 7]
// DECODE: input pos {{.*}} random in [0, 99]
func.func @decode(%q: tensor<?x4x32xf32>, %new: tensor<?x2x32xf32>, %k: tensor<8x16x2x32xf32> {hk.state}, %slots: tensor<?xi64>, %qo: tensor<?xi32>, %lens: tensor<?xi32>, %table: tensor<?x4xi32>, %pos: tensor<?xi32>, %cos: tensor<100x16xf32>, %sin: tensor<100x16xf32>) -> (tensor<?x4x32xf32>, tensor<8x16x2x32xf32>) {
  %r = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x4x32xf32>, tensor<100x16xf32>, tensor<100x16xf32> positions tensor<?xi32> -> tensor<?x4x32xf32>
  %c = hk.kv_cache_write %new, %slots into %k : tensor<?x2x32xf32>, tensor<?xi64>, tensor<8x16x2x32xf32>
  %o = hk.attention %r, %c, %c q_offsets %qo kv_lens %lens block_table %table scale 0.125 : tensor<?x4x32xf32>, tensor<8x16x2x32xf32>, tensor<8x16x2x32xf32> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x4xi32> -> tensor<?x4x32xf32>
  return %o, %c : tensor<?x4x32xf32>, tensor<8x16x2x32xf32>
}

// Through views and a cast of the indices.
// EMBED: input ids {{.*}} random in [0, 49]
func.func @embed(%table: tensor<50x8xf32>, %ids: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %wide = hk.cast %flat : tensor<?xi32> -> tensor<?xi64>
  %e = hk.gather_rows %table, %wide : tensor<50x8xf32>, tensor<?xi64> -> tensor<?x8xf32>
  return %e : tensor<?x8xf32>
}

// CONV: input cu {{.*}} bounds of sequences of 40 tokens
// CONV: input lines {{.*}} different ones of [0, 5]
// CONV: input initial {{.*}} random in [0, 1]
func.func @conv(%x: tensor<?x48xbf16>, %w: tensor<48x4xbf16>, %cu: tensor<?xi32>, %state: tensor<6x3x48xbf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x48xbf16>, tensor<6x3x48xbf16>) {
  %y, %s = hk.causal_conv1d channel_last %x, %w offsets %cu state %state indices %lines has_initial %initial : tensor<?x48xbf16>, tensor<48x4xbf16> offsets tensor<?xi32> state tensor<6x3x48xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x48xbf16>, tensor<6x3x48xbf16>
  return %y, %s : tensor<?x48xbf16>, tensor<6x3x48xbf16>
}

// Lengths become offsets.
// LENGTHS: input lens {{.*}} lengths of sequences of 9 tokens
func.func @lengths(%x: tensor<?x8xf32>, %lens: tensor<?xi32>) -> tensor<?x8xf32> {
  %offsets = hk.cumsum offsets %lens : tensor<?xi32> -> tensor<?xi32>
  %y = hk.cumsum inclusive %x bounds %offsets : tensor<?x8xf32> bounds tensor<?xi32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// NUMBERS: input a {{.*}} random in [-100, 100]
// NUMBERS: input flag {{.*}} random in [0, 1]
func.func @numbers(%a: tensor<?x4xi32>, %flag: tensor<?x4xi1>) -> tensor<?x4xf32> {
  %f = hk.cast %a : tensor<?x4xi32> -> tensor<?x4xf32>
  %n = hk.neg %f : tensor<?x4xf32> -> tensor<?x4xf32>
  %y = hk.select %flag, %f, %n : tensor<?x4xi1>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// The rows of two tables together.
// HALF: input i {{.*}} random in [0, 21]
func.func @half(%x: tensor<?x8xf32>, %z: tensor<13x8xf32>, %i: tensor<?xi32>) -> tensor<?x8xf32> {
  %t = hk.concat 0 (%x, %z) : tensor<?x8xf32>, tensor<13x8xf32> -> tensor<?x8xf32>
  %y = hk.gather_rows %t, %i : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// OK: all within their bounds
