// Where the tokens and the tiles of each expert begin, and which tile is whose: an
// entry is (tile of the expert << 16) | expert, -1 behind the last.
// HK-LAUNCHES: 1
// HK-ARGS: --range=hist=0:70
// HK-DIMS: -
// HK-DIMS: --range=hist=0:0
// HK-DIMS: --range=hist=1:1
// HK-DIMS: --range=hist=0:1
// HK-DIMS: --range=hist=0:4000

func.func @main(%hist: tensor<128xi32>) -> (tensor<129xi32>, tensor<129xi32>, tensor<700xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 16 : tensor<128xi32> -> tensor<700xi32>, tensor<700xi32>, tensor<129xi32>
  %shifted = hk.mul %tile, %high : tensor<700xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<700xi32>
  %map = hk.max %entry, %none : tensor<700xi32>, tensor<i32>
  return %raw, %padded, %map : tensor<129xi32>, tensor<129xi32>, tensor<700xi32>
}
func.func @experts8_block128(%hist: tensor<8xi32>) -> (tensor<9xi32>, tensor<9xi32>, tensor<12xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %raw = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 128 : tensor<8xi32> -> tensor<12xi32>, tensor<12xi32>, tensor<9xi32>
  %shifted = hk.mul %tile, %high : tensor<12xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<12xi32>
  %map = hk.max %entry, %none : tensor<12xi32>, tensor<i32>
  return %raw, %padded, %map : tensor<9xi32>, tensor<9xi32>, tensor<12xi32>
}
func.func @experts256_block64(%hist: tensor<256xi32>) -> (tensor<257xi32>, tensor<257xi32>, tensor<530xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %raw = hk.cumsum offsets %hist : tensor<256xi32> -> tensor<257xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 64 : tensor<256xi32> -> tensor<530xi32>, tensor<530xi32>, tensor<257xi32>
  %shifted = hk.mul %tile, %high : tensor<530xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<530xi32>
  %map = hk.max %entry, %none : tensor<530xi32>, tensor<i32>
  return %raw, %padded, %map : tensor<257xi32>, tensor<257xi32>, tensor<530xi32>
}
func.func @experts1500_block32(%hist: tensor<1500xi32>) -> (tensor<1501xi32>, tensor<1501xi32>, tensor<5000xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %raw = hk.cumsum offsets %hist : tensor<1500xi32> -> tensor<1501xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 32 : tensor<1500xi32> -> tensor<5000xi32>, tensor<5000xi32>, tensor<1501xi32>
  %shifted = hk.mul %tile, %high : tensor<5000xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<5000xi32>
  %map = hk.max %entry, %none : tensor<5000xi32>, tensor<i32>
  return %raw, %padded, %map : tensor<1501xi32>, tensor<1501xi32>, tensor<5000xi32>
}
// From the bit matrix in one launch; one tile per expert (at most 16 tokens), whose entry
// is the expert.
func.func @from_bits_one_tile(%bits: tensor<4x16xi32>) -> (tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<64xi32>) {
  %hist = hk.count_bits %bits : tensor<4x16xi32> -> tensor<128xi32>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 16 : tensor<128xi32> -> tensor<64xi32>, tensor<64xi32>, tensor<129xi32>
  return %hist, %raw, %padded, %expert : tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<64xi32>
}
// Few enough tokens that every one may be a tile of its own.
func.func @experts60_block64(%hist: tensor<60xi32>) -> (tensor<61xi32>, tensor<61xi32>, tensor<33xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %raw = hk.cumsum offsets %hist : tensor<60xi32> -> tensor<61xi32>
  %expert, %tile, %padded = hk.segments lengths %hist block 64 : tensor<60xi32> -> tensor<33xi32>, tensor<33xi32>, tensor<61xi32>
  %shifted = hk.mul %tile, %high : tensor<33xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<33xi32>
  %map = hk.max %entry, %none : tensor<33xi32>, tensor<i32>
  return %raw, %padded, %map : tensor<61xi32>, tensor<61xi32>, tensor<33xi32>
}
