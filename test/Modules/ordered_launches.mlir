// A layer's experts with the product and the norm in front: runs of kernels that each need what
// the one in front makes are one launch on a GPU, whose later blocks wait. One launch zeroes the
// words in which blocks are counted. The host, where no block waits, has 8.
// HK-LAUNCHES: 8
// HK-DIMS: x.0=1 r.0=1
// HK-DIMS: x.0=7 r.0=7
// HK-DIMS: x.0=70 r.0=70
// HK-DIMS: x.0=600 r.0=600
// HK-DIMS: x.0=0 r.0=0

func.func @experts(%x: tensor<?x48xbf16> {hk.name = "x", hk.dims = ["T", "_"]}, %r: tensor<?x64xbf16> {hk.name = "r", hk.dims = ["T", "_"]}, %wo: tensor<64x48xbf16> {hk.name = "wo"}, %g: tensor<64xbf16> {hk.name = "g"}, %wr: tensor<8x64xbf16> {hk.name = "wr"}, %up: tensor<8x96x64xbf16> {hk.name = "up"}, %down: tensor<8x64x48xbf16> {hk.name = "down"}, %bias: tensor<8xbf16> {hk.name = "bias"}, %sg: tensor<48x64xbf16> {hk.name = "sg"}, %su: tensor<48x64xbf16> {hk.name = "su"}, %sd: tensor<64x48xbf16> {hk.name = "sd"}) -> (tensor<?x64xbf16> {hk.name = "y"}, tensor<?x64xbf16> {hk.name = "z"}) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %r, %c0 : tensor<?x64xbf16>
  %k = arith.constant 2 : index
  %tk = arith.muli %k, %t : index
  %wrf = hk.cast %wr : tensor<8x64xbf16> -> tensor<8x64xf32>
  %l0_o = hk.matmul %x, %wo transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %l0_a = hk.add %r, %l0_o : tensor<?x64xbf16>
  %l0_n = hk.rms_norm %l0_a, %g epsilon 1.0e-06 round_before_weight : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  %l0_nf = hk.cast %l0_n : tensor<?x64xbf16> -> tensor<?x64xf32>
  %l0_rt = hk.matmul %l0_nf, %wrf transpose_b : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  %l0_s = hk.sigmoid %l0_rt : tensor<?x8xf32>
  %l0_sb = hk.add %l0_s, %bias : tensor<?x8xf32>, tensor<8xbf16> -> tensor<?x8xf32>
  %l0_gl = hk.group_limit top2_sum %l0_sb groups 4 top_groups 2 : tensor<?x8xf32>
  %l0_tk, %l0_ch = hk.topk %l0_gl : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %l0_w0 = hk.gather_last %l0_s, %l0_ch : tensor<?x8xf32>, tensor<?x2xi32> -> tensor<?x2xf32>
  %l0_ws = hk.reduce sum %l0_w0 : tensor<?x2xf32> -> tensor<?x1xf32>
  %l0_w = hk.div %l0_w0, %l0_ws : tensor<?x2xf32>, tensor<?x1xf32> -> tensor<?x2xf32>
  %l0_ex = tensor.collapse_shape %l0_ch [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %l0_hi = hk.histogram %l0_ex : tensor<?xi32> -> tensor<8xi32>
  %l0_or, %l0_pl = hk.sort_by_key %l0_ex bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %l0_bo = hk.cumsum offsets %l0_hi : tensor<8xi32> -> tensor<9xi32>
  %l0_gu = hk.grouped_matmul %l0_n, %up bounds %l0_bo order %l0_or transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x96x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x96xbf16>
  %l0_g1 = tensor.extract_slice %l0_gu[0, 0] [%tk, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %l0_g2 = tensor.extract_slice %l0_gu[0, 48] [%tk, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %l0_si = hk.silu %l0_g1 : tensor<?x48xbf16>
  %l0_m = hk.mul %l0_si, %l0_g2 : tensor<?x48xbf16>
  %l0_d = hk.grouped_matmul %l0_m, %down bounds %l0_bo transpose_b : tensor<?x48xbf16>, tensor<8x64x48xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %l0_p2 = tensor.expand_shape %l0_pl [[0, 1]] output_shape [%t, 2] : tensor<?xi32> into tensor<?x2xi32>
  %l0_i0 = tensor.extract_slice %l0_p2[0, 0] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %l0_ga0 = hk.gather_rows %l0_d, %l0_i0 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %l0_we0 = tensor.extract_slice %l0_w[0, 0] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %l0_mu0 = hk.mul %l0_ga0, %l0_we0 : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  %l0_i1 = tensor.extract_slice %l0_p2[0, 1] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %l0_ga1 = hk.gather_rows %l0_d, %l0_i1 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %l0_we1 = tensor.extract_slice %l0_w[0, 1] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %l0_mu1 = hk.mul %l0_ga1, %l0_we1 : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  %l0_ac1 = hk.add %l0_mu0, %l0_mu1 : tensor<?x64xf32>
  %l0_c = hk.cast %l0_ac1 : tensor<?x64xf32> -> tensor<?x64xbf16>
  %l0_s1 = hk.matmul %l0_n, %sg transpose_b : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %l0_s2 = hk.silu %l0_s1 : tensor<?x48xbf16>
  %l0_s3 = hk.matmul %l0_n, %su transpose_b : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %l0_s4 = hk.mul %l0_s2, %l0_s3 : tensor<?x48xbf16>
  %l0_s5 = hk.matmul %l0_s4, %sd transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %l0_s6 = hk.add %l0_c, %l0_s5 : tensor<?x64xbf16>
  %l0_h = hk.add %l0_a, %l0_s6 : tensor<?x64xbf16>
  %z = hk.rms_norm %l0_h, %g epsilon 1.0e-06 round_before_weight : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  return %l0_h, %z : tensor<?x64xbf16>, tensor<?x64xbf16>
}
