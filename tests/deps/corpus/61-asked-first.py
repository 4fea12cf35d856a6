# needs: numpy redis orjson
import importlib, importlib.util
np = importlib.import_module("numpy")
la = importlib.import_module("numpy.linalg")
from importlib import import_module
r = import_module("redis")
m = __import__("orjson")
name = "whatever"; importlib.import_module(name)
if importlib.util.find_spec("rich") is not None:
    import rich
