// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @no_mesh(%x: tensor<4xf32>) {
  // expected-error @below {{expected its module to have a mesh with the axis "tp", as module attributes {hk.mesh = "tp=2"}, but it has none}}
  %0 = hk.all_reduce sum %x axis "tp" : tensor<4xf32>
  return
}

// -----

module attributes {hk.mesh = "ep=2,dp=4"} {
func.func @other_axis() {
  // expected-error @below {{expected axis to be one of the mesh "ep=2,dp=4", but got "tp"}}
  %0 = hk.rank axis "tp" : tensor<i32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @absmax(%x: tensor<4xf32>) {
  // expected-error @below {{expected kind to be sum, max or min, but got absmax; put an hk.abs in front of max}}
  %0 = hk.all_reduce absmax %x axis "tp" : tensor<4xf32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @integer_result(%x: tensor<4xi8>) {
  // expected-error @below {{expected element type of result to be 'i8', but got 'i32'}}
  %0 = hk.all_reduce sum %x axis "tp" : tensor<4xi8> -> tensor<4xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @float_result(%x: tensor<4xf32>) {
  // expected-error @below {{expected element type of result to be f32, bf16 or f16, but got 'i32'}}
  %0 = hk.all_reduce max %x axis "tp" : tensor<4xf32> -> tensor<4xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @any_order(%x: tensor<4xbf16>) {
  // expected-error @below {{expected element type of result to be 'bf16', but got 'f32'}}
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<4xbf16> -> tensor<4xf32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @reduced_shape(%x: tensor<4xbf16>) {
  // expected-error @below {{expected shape of result to be [4], but got [2]}}
  %0 = hk.all_reduce sum %x axis "tp" : tensor<4xbf16> -> tensor<2xbf16>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @dim(%x: tensor<4xbf16>) {
  // expected-error @below {{expected dim to be less than 1, the rank of input, but got 1}}
  %0 = hk.reduce_scatter sum %x axis "tp" dim 1 : tensor<4xbf16> -> tensor<4xbf16>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @gathered_dim(%x: tensor<f32>) {
  // expected-error @below {{expected dim to be less than 0, the rank of input, but got 0}}
  %0 = hk.all_gather %x axis "tp" dim 0 : tensor<f32> -> tensor<f32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @split(%x: tensor<4xbf16>) {
  // expected-error @below {{expected split to be less than 1, the rank of input, but got 2}}
  %0 = hk.all_to_all %x axis "tp" split 2 concat 0 : tensor<4xbf16> -> tensor<8xbf16>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @concat(%x: tensor<4xbf16>) {
  // expected-error @below {{expected concat to be less than 1, the rank of input, but got 3}}
  %0 = hk.all_to_all %x axis "tp" split 0 concat 3 : tensor<4xbf16> -> tensor<2xbf16>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @uneven(%x: tensor<5x4xbf16>) {
  // expected-error @below {{expected size of dim 0 of input to be a multiple of 2, the ranks of axis "tp", but got 5}}
  %0 = hk.reduce_scatter sum %x axis "tp" dim 0 : tensor<5x4xbf16> -> tensor<2x4xbf16>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @shared_bytes(%x: tensor<4x6xi4>) {
  // expected-error @below {{expected the dim that is split not to be the last one, because elements of 'i4' share bytes, but got 1}}
  %0 = hk.all_to_all %x axis "tp" split 1 concat 1 : tensor<4x6xi4>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @odd(%x: tensor<4x5xi4>) {
  // expected-error @below {{expected size of dim 1 of result to be even for 'i4', but got 5}}
  %0 = hk.broadcast_rank %x axis "tp" root 0 : tensor<4x5xi4>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @gathered_shape(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected shape of result to be [4, 12], but got [4, 18]}}
  %0 = hk.all_gather %x axis "tp" dim 1 : tensor<4x6xf32> -> tensor<4x18xf32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @gathered_type(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'bf16'}}
  %0 = hk.all_gather %x axis "tp" dim 1 : tensor<4x6xf32> -> tensor<4x12xbf16>
  return
}
}

// -----

func.func @rows_no_mesh(%x: tensor<?x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected its module to have a mesh with the axis "tp"}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<?x4xf32>, tensor<2xi32> -> tensor<2x?x4xf32>, tensor<2xi32>
  return
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_of_a_scalar(%x: tensor<f32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" capacity 3 : tensor<f32>, tensor<2xi32> -> tensor<2x3xf32>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_counts(%x: tensor<?x4xf32>, %c: tensor<3xi32>) {
  // expected-error @below {{expected shape of counts to be [2], but got [3]}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<?x4xf32>, tensor<3xi32> -> tensor<2x?x4xf32>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_shape(%x: tensor<5x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected shape of rows to be [2, 5, 4], but got [2, 6, 4]}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x6x4xf32>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_capacity(%x: tensor<5x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected shape of rows to be [2, 3, 4], but got [2, 5, 4]}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" capacity 3 : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x5x4xf32>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_received(%x: tensor<5x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected shape of received to be [2], but got [1]}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x5x4xf32>, tensor<1xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_type(%x: tensor<5x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{expected element type of rows to be 'f32', but got 'bf16'}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x5x4xbf16>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_packed(%x: tensor<6xi4>, %c: tensor<2xi32>) {
  // expected-error @below {{expected rows of at least one dim, because elements of 'i4' share bytes}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<6xi4>, tensor<2xi32> -> tensor<2x6xi4>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_odd(%x: tensor<4x5xi4>, %c: tensor<2xi32>) {
  // expected-error @below {{expected size of dim 2 of rows to be even for 'i4', but got 5}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" : tensor<4x5xi4>, tensor<2xi32> -> tensor<2x4x5xi4>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rows_negative(%x: tensor<5x4xf32>, %c: tensor<2xi32>) {
  // expected-error @below {{whose value is non-negative}}
  %0:2 = hk.all_to_all_rows %x, %c axis "tp" capacity -1 : tensor<5x4xf32>, tensor<2xi32> -> tensor<2x5x4xf32>, tensor<2xi32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @root(%x: tensor<4xf32>) {
  // expected-error @below {{expected root to be less than 2, the ranks of axis "tp", but got 2}}
  %0 = hk.broadcast_rank %x axis "tp" root 2 : tensor<4xf32>
  return
}
}

// -----

module attributes {hk.mesh = "tp=2"} {
func.func @rank_shape() {
  // expected-error @below {{expected shape of result to be [], but got [1]}}
  %0 = hk.rank axis "tp" : tensor<1xi32>
  return
}
}

// -----

// expected-error @below {{expected 'hk.mesh' to be a string, as "tp=2", but got 2 : i64}}
module attributes {hk.mesh = 2} {
}

// -----

// expected-error @below {{expected 'hk.mesh' to be axes with sizes, as "tp=2,ep=4", but got "tp": 'tp' has no size from 1 to 4096 behind '='}}
module attributes {hk.mesh = "tp"} {
}

// -----

// expected-error @below {{'tp=0' has no size from 1 to 4096 behind '='}}
module attributes {hk.mesh = "tp=0"} {
}

// -----

// expected-error @below {{'=2' does not begin with the name of an axis}}
module attributes {hk.mesh = "=2"} {
}

// -----

// expected-error @below {{two axes are named 'tp'}}
module attributes {hk.mesh = "tp=2,tp=2"} {
}

// -----

// expected-error @below {{an axis is missing behind the last comma}}
module attributes {hk.mesh = "tp=2,"} {
}

// -----

// expected-error @below {{it has more than 4096 ranks}}
module attributes {hk.mesh = "tp=4096,ep=2"} {
}

// -----

// expected-error @below {{it has more than 8 axes}}
module attributes {hk.mesh = "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"} {
}

// -----

// expected-error @below {{hk has no attribute 'hk.mesch' of a module; did you mean 'hk.mesh'?}}
module attributes {hk.mesch = "tp=2"} {
}
