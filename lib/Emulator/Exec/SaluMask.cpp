//===- SaluMask.cpp - Scalar moves, bitwise operations and EXEC -----------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that treat SGPRs as lane masks, with exact definedness.
//
//===----------------------------------------------------------------------===//

#include "Scalar.h"

namespace hk::emu {
namespace {

// --- bitwise, with exact definedness ---
struct And {
  static Scalar f(Scalar a, Scalar b) {
    return {a.value & b.value, (a.defined & b.defined) |
                                   (a.defined & ~a.value) |
                                   (b.defined & ~b.value)};
  }
};
struct Or {
  static Scalar f(Scalar a, Scalar b) {
    return {a.value | b.value, (a.defined & b.defined) | (a.defined & a.value) |
                                   (b.defined & b.value)};
  }
};
struct Xor {
  static Scalar f(Scalar a, Scalar b) {
    return {a.value ^ b.value, a.defined & b.defined};
  }
};
Scalar invert(Scalar a) { return {~a.value, a.defined}; }
struct AndN2 {
  static Scalar f(Scalar a, Scalar b) { return And::f(a, invert(b)); }
};
struct OrN2 {
  static Scalar f(Scalar a, Scalar b) { return Or::f(a, invert(b)); }
};
struct AndN1 {
  static Scalar f(Scalar a, Scalar b) { return And::f(invert(a), b); }
};
struct OrN1 {
  static Scalar f(Scalar a, Scalar b) { return Or::f(invert(a), b); }
};
struct Nand {
  static Scalar f(Scalar a, Scalar b) { return invert(And::f(a, b)); }
};
struct Nor {
  static Scalar f(Scalar a, Scalar b) { return invert(Or::f(a, b)); }
};
struct Xnor {
  static Scalar f(Scalar a, Scalar b) { return invert(Xor::f(a, b)); }
};

/// SCC = result is not zero; defined if some defined bit is set, or all are.
void setSccNonZero(Wave &w, Scalar r, bool wide) {
  uint64_t mask = wide ? ~0ull : 0xffffffffull;
  w.scc = (r.value & mask) != 0;
  w.sccDefined =
      (r.value & r.defined & mask) != 0 || (r.defined & mask) == mask;
}

template <class B, bool Wide> void bitwise(Wave &w, const Inst &inst) {
  Scalar r =
      B::f(readScalar(w, inst.o[1], Wide), readScalar(w, inst.o[2], Wide));
  writeScalar(w, inst, inst.o[0], Wide, r.value, r.defined);
  setSccNonZero(w, r, Wide);
}

/// D = EXEC; EXEC = op(S0, EXEC).
template <class B> void saveExec(Wave &w, const Inst &inst) {
  Scalar a = readScalar(w, inst.o[1], true);
  uint64_t old = w.exec;
  Scalar r = B::f(a, {old, ~0ull});
  w.setS64(inst.o[0].reg, old);
  Operand exec;
  exec.reg = kExecLo;
  writeScalar(w, inst, exec, true, r.value, ~0ull);
  if (w.checks && r.defined != ~0ull)
    w.reportUndefined(inst, __builtin_ctzll(~r.defined), 0,
                      "a bit of the lane mask written to EXEC");
  setSccNonZero(w, {r.value, ~0ull}, true);
}

/// D = EXEC = op(S0, EXEC).
template <class B> void writeExec(Wave &w, const Inst &inst) {
  Scalar r = B::f(readScalar(w, inst.o[1], true), {w.exec, ~0ull});
  w.setS64(kExecLo, r.value);
  w.setS64(inst.o[0].reg, r.value, r.defined);
  setSccNonZero(w, r, true);
}

template <bool Wide> void move(Wave &w, const Inst &inst) {
  Scalar a = readScalar(w, inst.o[1], Wide);
  writeScalar(w, inst, inst.o[0], Wide, a.value, a.defined);
}
template <bool Wide> void notOp(Wave &w, const Inst &inst) {
  Scalar r = invert(readScalar(w, inst.o[1], Wide));
  writeScalar(w, inst, inst.o[0], Wide, r.value, r.defined);
  setSccNonZero(w, r, Wide);
}
template <bool Wide> void condMove(Wave &w, const Inst &inst) {
  if (w.scc)
    move<Wide>(w, inst);
}
template <bool Wide> void condSelect(Wave &w, const Inst &inst) {
  Scalar r = readScalar(w, inst.o[w.scc ? 1 : 2], Wide);
  writeScalar(w, inst, inst.o[0], Wide, r.value, w.sccDefined ? r.defined : 0);
}

template <class B> void addBitwise(OpTable &t, const std::string &name) {
  Op op;
  op.cls = InstClass::Salu;
  op.fn = bitwise<B, false>;
  t.add("s_" + name + "_b32", op);
  op.fn = bitwise<B, true>;
  op.types[1] = op.types[2] = Type::B64;
  t.add("s_" + name + "_b64", op);
}

template <class B> void addSaveExec(OpTable &t, const std::string &name) {
  Op op;
  op.cls = InstClass::Salu;
  op.fn = saveExec<B>;
  op.types[1] = Type::B64;
  t.add("s_" + name + "_saveexec_b64", op);
}

template <bool Set> void bitSet(Wave &w, const Inst &inst) {
  bool wide = inst.o[0].width == 2;
  Scalar d = readScalar(w, inst.o[0], wide);
  uint64_t bit =
      1ull << (readScalar(w, inst.o[1], false).value & (wide ? 63 : 31));
  writeScalar(w, inst, inst.o[0], wide, Set ? d.value | bit : d.value & ~bit,
              d.defined | bit);
}

} // namespace

void addSaluMask(OpTable &t) {
  addBitwise<And>(t, "and");
  addBitwise<Or>(t, "or");
  addBitwise<Xor>(t, "xor");
  addBitwise<AndN2>(t, "andn2");
  addBitwise<OrN2>(t, "orn2");
  addBitwise<Nand>(t, "nand");
  addBitwise<Nor>(t, "nor");
  addBitwise<Xnor>(t, "xnor");
  addSaveExec<And>(t, "and");
  addSaveExec<Or>(t, "or");
  addSaveExec<Xor>(t, "xor");
  addSaveExec<AndN2>(t, "andn2");
  addSaveExec<OrN2>(t, "orn2");
  addSaveExec<AndN1>(t, "andn1");
  addSaveExec<OrN1>(t, "orn1");
  addSaveExec<Nand>(t, "nand");
  addSaveExec<Nor>(t, "nor");
  addSaveExec<Xnor>(t, "xnor");
  addScalarOp(t, "s_andn1_wrexec_b64", writeExec<AndN1>, true);
  addScalarOp(t, "s_andn2_wrexec_b64", writeExec<AndN2>, true);
  addScalarOp(t, "s_mov_b32", move<false>, false);
  addScalarOp(t, "s_mov_b64", move<true>, true);
  addScalarOp(t, "s_cmov_b32", condMove<false>, false);
  addScalarOp(t, "s_cmov_b64", condMove<true>, true);
  addScalarOp(t, "s_cselect_b32", condSelect<false>, false);
  addScalarOp(t, "s_cselect_b64", condSelect<true>, true);
  addScalarOp(t, "s_not_b32", notOp<false>, false);
  addScalarOp(t, "s_not_b64", notOp<true>, true);
  addScalarOp(t, "s_bitset0_b32", bitSet<false>, false);
  addScalarOp(t, "s_bitset1_b32", bitSet<true>, false);
  addScalarOp(t, "s_bitset0_b64", bitSet<false>, false);
  addScalarOp(t, "s_bitset1_b64", bitSet<true>, false);
}

} // namespace hk::emu
