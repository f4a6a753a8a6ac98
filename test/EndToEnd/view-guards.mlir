// Views whose sizes only the call tells: what does not fit is refused with the
// sizes, before anything is read or written; what fits is what the interpreter
// computes.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --function=last_row --dim=x.0=5 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=last_row --dim=x.0=0 2>&1 | FileCheck %s --check-prefix=NO-ROW
// RUN: hk-run %t.so --function=window --dim=x.0=9 --dim=skip.0=3 --dim=take.0=6 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=window --dim=x.0=9 --dim=skip.0=4 --dim=take.0=6 2>&1 | FileCheck %s --check-prefix=WINDOW
// RUN: hk-run %t.so --function=first_eight --dim=x.0=8 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=first_eight --dim=x.0=7 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: hk-run %t.so --function=groups --dim=x.0=16 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=groups --dim=x.0=15 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: hk-run %t.so --function=sequences --dim=x.0=3 --dim=x.1=5 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=sequences --dim=x.0=0 --dim=x.1=5 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=declared --dim=x.0=5 --dim=y.0=5 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=declared --dim=x.0=5 --dim=y.0=6 2>&1 | FileCheck %s --check-prefix=DECLARED
// RUN: hk-run %t.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t.so --function=forgotten --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=sorted --range=ids=0:7 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=divided --dim=x.0=6 --dim=y.0=3 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=divided --dim=x.0=0 --dim=y.0=0 --check=%s | FileCheck %s
// RUN: not hk-run %t.so --function=divided --dim=x.0=6 --dim=y.0=0 2>&1 | FileCheck %s --check-prefix=DIVIDED
// RUN: hk-run %t.so --function=parts --dim=x.0=6 --dim=y.0=4 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=parts --dim=x.0=6 --dim=y.0=0 --check=%s | FileCheck %s

// CHECK: all within their bounds
// DIVIDED: function 'divided': x dim 0 is 6 but arith.divui dim 0 * y dim 0 is 0; they must be equal
// NO-ROW: function 'last_row': the offset of a slice of x in dim 0 is -1 but the least offset is 0; it must be at least that
// WINDOW: function 'window': the end of a slice of x in dim 0 is 10 but x dim 0 is 9; it must be at most that
// EIGHT: function 'first_eight': the end of a slice of x in dim 0 is 8 but x dim 0 is 7; it must be at most that
// GROUPS: function 'groups': the product of dims 0 to 1 of the expanded shape of x is 8 but x dim 0 is 15; they must be equal
// DECLARED: function 'declared': x dim 0 is 5 but y dim 0 is 6; they must be equal

func.func @last_row(%x: tensor<?x64xf32>) -> tensor<1x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %l = arith.subi %n, %c1 : index
  %s = tensor.extract_slice %x[%l, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<1x64xf32>
  %y = hk.exp %s : tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}

func.func @window(%x: tensor<?x64xf32>, %skip: tensor<?xf32>, %take: tensor<?xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %o = tensor.dim %skip, %c0 : tensor<?xf32>
  %n = tensor.dim %take, %c0 : tensor<?xf32>
  %s = tensor.extract_slice %x[%o, 0] [%n, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
  %y = hk.exp %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

func.func @first_eight(%x: tensor<?x64xf32>) -> tensor<8x64xf32> {
  %s = tensor.extract_slice %x[0, 0] [8, 64] [1, 1] : tensor<?x64xf32> to tensor<8x64xf32>
  %y = hk.exp %s : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

func.func @groups(%x: tensor<?x64xf32>) -> tensor<?x8x64xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %m = arith.divui %n, %c8 : index
  %s = tensor.expand_shape %x [[0, 1], [2]] output_shape [%m, 8, 64] : tensor<?x64xf32> into tensor<?x8x64xf32>
  %y = hk.exp %s : tensor<?x8x64xf32>
  return %y : tensor<?x8x64xf32>
}

// What every exporter writes: flattened, and a result seen as it was.
func.func @sequences(%x: tensor<?x?x768xf32>, %w: tensor<768xf32>) -> tensor<?x?x768xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x768xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x768xf32>
  %f = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x768xf32> into tensor<?x768xf32>
  %y = hk.rms_norm %f, %w epsilon 1.0e-05 : tensor<?x768xf32>, tensor<768xf32>
  %o = tensor.expand_shape %y [[0, 1], [2]] output_shape [%b, %s, 768] : tensor<?x768xf32> into tensor<?x?x768xf32>
  return %o : tensor<?x?x768xf32>
}

// Nothing in the body says that the rows are as many, so without the names these
// two would be two launches.
// INFO: "sections"
// INFO: "name": "declared"
// INFO-NEXT: "launches": 1,
func.func @declared(%x: tensor<?x64xf32> {hk.dims = ["T", "D"]}, %y: tensor<?x64xf32> {hk.dims = ["T", "D"]}) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %a = hk.softmax %x : tensor<?x64xf32>
  %b = hk.l2_norm %y epsilon 1.0e-06 : tensor<?x64xf32>
  return %a, %b : tensor<?x64xf32>, tensor<?x64xf32>
}

// A static size that a type forgets.
func.func @forgotten(%x: tensor<8x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %d = tensor.cast %x : tensor<8x64xf32> to tensor<?x64xf32>
  %y = hk.exp %d : tensor<?x64xf32>
  %z = hk.neg %x : tensor<8x64xf32>
  %e = tensor.cast %z : tensor<8x64xf32> to tensor<?x64xf32>
  return %y, %e : tensor<?x64xf32>, tensor<?x64xf32>
}

func.func @sorted(%ids: tensor<64xi32>) -> (tensor<?xi32>, tensor<64xi32>) {
  %o, %p = hk.sort_by_key %ids bins 8 block 16 : tensor<64xi32> -> tensor<?xi32>, tensor<64xi32>
  return %o, %p : tensor<?xi32>, tensor<64xi32>
}

// A size that is divided by may be 0.
func.func @divided(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %d = tensor.dim %y, %c0 : tensor<?xf32>
  %q = arith.divui %n, %d : index
  %e = tensor.expand_shape %x [[0, 1]] output_shape [%q, %d] : tensor<?xf32> into tensor<?x?xf32>
  %z = hk.add %e, %y : tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
// Divided by no elements, the size is what it is by one.
func.func @parts(%x: tensor<?x8xf32> {hk.name = "x"}, %y: tensor<?xf32> {hk.name = "y"}) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  %q = arith.ceildivsi %n, %m : index
  %s = tensor.extract_slice %x[0, 0] [%q, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  %r = hk.neg %s : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
