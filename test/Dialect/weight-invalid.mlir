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
