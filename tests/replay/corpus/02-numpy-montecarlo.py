# Pi by chance, and a linear system.
import numpy as np
points = np.random.rand(200000, 2)
print("pi is about", 4 * np.mean((points ** 2).sum(axis=1) < 1))
a = np.random.default_rng().normal(size=(60, 60))
values, vectors = np.linalg.eig(a)
print(np.sort(values.real)[:5], np.linalg.det(a))
np.save("vectors.npy", vectors)
