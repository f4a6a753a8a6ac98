// RUN: hk-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected number of recipe arguments to be 2, one for each input, but got 1}}
hk.weight @w "w" from ["a", "b"] {
^bb0(%a: tensor<4xf32>):
  hk.yield %a : tensor<4xf32>
} : tensor<4xf32>

// -----

// expected-error @below {{expected type of recipe argument 0 to be a static tensor of an hk element type, but got 'tensor<?xf32>'}}
hk.weight @w "w" from ["a"] {
^bb0(%a: tensor<?xf32>):
  %0 = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  hk.yield %0 : tensor<4xf32>
} : tensor<4xf32>

// -----

// expected-error @below {{expected the recipe to end in hk.yield of one 'tensor<4xf32>'}}
hk.weight @w "w" from ["a"] {
^bb0(%a: tensor<5xf32>):
  hk.yield %a : tensor<5xf32>
} : tensor<4xf32>

// -----

// expected-error @below {{expected a recipe for its inputs, but got none}}
"hk.weight"() <{sym_name = "w", source = "w", type = tensor<4xf32>, inputs = ["a"]}> ({}) : () -> ()

// -----

// expected-error @below {{expected no recipe without inputs, but got one}}
"hk.weight"() <{sym_name = "w", source = "w", type = tensor<4xf32>}> ({
^bb0(%a: tensor<4xf32>):
  hk.yield %a : tensor<4xf32>
}) : () -> ()

// -----

module attributes {hk.mesh = "tp=2"} {
// expected-error @below {{expected axis of a slice to be one of the mesh of its module, but got "ep"}}
hk.weight @w "w" slices [#hk.weight_slice<"ep" dim 0 sizes[4] parts[2]>] : tensor<2xf32>
}

// -----

// expected-error @below {{expected axis of a slice to be one of the mesh of its module, but got "tp"}}
hk.weight @w "w" slices [#hk.weight_slice<"tp" dim 0 sizes[4] parts[2]>] : tensor<2xf32>

// -----

module attributes {hk.mesh = "tp=2"} {
// expected-error @below {{expected as many parts as sizes in a slice, but got 1 and 2}}
hk.weight @w "w" slices [#hk.weight_slice<"tp" dim 0 sizes[2, 2] parts[2]>] : tensor<2xf32>
}

// -----

module attributes {hk.mesh = "tp=2"} {
// expected-error @below {{expected a slice that fits the weight, but got dim 1 of a tensor of rank 1}}
hk.weight @w "w" slices [#hk.weight_slice<"tp" dim 1 sizes[4] parts[2]>] : tensor<2xf32>
}

// -----

module attributes {hk.mesh = "tp=2"} {
// expected-error @below {{expected a slice that fits the weight, but got 2 parts of 5 elements for 2 ranks}}
hk.weight @w "w" slices [#hk.weight_slice<"tp" dim 0 sizes[5] parts[2]>] : tensor<2xf32>
}

// -----

module attributes {hk.mesh = "tp=2"} {
// expected-error @below {{expected type to be that of a part, 'tensor<2xf32>', but got 'tensor<4xf32>'}}
hk.weight @w "w" slices [#hk.weight_slice<"tp" dim 0 sizes[4] parts[2]>] : tensor<4xf32>
}
