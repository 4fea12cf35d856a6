# needs:
CODE = """
import tensorflow as tf
from torch import nn
"""
# import django
print(CODE, "import flask")
