# needs: PyYAML lxml
import importlib

loaders = {"yaml": importlib.import_module("yaml"), "xml": __import__("lxml.etree")}
print(importlib.import_module("json").dumps(list(loaders)))
