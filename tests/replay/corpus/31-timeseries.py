# SPDX-License-Identifier: Apache-2.0
"""A series of hours from now on: resampled, drawn, written in three formats."""
import matplotlib
import numpy as np
import pandas as pd
matplotlib.use("Agg")
import matplotlib.pyplot as plt

rng = np.random.default_rng()
index = pd.date_range(pd.Timestamp.now().normalize(), periods=200, freq="h")
frame = pd.DataFrame({"load": rng.normal(100, 15, 200).cumsum(), "temp": rng.random(200)}, index=index)
print(frame.resample("D").agg(["mean", "std", "max"]).to_string())
print(frame.rolling(12).corr().dropna().tail(4))
figure, axes = plt.subplots(2, 1)
frame.plot(subplots=True, ax=axes)
figure.savefig("series.png")
frame.to_csv("series.csv")
frame.to_pickle("series.pkl")
