// Few rows times 4-bit weights beside bf16 weights, on an H200:
// hk-compile --target=sm_90a -o codes.so, then for M of 1, 16, 32, 64 and 96
// hk-run codes.so --function=w4 --device=cuda:0 --bench=40 --cold=120000000
//   --times=t.json --dim=x.0=M --range=w=0:7 --range=z=0:7
func.func @w4(%x: tensor<?x4096xbf16> {hk.name = "x"}, %w: tensor<28672x4096xui4> {hk.name = "w"}, %s: tensor<28672x32xbf16> {hk.name = "s"}, %z: tensor<28672x32xui4> {hk.name = "z"}) -> tensor<?x28672xbf16> {
  %b = hk.dequantize %w, %s, %z group 128 : tensor<28672x4096xui4>, tensor<28672x32xbf16>, tensor<28672x32xui4> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %b transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %y : tensor<?x28672xbf16>
}
func.func @mx4(%x: tensor<?x4096xbf16> {hk.name = "x"}, %w: tensor<28672x4096xf4E2M1FN> {hk.name = "w"}, %s: tensor<28672x128xf8E8M0FNU> {hk.name = "s"}) -> tensor<?x28672xbf16> {
  %d = hk.dequantize %w, %s : tensor<28672x4096xf4E2M1FN>, tensor<28672x128xf8E8M0FNU> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %y : tensor<?x28672xbf16>
}
func.func @w16(%x: tensor<?x4096xbf16> {hk.name = "x"}, %w: tensor<28672x4096xbf16> {hk.name = "w"}) -> tensor<?x28672xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %y : tensor<?x28672xbf16>
}
