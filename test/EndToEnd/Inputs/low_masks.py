# ===- low_masks.py - Values of 1 have a mean of 1 -------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `low_masks.py DIR` writes values of 1 and masks, of which each hides all keys of some
# queries; `low_masks.py DIR RESULT...` says whether all results are 1, too. A row of
# probabilities is divided by its sum, so only the roundings to f16 keep it from 1.
import sys

import numpy as np

folder, *results = sys.argv[1:]
if results:
    for name in results:
        o = np.load(f"{folder}/{name}/o.npy").astype(np.float64)
        print(name, "differs from 1 by at most 2^-9:", bool((abs(o - 1) <= 2**-9).all()))
else:
    lowest = np.finfo(np.float32).min
    hidden = np.random.default_rng(7).random((64, 70)) < 0.5
    hidden[::3] = True
    np.save(f"{folder}/mask.npy", np.where(hidden, lowest, 0).astype(np.float32))
    np.save(f"{folder}/ones.npy", np.ones((1, 70, 2, 64), np.float16))
    np.save(f"{folder}/narrow.npy", np.ones((1, 70, 2, 33), np.float32))
