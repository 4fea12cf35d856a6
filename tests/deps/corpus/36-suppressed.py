# needs: numpy
from contextlib import suppress

import numpy

with suppress(ImportError):
    import numba

print(numpy.pi)
