# needs: numpy
import numpy as np
exec("import notreal")
eval("__import__('alsonot')")
s = """
import insidestring
"""
