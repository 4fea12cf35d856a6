# needs: numpy
try:
    import cupy as xp
except ImportError:
    import numpy as xp
print(xp.zeros(3))
