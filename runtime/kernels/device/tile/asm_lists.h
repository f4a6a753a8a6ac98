//===- asm_lists.h - Operands of statements in assembler --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HK_LISTn(r, i): r(i), r(i + 1), ..., n of them, as the operands of a
// statement that has a register for each.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_TILE_ASM_LISTS_H
#define HK_KERNELS_DEVICE_TILE_ASM_LISTS_H

#define HK_LIST4(r, i) r(i), r(i + 1), r(i + 2), r(i + 3)
#define HK_LIST8(r, i) HK_LIST4(r, i), HK_LIST4(r, i + 4)
#define HK_LIST16(r, i) HK_LIST8(r, i), HK_LIST8(r, i + 8)
#define HK_LIST32(r, i) HK_LIST16(r, i), HK_LIST16(r, i + 16)
#define HK_LIST64(r, i) HK_LIST32(r, i), HK_LIST32(r, i + 32)
#define HK_LIST20(r, i) HK_LIST16(r, i), HK_LIST4(r, i + 16)
#define HK_LIST40(r, i) HK_LIST32(r, i), HK_LIST8(r, i + 32)
#define HK_LIST48(r, i) HK_LIST32(r, i), HK_LIST16(r, i + 32)
#define HK_LIST80(r, i) HK_LIST64(r, i), HK_LIST16(r, i + 64)
#define HK_LIST96(r, i) HK_LIST64(r, i), HK_LIST32(r, i + 64)
#define HK_LIST128(r, i) HK_LIST64(r, i), HK_LIST64(r, i + 64)

#endif // HK_KERNELS_DEVICE_TILE_ASM_LISTS_H
