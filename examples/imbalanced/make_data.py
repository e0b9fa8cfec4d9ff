"""Writes transactions.npz: made-up payments, of which about two in a hundred are frauds. `features` float32 [10000, 8], `label` int64 [10000].
Needs numpy: python3 make_data.py"""
import os

import numpy as np

ROWS, FEATURES, SHARE = 10000, 8, 0.02
random = np.random.default_rng(1)
label = (random.random(ROWS) < SHARE).astype(np.int64)
features = random.standard_normal((ROWS, FEATURES))
# Frauds come in two kinds, each with its own shift of some features, and a product of two others is larger among them.
first = random.random(ROWS) < 0.5
shift = np.where(first[:, None], [2.2, -1.8, 0, 0, 0, 0, 0.5, 0], [-1.8, 0, 2.4, 0, 0, 0, 0.5, 0])
features += label[:, None] * shift
features[:, 4] = np.where(label == 1, features[:, 3] * 0.7 + 0.7 * features[:, 4], features[:, 4])
# Amounts are skewed, as amounts are.
features[:, 7] = np.exp(1 + 0.8 * (features[:, 7] + 0.4 * label))
np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "transactions.npz"),
                    features=np.round(features, 2).astype(np.float32), label=label)
