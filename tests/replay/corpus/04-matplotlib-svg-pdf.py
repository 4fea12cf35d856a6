import datetime
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
fig, ax = plt.subplots()
ax.bar(["a", "b", "c"], [3, 1, 2])
ax.set_title(f"as of {datetime.datetime.now():%Y-%m-%d %H:%M:%S}")
fig.savefig("bars.svg")
fig.savefig("bars.pdf")
