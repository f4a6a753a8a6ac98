// RUN: not hk-opt %s --hk-split 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not hk-opt %s --hk-assign-target=target=host --hk-split=keys=-2 2>&1 | FileCheck %s --check-prefix=OPTION

// TARGET: error: module has no target; run hk-assign-target
// OPTION: error: expected option 'keys' of hk-split to be 0 (by cost), 1 (never) or a number of slices, but got -2
module {}
