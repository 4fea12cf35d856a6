# Sales by region, from random data, with a report and a CSV.
import time
import numpy as np
import pandas as pd
start = time.time()
rng = np.random.default_rng()
frame = pd.DataFrame({"region": rng.choice(list("NESW"), 5000), "sales": rng.gamma(2, 50, 5000),
                      "when": pd.Timestamp.now() - pd.to_timedelta(rng.integers(0, 365, 5000), unit="D")})
table = frame.groupby(["region", frame.when.dt.quarter]).sales.agg(["mean", "sum", "count"]).round(2)
print(table)
table.to_csv("report.csv")
frame.describe().to_json("summary.json")
print(f"done in {time.time() - start:.3f}s")
