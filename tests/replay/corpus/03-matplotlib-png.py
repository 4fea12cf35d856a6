import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 200)
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(x, np.sin(x) + np.random.normal(0, .1, x.size))
axes[1].hist(np.random.randn(1000), bins=30)
fig.savefig("plot.png")
print("saved")
