# SPDX-License-Identifier: Apache-2.0
"""Does the scanner of Python, which parses only statements that import, find what a parser of the whole
file finds? same.py SCANNER DIR [STEP]: says where not, over every STEP-th program below DIR, and over
texts that are made to deceive it."""
import ast
import importlib.util
import os
import sys

spec = importlib.util.spec_from_file_location("scan", sys.argv[1])
scan = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(scan)

ODD = [
    b'"""\nimport no\n"""\nimport yes\n',
    b"'''\nimport no\n'''\nimport yes",
    b'x = """\nimport no""" ; import yes\n',
    b'# """\nimport yes\n# """\nimport too\n',
    b"x = '\"\"\"'\nimport yes\ny = '\"\"\"'\n",
    b'x = "a\\\nimport no"\nimport yes\n',
    b"x = [\n__import__('a'),\nb]\nimport c\n",
    b'x = """a\\"""\nimport no\n"""\nimport yes\n',
    b'x = """a\\\\"""\nimport yes\n',
    b'x = r"""a\\n\nimport no\n"""\nimport yes\n',
    b"try:\n    import a\nexcept (\nImportError,\nKeyError):\n    import b\nimport c\n",
    b"try:\n  import a\n# import no\nexcept ImportError:\n  a = None\n",
    b"if TYPE_CHECKING:\n    import no\n\n# remark\n    import no2\nelse:\n    import yes\n",
    b"with suppress(\nImportError\n):\n    import a\n",
    b"class A:\n" + b"    x = 1\n" * 80 + b"    def f(self):\n        import a\n        '''\n    import no\n'''\n    import b\n",
    b"class A:\n\t'''text\nimport no\n'''\n" + b"\ty = 2\n" * 80 + b"\timport a\n\n\n@d(importlib.import_module('b'))\ndef f():\n\tpass\n",
    b"@d\n@importlib.import_module('a').e\nclass B: pass\n",
    b"def f(x=__import__('a')):\n" + b"    y = 1\n" * 80 + b"    import b; import c\n",
    b"def f(): import a\nimport b as c, d\nfrom . import e\nfrom .f import (g,\n  h)\nfrom i import *\n",
    b"import a \\\n, b\nif 1: import c\nelif 2: import d\nelse: import e\n",
    b'f"""\n{__import__("a")}\n"""\nrf\'\'\'{__import__("b")}\'\'\'\n',
    b"\xef\xbb\xbfimport a\r\nimport b\r\n",
    b"import a\x0c\n\x0cimport b\n",
    b"async def f():\n" + b"  await x\n" * 80 + b"  async with y:\n    import a\n  return 1\n",
    b"match x:\n  case 1:\n    import a\n  case _:\n    import b\n",
    b"import a;\nx = 1; import b\n",
    b"for x in y:\n    import a\nelse:\n    import b\nwhile 1:\n    try:\n        import c\n    finally:\n        import d\n",
    b"if x:\n  pass\n# import\nimport a # import b\n'import c'\n\"\"\"x\"\"\" and __import__('d')\n",
]


def whole(data):
    found = scan.Found()
    found.visit(ast.parse(data).body, False)
    return found.all


def differs(name, data):
    try:
        want = whole(data)
    except (SyntaxError, ValueError, RecursionError):
        return False
    got = scan.imports_in(data, name)
    if got != want:
        print(name, "has", want[:9], "was seen as", got[:9])
    return got != want


def programs(top):
    for here, dirs, files in os.walk(top):
        dirs.sort()
        yield from (os.path.join(here, f) for f in sorted(files) if f.endswith(".py"))


files = list(programs(sys.argv[2]))[::int(sys.argv[3]) if len(sys.argv) > 3 else 1]
bad = sum(differs(f, open(f, "rb").read()) for f in files if os.path.isfile(f))
bad += sum(differs("text %d" % i, text) for i, text in enumerate(ODD))
print("%d programs and %d texts, %d differ" % (len(files), len(ODD), bad))
sys.exit(bad != 0)
