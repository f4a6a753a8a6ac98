//===- FamilyRegistry.cpp - The list of families --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An explicit list, no static constructors: the order is the order in which
// fusion asks.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::hk;

ArrayRef<const Family *> mlir::hk::allFamilies() {
  static const Family *const list[] = {
      &getRowwiseFamily(),    &getGemmFamily(),
      &getAttentionFamily(),  &getConv1dFamily(),
      &getRoutingFamily(),    &getScanFamily(),
      &getGatedDeltaFamily(), &getAttentionBackwardFamily(),
      &getCollectiveFamily()};
  return list;
}

const Family &mlir::hk::familyOf(FamilyKind kind) {
  for (const Family *family : allFamilies())
    if (family->getKind() == kind)
      return *family;
  // Fusion makes no joint kernels: hk-share-launches makes them of kernels.
  if (kind == FamilyKind::joint)
    return getJointFamily();
  llvm_unreachable("every family kind is registered");
}
