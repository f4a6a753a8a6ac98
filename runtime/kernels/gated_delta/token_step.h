//===- token_step.h - One token of the gated delta rule -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a thread needs of a token, and what it makes of its part of the state.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_TOKEN_STEP_H
#define HK_KERNELS_GATED_DELTA_TOKEN_STEP_H

#include "kernels/gated_delta/state.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct TokenStep {
  using State = HeadState<S, TILE>;
  using Columns = typename State::Columns;
  using Keys = typename State::Keys;
  using Place = typename State::Place;
  static constexpr int kSteps = State::kSteps;

  struct Token {
    Keys q[kSteps], k[kSteps], keyDecay[S.hasKeyDecay ? kSteps : 1];
    Columns v, beta, valueDecay;
    float decay;
  };

  template <class Io>
  HK_MEM static Token load(const TokenSpan &span, i64 t, i64 head, Place at,
                           const Io &io) {
    i64 keyHead = head / (S.valueHeads / S.heads);
    Token x = {};
    HK_UNROLL for (int r = 0; r < kSteps; ++r) if (at.has(r)) {
      x.q[r] = io.query(span.batch, t, keyHead, at.key(r));
      x.k[r] = io.key(span.batch, t, keyHead, at.key(r));
      if constexpr (S.hasKeyDecay)
        x.keyDecay[r] = io.keyDecay(span.batch, t, head, at.key(r));
    }
    x.beta = 1.f;
    if (at.valid) {
      x.v = io.value(span.batch, t, head, at.value);
      if constexpr (S.hasValueDecay)
        x.valueDecay = io.valueDecay(span.batch, t, head, at.value);
      if constexpr (S.betaPerValue)
        x.beta = io.beta(span.batch, t, head, at.value);
    }
    if constexpr (S.hasBeta && !S.betaPerValue)
      x.beta = Columns(io.beta(span.batch, t, head));
    if constexpr (S.hasDecay)
      x.decay = io.decay(span.batch, t, head);
    return x;
  }

  HK_MEM static Columns step(State &state, Token &x) {
    constexpr int vec = State::kVec, columns = State::kColumns;
    if constexpr (S.normalises) {
      normalise(x.q);
      normalise(x.k);
    }
    if constexpr (S.hasDecay) {
      float e = exp<1>(Vec<float, 1>(x.decay))[0];
      HK_UNROLL for (int i = 0; i < kSteps * vec; ++i) state.s[i] *= e;
    }
    if constexpr (S.hasKeyDecay)
      HK_UNROLL for (int r = 0; r < kSteps; ++r) {
        Keys e = exp<vec>(x.keyDecay[r]);
        HK_UNROLL for (int w = 0; w < vec; ++w) state.s[r * vec + w] *= e[w];
      }
    if constexpr (S.hasValueDecay) {
      Columns e = exp<columns>(x.valueDecay);
      HK_UNROLL for (int i = 0; i < kSteps * vec; ++i) state.s[i] *= e;
    }
    Columns d = x.v;
    if constexpr (S.corrects)
      d -= state.dot(x.k);
    d *= x.beta;
    state.add(x.k, d);
    HK_UNROLL for (int r = 0; r < kSteps; ++r) x.q[r] *= S.scale;
    return state.dot(x.q);
  }

private:
  HK_MEM static void normalise(Keys (&x)[kSteps]) {
    Keys squares = 0;
    HK_UNROLL for (int r = 0; r < kSteps; ++r) squares =
        fma<State::kVec>(x[r], x[r], squares);
    float sum[1] = {reduceVec<Sum, State::kVec>(squares)};
    reduceLanes<Sum, 1, State::kLanes, kWave>(sum);
    float factor = rsqrtOf(sum[0] + S.epsilon);
    HK_UNROLL for (int r = 0; r < kSteps; ++r) x[r] *= factor;
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_TOKEN_STEP_H
