// Token copies in order of their expert, every expert's part a multiple of the
// block; the expert of each block; the number of places in use.
// HK-LAUNCHES: 1
// HK-ARGS: --range=map=-3:9 --range=own=-1:7
// HK-DIMS: ids.0=33 --range=ids=-1:7
// HK-DIMS: ids.0=1 --range=ids=3:3
// HK-DIMS: ids.0=0
// HK-DIMS: ids.0=300 --range=ids=5:5
// HK-DIMS: ids.0=16 --range=ids=-1:-1
// HK-DIMS: ids.0=32 --range=ids=0:223
// HK-DIMS: ids.0=1000 --range=ids=0:7
// HK-DIMS-HOST: ids.0=4096 --range=ids=0:400

func.func @few(%ids: tensor<?x2xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<8xi32>
  %sorted, %place = hk.sort_by_key %flat bins 8 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<8xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %last = tensor.extract_slice %blocks[8] [1] [1] : tensor<9xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @many(%ids: tensor<?x12xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 128 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x12xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<224xi32>
  %sorted, %place = hk.sort_by_key %flat bins 224 block 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 128 : tensor<224xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<225xi32>
  %last = tensor.extract_slice %blocks[224] [1] [1] : tensor<225xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @two_experts(%ids: tensor<?x1xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x1xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<2xi32>
  %sorted, %place = hk.sort_by_key %flat bins 2 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<2xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<3xi32>
  %last = tensor.extract_slice %blocks[2] [1] [1] : tensor<3xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts48_block64(%ids: tensor<?x4xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 64 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<48xi32>
  %sorted, %place = hk.sort_by_key %flat bins 48 block 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 64 : tensor<48xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<49xi32>
  %last = tensor.extract_slice %blocks[48] [1] [1] : tensor<49xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts384_top8(%ids: tensor<?x8xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 32 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x8xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<384xi32>
  %sorted, %place = hk.sort_by_key %flat bins 384 block 32 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 32 : tensor<384xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<385xi32>
  %last = tensor.extract_slice %blocks[384] [1] [1] : tensor<385xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
// The experts of the model are mapped to those of this device; -1: on another one.
func.func @expert_map(%ids: tensor<?x2xi64>, %map: tensor<32xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %all = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi64> into tensor<?xi64>
  %none = hk.constant -1 : tensor<i32>
  %zero = hk.constant 0 : tensor<i64>
  %inside = hk.compare ge %all, %zero : tensor<?xi64>, tensor<i64> -> tensor<?xi1>
  %own = hk.gather_rows %map, %all : tensor<32xi32>, tensor<?xi64> -> tensor<?xi32>
  %flat = hk.select %inside, %own, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<8xi32>
  %sorted, %place = hk.sort_by_key %flat bins 8 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<8xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %last = tensor.extract_slice %blocks[8] [1] [1] : tensor<9xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts8_top4_block32(%ids: tensor<?x4xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 32 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<8xi32>
  %sorted, %place = hk.sort_by_key %flat bins 8 block 32 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 32 : tensor<8xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %last = tensor.extract_slice %blocks[8] [1] [1] : tensor<9xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts8_top4_block128(%ids: tensor<?x4xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 128 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<8xi32>
  %sorted, %place = hk.sort_by_key %flat bins 8 block 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 128 : tensor<8xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %last = tensor.extract_slice %blocks[8] [1] [1] : tensor<9xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts60_top4(%ids: tensor<?x4xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 64 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<60xi32>
  %sorted, %place = hk.sort_by_key %flat bins 60 block 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 64 : tensor<60xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<61xi32>
  %last = tensor.extract_slice %blocks[60] [1] [1] : tensor<61xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts128_top4(%ids: tensor<?x4xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 64 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<128xi32>
  %sorted, %place = hk.sort_by_key %flat bins 128 block 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 64 : tensor<128xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<129xi32>
  %last = tensor.extract_slice %blocks[128] [1] [1] : tensor<129xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
func.func @experts256_top8(%ids: tensor<?x8xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 64 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x8xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<256xi32>
  %sorted, %place = hk.sort_by_key %flat bins 256 block 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 64 : tensor<256xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<257xi32>
  %last = tensor.extract_slice %blocks[256] [1] [1] : tensor<257xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
// Two experts that all tokens share stand behind the eight that are routed to.
func.func @shared_experts(%ids: tensor<?x3xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x3xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<10xi32>
  %sorted, %place = hk.sort_by_key %flat bins 10 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<10xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<11xi32>
  %last = tensor.extract_slice %blocks[10] [1] [1] : tensor<11xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %experts, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
// All experts are sorted; then the blocks of those on other devices are marked with -1.
func.func @map_of_blocks(%ids: tensor<?x2xi32>, %own: tensor<16xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1xi32>) {
  %block = hk.constant 16 : tensor<1xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<16xi32>
  %sorted, %place = hk.sort_by_key %flat bins 16 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<16xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<17xi32>
  %zero = hk.constant 0 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %used = hk.compare ge %experts, %zero : tensor<?xi32>, tensor<i32> -> tensor<?xi1>
  %mapped = hk.gather_rows %own, %experts : tensor<16xi32>, tensor<?xi32> -> tensor<?xi32>
  %here = hk.select %used, %mapped, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %last = tensor.extract_slice %blocks[16] [1] [1] : tensor<17xi32> to tensor<1xi32>
  %total = hk.mul %last, %block : tensor<1xi32>
  return %sorted, %here, %total : tensor<?xi32>, tensor<?xi32>, tensor<1xi32>
}
