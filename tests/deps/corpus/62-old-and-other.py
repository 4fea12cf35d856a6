# needs:
import sys
if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
try:
    import simplejson as json
except ImportError:
    import json
try:
    from StringIO import StringIO
except ImportError:
    from io import StringIO
try:
    import zoneinfo
except ImportError:
    from backports import zoneinfo
if sys.platform == "win32":
    import winreg, win32api
