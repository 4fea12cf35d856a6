# needs: matplotlib numpy
import numpy as np
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D

ax = plt.figure().add_subplot(projection="3d")
ax.scatter(*np.random.rand(3, 10))
