// Parts of q and k side by side, in one launch.
// HK-LAUNCHES: 1

func.func @cat(%q1: tensor<6x4x512xbf16>, %q2: tensor<6x4x64xbf16>, %k1: tensor<6x1x512xbf16>, %k2: tensor<6x1x64xbf16>) -> (tensor<6x4x576xbf16>, tensor<6x1x576xbf16>) {
  %q = hk.concat 2 (%q1, %q2) : tensor<6x4x512xbf16>, tensor<6x4x64xbf16> -> tensor<6x4x576xbf16>
  %k = hk.concat 2 (%k1, %k2) : tensor<6x1x512xbf16>, tensor<6x1x64xbf16> -> tensor<6x1x576xbf16>
  return %q, %k : tensor<6x4x576xbf16>, tensor<6x1x576xbf16>
}
