// RUN: hk-opt -hk-assign-target=target=gfx942 %s | FileCheck %s
// RUN: not hk-opt -hk-assign-target=target=gfx90a %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: module attributes {hk.target = #hk.target<"gfx942">}
// UNKNOWN: error: unknown target 'gfx90a'; the targets are host, gfx942, gfx950
module {
}
