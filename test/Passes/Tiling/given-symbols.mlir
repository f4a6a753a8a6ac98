// The dim symbols of a kernel keep their numbers, whatever operand has them first: a problem of a
// joint kernel has those of the joint one. The grid is of the second symbol.
// RUN: hk-opt %s --hk-select-tiles | FileCheck %s

module attributes {hk.target = #hk.target<"gfx942">} {
  // CHECK: hk.variant @v0
  // CHECK: ^bb0(%{{.*}}: index, %[[ROWS:.*]]: index):
  // CHECK: %[[GRID:.*]] = arith.ceildivui %[[ROWS]],
  // CHECK: hk.launch_dims if %{{.*}} grid(%[[GRID]],
  hk.kernel @gather rowwise inputs 2 shapes [#hk.shape<[d1]>, #hk.shape<[d0, 64]>, #hk.shape<[d1, 64]>] aligns [16, 16, 16] {
    hk.spec {
    ^bb0(%rows: tensor<?xi32>, %table: tensor<?x64xbf16>, %out: tensor<?x64xbf16>):
      %y = hk.gather_rows %table, %rows : tensor<?x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
      hk.yield %y : tensor<?x64xbf16>
    }
  }
  // No operand has the first symbol.
  // CHECK: hk.variant @v0
  // CHECK: ^bb0(%{{.*}}: index, %[[ROWS:.*]]: index):
  // CHECK: %[[GRID:.*]] = arith.ceildivui %[[ROWS]],
  // CHECK: hk.launch_dims if %{{.*}} grid(%[[GRID]],
  hk.kernel @silu rowwise inputs 1 shapes [#hk.shape<[d1, 64]>, #hk.shape<[d1, 64]>] aligns [16, 16] {
    hk.spec {
    ^bb0(%x: tensor<?x64xbf16>, %out: tensor<?x64xbf16>):
      %y = hk.silu %x : tensor<?x64xbf16>
      hk.yield %y : tensor<?x64xbf16>
    }
  }
}
