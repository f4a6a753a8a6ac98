"""Elements of tables with more dims than what is gathered, of which some have one element."""

import hk
import numpy as np

SOURCE = """
func.func @f(%t: tensor<1x9xf32> {hk.name = "t"}, %i: tensor<i32> {hk.name = "i"},
             %j: tensor<7xi32> {hk.name = "j"}) -> (tensor<7xf32> {hk.name = "y"}) {
  %y = hk.gather_elements %t[%i, %j]
      : tensor<1x9xf32>[tensor<i32>, tensor<7xi32>] -> tensor<7xf32>
  return %y : tensor<7xf32>
}
"""


def test_table_of_one_row(tmp_path):
    path = tmp_path / "f.mlir"
    path.write_text(SOURCE)
    table = np.arange(9, dtype=np.float32)[None]
    places = np.array([8, 0, 3, 3, 9, -1, 1], np.int32)
    got = hk.load(hk.compile(path), threads=1).f(table, np.array(0, np.int32), places)
    np.testing.assert_array_equal(got.y.numpy(), [8, 0, 3, 3, 0, 0, 1])
