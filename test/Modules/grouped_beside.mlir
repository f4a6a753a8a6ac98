// Products of groups of rows that share their launch with a product that needs nothing of
// them, as those of a shared expert beside the experts: groups by bounds, with the rows that
// an order names and a gate, by blocks of sorted ids, and along k. And a router beside the
// shared expert, whose few rows take blocks of fewer threads than many do.
// HK-LAUNCHES: 1
// HK-COMPILE: --split-k=1
// HK-DIMS: x.0=1 order.0=2 sorted.0=16 experts.0=1
// HK-DIMS: x.0=37 order.0=74 sorted.0=144 experts.0=9
// HK-DIMS: x.0=130 order.0=260 sorted.0=320 experts.0=20
// HK-DIMS: @router x.0=520
// HK-DIMS: x.0=0 order.0=0 sorted.0=0 experts.0=0
// HK-DATA: normal,huge,nan

func.func @bounds(%x: tensor<?x64xbf16>, %w: tensor<4x96x64xbf16>, %order: tensor<?xi32>, %offsets: tensor<5xi32>, %shared: tensor<80x64xbf16>) -> (tensor<?x48xbf16>, tensor<?x40xbf16>) {
  %h = hk.grouped_matmul %x, %w bounds %offsets order %order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<4x96x64xbf16> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x96xbf16>
  %g = hk.gated_activation silu %h : tensor<?x96xbf16> -> tensor<?x48xbf16>
  %s = hk.matmul %x, %shared transpose_b : tensor<?x64xbf16>, tensor<80x64xbf16> -> tensor<?x80xbf16>
  %a = hk.gated_activation silu %s : tensor<?x80xbf16> -> tensor<?x40xbf16>
  return %g, %a : tensor<?x48xbf16>, tensor<?x40xbf16>
}
func.func @blocks(%x: tensor<?x64xbf16>, %w: tensor<4x72x64xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>, %v: tensor<40x64xbf16>) -> (tensor<?x72xf32>, tensor<?x40xbf16>) {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x64xbf16>, tensor<4x72x64xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x72xf32>
  %z = hk.matmul %x, %v transpose_b : tensor<?x64xbf16>, tensor<40x64xbf16> -> tensor<?x40xbf16>
  return %y, %z : tensor<?x72xf32>, tensor<?x40xbf16>
}
func.func @along_k(%x: tensor<?x48xbf16> {hk.dims = ["T", "_"]}, %y: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %lengths: tensor<4xi32>, %v: tensor<40x48xbf16>) -> (tensor<4x48x72xbf16>, tensor<?x40xbf16>) {
  %d = hk.grouped_matmul %x, %y lengths %lengths along_k : tensor<?x48xbf16>, tensor<?x72xbf16> groups tensor<4xi32> -> tensor<4x48x72xbf16>
  %z = hk.matmul %x, %v transpose_b : tensor<?x48xbf16>, tensor<40x48xbf16> -> tensor<?x40xbf16>
  return %d, %z : tensor<4x48x72xbf16>, tensor<?x40xbf16>
}
func.func @router(%x: tensor<?x1024xbf16>, %r: tensor<32x1024xbf16>, %w: tensor<2048x1024xbf16>) -> (tensor<?x32xf32>, tensor<?x1024xbf16>) {
  %l = hk.matmul %x, %r transpose_b : tensor<?x1024xbf16>, tensor<32x1024xbf16> -> tensor<?x32xf32>
  %h = hk.matmul %x, %w transpose_b : tensor<?x1024xbf16>, tensor<2048x1024xbf16> -> tensor<?x2048xbf16>
  %g = hk.gated_activation silu %h : tensor<?x2048xbf16> -> tensor<?x1024xbf16>
  return %l, %g : tensor<?x32xf32>, tensor<?x1024xbf16>
}
