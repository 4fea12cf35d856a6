# SPDX-License-Identifier: Apache-2.0
"""Routes and names of tools stand in the table of operations and nowhere else in src.

Comments may name them. So may the URL of an example in a help text, if the table has it."""
import pathlib
import re
import sys

SRC = pathlib.Path(sys.argv[1])
TABLES = (SRC / "api/ops.def", SRC / "mcp/tools.def")
STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
EXAMPLE = re.compile(r"http://127\.0\.0\.1:8787(/[a-z0-9/]*)")


def literals(path):
    """Line and text of each string; two that follow each other are one."""
    text = path.read_text()
    end, begun, parts = 0, 0, []
    for m in STRING.finditer(text):
        if m[1] is None:
            continue
        if parts and text[end:m.start()].strip():
            yield begun, "".join(parts)
            parts = []
        if not parts:
            begun = text.count("\n", 0, m.start()) + 1
        parts.append(m[1])
        end = m.end()
    if parts:
        yield begun, "".join(parts)


def main():
    tables = [t.read_text() for t in TABLES]
    paths = set(re.findall(r'\.path = "([^"]+)"', tables[0]))
    tools = set(re.findall(r'\.tool = "([^"]+)"', tables[1]))
    print("%sok 1 - the table has routes and tools" % ("" if len(paths) > 50 and len(tools) > 10 else "not "))
    # What no other text has: a version of the API, or a whole path of one word.
    begins = {p.split("/")[1] for p in paths if p.count("/") > 1}
    alone = {p for p in paths if p.count("/") == 1}
    route = re.compile(r"(?<![\w*])/(?:%s)/(?!\*)[a-z]" % "|".join(map(re.escape, begins - {"mcp"})))
    tool = re.compile(r"\b(?:%s)\b" % "|".join(tools))
    bad = []
    for path in sorted(SRC.rglob("*.[ch]")) + sorted(SRC.rglob("*.def")):
        if path in TABLES:
            continue
        for line, text in literals(path):
            for url in EXAMPLE.findall(text):
                if url not in paths:
                    bad.append("%s:%d: an example names %s, which is not there" % (path, line, url))
            text = EXAMPLE.sub("", text)
            if route.search(text) or tool.search(text) or text in alone:
                bad.append("%s:%d: \"%s\"" % (path, line, text[:80]))
    print("%sok 2 - and nobody else does" % ("not " if bad else ""))
    for line in bad:
        print("# " + line)
    print("1..2")
    return bool(bad)


sys.exit(main())
