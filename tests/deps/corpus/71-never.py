# needs: requests numpy pandas
import requests as r; import numpy as np
class A:
    def f(self):
        try:
            import cupy as cp
        except ImportError:
            cp = np
        return cp
try:
    import cudf as pd
except Exception as e:
    try:
        import modin.pandas as pd
    except ImportError:
        import pandas as pd
if False:
    import never
if 0: import never3
