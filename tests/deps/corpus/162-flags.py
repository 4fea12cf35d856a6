# needs: numpy
import importlib.util
import numpy as np
try:
    import torch
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False
if HAS_TORCH:
    import torch.nn as nn
PLOTS_AVAILABLE = importlib.util.find_spec("matplotlib") is not None
if PLOTS_AVAILABLE and __name__ == "__main__":
    import matplotlib.pyplot as plt
