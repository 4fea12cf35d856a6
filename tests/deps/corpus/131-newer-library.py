# needs: tomli
import sys
if sys.version_info >= (3, 99):
    import tomllib
else:
    import tomli as tomllib
