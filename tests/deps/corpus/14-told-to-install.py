# needs: numpy
import sys

try:
    import numpy as np
except ImportError:
    print("install numpy first")
    sys.exit(1)

print(np.arange(3))
