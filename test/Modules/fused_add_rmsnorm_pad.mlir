// Residual kept in f32 before the norm, result padded with zeros to a multiple of 256.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=5
// HK-DIMS: x.0=0
// HK-DATA: normal,nan

func.func @add_norm_pad(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x3072xbf16>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16>, tensor<?x2880xbf16> -> tensor<?x2880xf32>
  %res = hk.cast %s : tensor<?x2880xf32> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xf32>, tensor<2880xbf16> -> tensor<?x2880xbf16>
  %p = hk.pad %y : tensor<?x2880xbf16> -> tensor<?x3072xbf16>
  return %p, %res : tensor<?x3072xbf16>, tensor<?x2880xbf16>
}
