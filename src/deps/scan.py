# SPDX-License-Identifier: Apache-2.0
"""Which modules do Python programs import? Runs inside a sandbox, on files that nobody trusts.

	python3 scan.py ROOT [[--maybe] FILE ...]
	python3 scan.py ROOT --text NAME [--all | [--maybe] FILE ...]

With --text a program is on standard input; NAME is what it is called. What follows is run beside it, --all: every program.

With FILEs (below ROOT), those and the local modules that they import; without, or where none of those that may be
meant is there, every program below ROOT. Prints one JSON document:

	{"language": "python", "version": "3.11", "files": 12,
	 "imports": [{"name": "cv2", "file": "a.py", "line": 3, "optional": false, "there": null, "near": null}],
	 "unread": [{"file": "b.py", "line": 9, "why": "invalid syntax"}]}

A name is the first part of a module's, but where packages share that (google.cloud.storage): then
as much as was written. `there` is the version of what has it installed already, "" where nobody
says; `near` a file of that name that lies elsewhere below ROOT, where the program may look for it (sys.path). Only
what is not of the standard library and not local is named, each name once: where it is
first needed. optional: every use is one that the program can do without (try/except ImportError, or
an else or a handler that imports something else, if find_spec()). Of several that stand in for each other the first
is needed where this Python has none of them. A program that says in itself what it needs (PEP 723) is believed: then
its imports are not listed but what it asks for, `asked` as it wrote it. What fails without a module that nobody
imports (scan_uses.py, which stands behind this) has `how`: what was called, or written.

Nothing of the files is executed: they are parsed by this interpreter's own parser.
"""
import ast
import bisect
import gc
import json
import operator
import os
import re
import stat
import sys

SKIP = {"node_modules", "__pycache__", "site-packages", "dist-packages", "venv", ".venv", "env", ".env",
        ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"}
# First parts that many packages share: the table of names decides by more of the name.
SHARED = {"google", "azure", "zope", "ruamel", "jaraco", "backports", "sphinxcontrib", "opentelemetry", "mpl_toolkits",
          "llama_index", "aws_cdk", "paste", "repoze", "plone", "snowflake", "databricks", "airflow", "infi", "pyannote",
          "luma", "autogluon", "PyQt5", "PyQt6", "coinbase", "fireworks", "ansys", "aspose", "botbuilder", "livekit",
          "spire", "fluent", "flufl", "hurry", "keyrings", "odc", "ripe", "sphinxext", "trulens", "wheezy"}
# Of these each package has two parts of the name: from zope.event import notify.
TWO = {"autogluon", "backports", "flufl", "hurry", "jaraco", "keyrings", "luma", "odc", "plone", "pyannote", "repoze", "ruamel",
       "sphinxcontrib", "sphinxext", "spire", "wheezy", "zope"}
# Modules that several packages have: what a program uses of one may tell which (rows with dots of the table).
TOLD = {"adapt", "agents", "alchemy", "baton", "beam", "binance", "bitcoin", "captcha", "cas", "colour", "concrete", "cv2", "dal",
        "defender", "discord", "edgar", "esm", "flask_bootstrap", "fuse", "haystack", "iso639", "jsonpath", "jwt", "kucoin", "liquid",
        "marker", "phi", "pubsub", "pybel", "pydispatch", "pyzabbix", "readability", "serpapi", "solo", "svg", "tap", "translate",
        "tree", "ulid", "whois", "xdg"}
TOLD_MAX = 60
LONGER = {"azure.ai.vision", "azure.ai.language", "azure.ai.translation", "azure.eventhub.extensions",
          "azure.cognitiveservices.vision", "azure.monitor.opentelemetry", "azure.cognitiveservices.language", "google.cloud.sql",
          "google.cloud.alloydb", "google.cloud.billing", "google.cloud.devtools", "google.cloud.security", "google.cloud.video",
          "opentelemetry.exporter.otlp", "opentelemetry.exporter.otlp.proto", "opentelemetry.exporter.jaeger",
          "opentelemetry.exporter.zipkin",
          "airflow.providers.apache", "airflow.providers.atlassian", "airflow.providers.cncf", "airflow.providers.common",
          "airflow.providers.dbt", "airflow.providers.microsoft", "plone.app", "zope.app"}
# Of two that stand in for each other, not the one that is only to be faster, mostly where there is such a device.
FASTER = {"cupy", "cudf", "cuml", "cugraph", "pycuda", "torch_npu", "modin"}
# Of the standard library, of newer Pythons than this may be.
LATER = {"annotationlib", "compression", "graphlib", "tomllib", "zoneinfo"} - sys.stdlib_module_names
FILES_MAX = 20000
BYTES_MAX = 4 << 20  # of one file
IMPORT_FUNCTIONS = {"importlib.import_module", "import_module", "__import__", "importlib.util.find_spec",
                    "pytest.importorskip", "importorskip"}
MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
OLD_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([A-Za-z_][\w.]*)[ \t]+import|import[ \t]+([A-Za-z_][\w.]*))", re.M)


def dotted(node):
    """a.b.c of an expression, or None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id] + parts[::-1])


def catches_missing(handler):
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any((dotted(t) or "").rpartition(".")[2] in MISSING for t in types)


def only_reports(node):
    """try: import x; x.work(); except Exception as e: print(e): what it does without x is nothing."""
    def is_broad(h):
        types = [] if h.type is None else h.type.elts if isinstance(h.type, ast.Tuple) else [h.type]
        return all((dotted(t) or "").rpartition(".")[2] in ("Exception", "BaseException") for t in types)
    works = any(not isinstance(n, (ast.Import, ast.ImportFrom, ast.Assign)) for n in node.body)
    return works and all(is_broad(h) and all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Call) for n in h.body)
                         for h in node.handlers if catches_missing(h))


def gives_up(handler):
    """It only says what is missing and ends: then the import is needed after all."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
        and dotted(last.value.func) in ("sys.exit", "exit", "quit", "os._exit", "pytest.fail"))


def imported(nodes):
    """First parts of what these statements import themselves, relative ones left out."""
    names = set()
    for n in nodes:
        if isinstance(n, ast.Import):
            names |= {a.name.split(".")[0] for a in n.names}
        elif isinstance(n, ast.ImportFrom) and not n.level:
            names.add(n.module.split(".")[0])
    return names


def stand_ins(node):
    """The modules of a try and its handlers, a list for each; None: somewhere it does without."""
    missed = [h for h in node.handlers if catches_missing(h)]
    ways = [[name for n in node.body if isinstance(n, (ast.Import, ast.ImportFrom)) for name in modules(n)]]
    for h in missed:
        inner = [n for n in h.body if isinstance(n, TRIES)]
        direct = [name for n in h.body if isinstance(n, (ast.Import, ast.ImportFrom)) for name in modules(n)]
        more = [direct] if direct else stand_ins(inner[0]) if len(inner) == 1 else None
        if not more:
            return None
        ways += more
    return ways if missed and all(ways) else None


def modules(node):
    """What one statement imports; "" is local."""
    return [a.name for a in node.names] if isinstance(node, ast.Import) else ["" if node.level else node.module]


# What a condition may ask that is settled before the program runs: it runs here, with this Python.
SETTLED = {"sys.version_info": tuple(sys.version_info), "sys.version_info.major": sys.version_info[0],
           "sys.version_info.minor": sys.version_info[1], "sys.hexversion": sys.hexversion, "sys.platform": "linux",
           "os.name": "posix", "platform.system()": "Linux", "sys.implementation.name": sys.implementation.name,
           "platform.python_implementation()": "CPython"}
COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
           ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}


def settled(node):
    """The value of sys.version_info[:2], platform.system() and the like, or of a literal; KeyError for all else."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return SETTLED["%s()" % dotted(node.func)]
    if isinstance(node, ast.Subscript):
        return settled(node.value)[ast.literal_eval(node.slice) if not isinstance(node.slice, ast.Slice) else slice(
            *(n and ast.literal_eval(n) for n in (node.slice.lower, node.slice.upper, node.slice.step)))]
    name = dotted(node)
    return SETTLED[name] if name else ast.literal_eval(node)


def decided(test):
    """Whether a condition holds where it is about Python's version or the platform alone; else None."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = decided(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        all_of, parts = isinstance(test.op, ast.And), [decided(v) for v in test.values]
        if (not all_of) in parts:
            return not all_of
        return None if None in parts else all_of
    if isinstance(test, ast.Constant):
        return bool(test.value)
    try:
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return bool(COMPARE[type(test.ops[0])](settled(test.left), settled(test.comparators[0])))
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
            return settled(test.func.value).startswith(ast.literal_eval(test.args[0]))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, SyntaxError, RecursionError, MemoryError):
        pass
    return False if (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING" else None


# Names of what a program found out about itself: HAS_TORCH, TORCH_AVAILABLE, is_torch_available().
FLAG = re.compile(r"(?:^|\.)(?:find_spec|_?(?:HAS|HAVE|has|have)_\w+|\w+_(?:AVAILABLE|available|INSTALLED|installed))$")


def asks_whether_there(test):
    """if importlib.util.find_spec("x"): what follows can be done without."""
    return any(FLAG.search(dotted(n.func if isinstance(n, ast.Call) else n) or "")
               for n in (test, getattr(test, "left", None), getattr(test, "operand", None), *getattr(test, "values", ())) if n)


TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
CHOICES = {ast.If, ast.With, *TRIES}
LEAVES = {ast.Name, ast.Constant, ast.Load, ast.Store, ast.Pass}


BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
BY_NAME = re.compile(rb"import_module|__import__|find_spec|importorskip")


def blocks(node):
    """The statements in a statement."""
    for name in BLOCKS:
        inner = getattr(node, name, None)
        if inner:
            yield from inner


class Found:
    """What one file imports: (name, line, optional, level, names behind `from`)."""

    def __init__(self):
        self.all = []
        self.before = 0  # lines in front of what is visited

    def add(self, name, line, optional, level=0, parts=()):
        if name or level:
            self.all.append((name, line + self.before, optional, level, tuple(parts)))

    def choice(self, node):
        """try: import x; except ImportError: import y. One of them is needed: level -1."""
        ways = stand_ins(node)
        if ways and len(ways) > 1:
            self.all.append(("", node.lineno + self.before, True, -1, tuple(map(tuple, ways))))

    def call(self, node, optional):
        if dotted(node.func) not in IMPORT_FUNCTIONS or not node.args:
            return
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            level = len(first.value) - len(first.value.lstrip("."))
            soft = dotted(node.func).endswith(("find_spec", "importorskip"))
            self.add(first.value[level:], node.lineno, optional or soft, level)

    def visit(self, nodes, optional, before=0, calls=True):
        """Depth first, in the order of the text, without recursion: files may be nested to no end. Without calls of
        what imports by name only statements are looked at."""
        self.before, children = before, ast.iter_child_nodes if calls else blocks
        todo = [(n, optional) for n in reversed(nodes)]
        while todo:
            node, opt = todo.pop()
            kind = type(node)
            if kind in LEAVES:
                continue
            if kind is ast.Import:
                for a in node.names:
                    self.add(a.name, node.lineno, opt)
            elif kind is ast.ImportFrom:
                self.add(node.module or "", node.lineno, opt, node.level, [a.name for a in node.names])
            elif kind in CHOICES:
                if kind in TRIES and not opt:
                    self.choice(node)
                todo += [(n, o) for n, o in reversed(self.inside(node, opt, children))]
            else:
                if kind is ast.Call:
                    self.call(node, opt)
                todo += [(n, opt) for n in reversed(list(children(node)))]

    @staticmethod
    def inside(node, opt, children):
        if isinstance(node, ast.If):
            holds, soft = decided(node.test), opt or asks_whether_there(node.test)
            return [(node.test, opt)] * (children is not blocks) + [(n, soft) for n in (node.body if holds is not False else [])
                                         + (node.orelse if holds is not True else [])]
        if isinstance(node, TRIES) and any(catches_missing(h) for h in node.handlers):
            missed = [h for h in node.handlers if catches_missing(h)]
            needed = all(gives_up(h) for h in missed) or only_reports(node)
            # try: from x.new import y; except ImportError: from x import y. Or pip install x, and import it again.
            again = set.intersection(*(imported(h.body) for h in missed))
            soft = [(n, opt if needed or again & imported([n]) else True) for n in node.body]
            for h in node.handlers:
                soft += [(n, True) for n in h.body]  # instead: a choice, too
            return soft + [(n, opt) for n in node.orelse + node.finalbody]
        if isinstance(node, ast.With) and any(
                isinstance(i.context_expr, ast.Call) and (dotted(i.context_expr.func) or "").endswith("suppress")
                and any((dotted(a) or "") in MISSING for a in i.context_expr.args) for i in node.items):
            return [(n, True) for n in node.body]
        return [(n, opt) for n in children(node)]


# What a cell may have that is no Python: %magic, !command, ?help, x = %magic, x = !command, help?
SHELL = re.compile(r"(?:[\w.,\s]+=\s*)?[%!?]|[\w.()\[\]'\"]+\?{1,2}\s*$")
WRITES = re.compile(r"%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?(?:[\w./-]*/)?(\w+)\.py[ \t]*\n")  # which others import
WRITTEN = re.compile(rb"pass # writes (\w+)\n")
CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")  # what is below them is Python


def cells(text):
    """The code of a notebook, a text for each cell, magics and shell lines left out."""
    book = json.loads(text)
    kernel = book.get("metadata", {})
    language = kernel.get("kernelspec", {}).get("language") or kernel.get("language_info", {}).get("name") or "python"
    for cell in book.get("cells", []) if "python" in str(language).lower() else []:
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else source
        written = WRITES.match(source.lstrip())
        if source.lstrip().startswith("%%") and source.split()[0] not in CELLS and not written:
            continue
        lines = source.split("\n")
        for i, line in enumerate(lines):
            bare = line.lstrip()
            if SHELL.match(bare):
                lines[i] = line[:len(line) - len(bare)] + "pass" + (" # writes %s" % written.group(1) if written and not i else "")
        yield "\n".join(lines)


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as f:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a file")
        data = f.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise ValueError("larger than %d bytes" % BYTES_MAX)
    return data


TEXTS = {}  # programs that are no files


# Most of a file imports nothing, and parsing is what takes time: only the statements with the word in
# them are parsed. Where they begin and end is seen by indentation; where that could deceive (a syntax
# error, an odd encoding), the whole file is parsed. Patterns begin with a literal: these are fast.
WORD = b"import"
PLAIN = re.compile(rb"import ([a-zA-Z_][\w.]*)[ \t]*\n"
                   rb"|from ([a-zA-Z_][\w.]*) import ([a-zA-Z_]\w*(?:, ?[a-zA-Z_]\w*)*)[ \t]*\n")
REMARKS = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*")
BODY = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]+)")
NESTS = re.compile(rb"(?:async[ \t]+def|def|class)\b[^\n]*")
# Every comment and text, where a line has more than one could tell apart at a glance.
TEXT = re.compile(rb"""#[^\n]*|\"""(?:[^"\\]+|\\.|"(?!""))*\"""|\'\'\'(?:[^'\\]+|\\.|'(?!''))*\'\'\'"""
                  rb"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|["']""", re.S)
CODING = re.compile(rb"#[^\n]*coding[:=](?![ \t]*(?:utf-?8|ascii|us-ascii)\b)", re.I)
# Statements of Python 2: this interpreter's parser is to say so.
OLD = (((b"print ", b"print\t"), re.compile(rb"print[ \t]+[\w\"'%]")), ((b"exec ", b"exec\t"), re.compile(rb"exec[ \t]+[\w\"']")),
       ((b"except",), re.compile(rb"except[ \t]+[\w.]+[ \t]*,")), ((b"raise",), re.compile(rb"raise[ \t]+[\w.]+[ \t]*,")))
BEGINS = {}  # indentation -> where statements begin that have it


def begins(indent):
    if indent not in BEGINS:
        BEGINS[indent] = re.compile(rb"\n" + re.escape(indent) + rb"(?=[^ \t\r\n#)\]},:.])"
                                    rb"(?!(?:else|elif|except|finally)\b)")
    return BEGINS[indent]


def is_odd(data):
    """Could indentation, or the encoding, mean something else than it seems to?"""
    if b"\0" in data or b"\f" in data or b"\r" in data or data[1:2] == b"\xff" or CODING.search(data, 0, 200):
        return True
    for words, pattern in OLD:
        for m in pattern.finditer(data) if any(w in data for w in words) else ():
            if not data[data.rfind(b"\n", 0, m.start()) + 1:m.start()].strip():
                return True
    return False


def long_texts(data):
    """(begins, ends) of texts of several lines; None: this cannot be seen at a glance."""
    starts, ends, at = [], [], 0
    marks = {m: data.find(m) for m in (b'"""', b"'''") if m in data}
    while marks:
        mark, here = min(marks.items(), key=lambda m: m[1])
        line = data.rfind(b"\n", 0, here)
        before = data[line:here] if at <= line else b'"'
        if b'"' in before or b"'" in before or b"#" in before or data[line - 1:line] == b"\\":
            return None
        end = data.find(mark, here + 3)
        if end < 0 or data[end - 1:end] == b"\\":  # then that quote may be one of the text's own
            return None
        at = end + 3
        starts.append(here)
        ends.append(at)
        for m in [m for m in marks if marks[m] < at]:
            marks[m] = data.find(m, at)
            if marks[m] < 0:
                del marks[m]
    return starts, ends


def all_texts(data):
    starts, ends = [], []
    for m in TEXT.finditer(data):
        text = m.group()
        if text in (b'"', b"'"):
            raise SyntaxError("a text without an end")
        if b"\n" in text:
            starts.append(m.start())
            ends.append(m.end())
    return starts, ends


class Pieces:
    """Of one file, with a line end in front: the imports, without parsing more than has to be."""

    def __init__(self, data):
        self.data, self.found = data, Found()
        self.starts, self.ends = long_texts(data) or all_texts(data)
        self.line_at, self.lines = 0, 0

    def line(self, at):
        """Of the statement that begins there; statements come in the order of the text."""
        self.lines += self.data.count(b"\n", self.line_at, at)
        self.line_at = at
        return self.lines

    def text_at(self, at):
        """The end of the text that this is in, and whether there may be code in it; or 0."""
        i = bisect.bisect_right(self.starts, at) - 1
        if i < 0 or at >= self.ends[i]:
            return 0, False
        return self.ends[i], self.data[self.starts[i] - 2:self.starts[i]].lower().strip(b"r")[-1:] == b"f"

    def next_word(self, at, end):
        """Where the next import may be: not in a comment, not in a text."""
        data = self.data
        while True:
            at = data.find(WORD, at, end)
            if at < 0:
                return -1
            skip, code = self.text_at(at)
            line = data.rfind(b"\n", 0, at)
            before = data[line:at]
            if skip and not code:
                at = skip
            elif b"#" in before and not skip and b'"' not in before and b"'" not in before:
                at = data.find(b"\n", at)
            else:
                return at

    def statements(self, start, end, indent):
        """Where they begin, and the end; what is decorated is one with its decorators."""
        data, out, decorated = self.data, [], False
        for m in begins(indent).finditer(data, start, end):
            at = m.start() + 1
            if self.text_at(at)[0] or data[at - 2:at - 1] == b"\\":
                continue
            if not decorated:
                out.append(at)
            decorated = data[m.end():m.end() + 1] == b"@"
        return out + [end]

    def walk(self, start, end, indent):
        """Of a block: start is at the line end in front of it."""
        word = self.next_word(start, end)
        at = self.statements(start, end, indent) if word >= 0 else []
        while word >= 0:
            i = bisect.bisect_right(at, word) - 1
            if i < 0:
                raise SyntaxError("in front of the first statement")
            self.statement(at[i], at[i + 1], indent)
            word = self.next_word(at[i + 1], end)

    def statement(self, start, end, indent):
        data = self.data
        m = PLAIN.match(data, start + len(indent), end)
        if m:
            if not REMARKS.fullmatch(data, m.end(), end):
                raise SyntaxError("more behind it")
            self.found.before = 0
            parts = [p.strip() for p in m.group(3).decode().split(",")] if m.group(3) else ()
            self.found.add((m.group(1) or m.group(2)).decode(), self.line(start), False, 0, parts)
            return
        m = NESTS.match(data, start + len(indent), end) if end - start > 400 else None
        if m and m.group().rstrip().endswith(b":") and WORD not in m.group() and b"#" not in m.group():
            inner = BODY.match(data, m.end() + 1, end)
            if inner and len(inner.group(1)) > len(indent) and inner.group(1).startswith(indent):
                self.walk(inner.start(1) - 1, end, inner.group(1))
                return
        line = self.line(start)
        tree = ast.parse((b"if 1:\n" if indent else b"") + data[start:end])
        self.found.visit(tree.body, False, line - (2 if indent else 1), BY_NAME.search(data, start, end))


def imports_in(data, path):
    """Of a program's text; raises what the parser raises."""
    found = Found()
    if isinstance(data, bytes):
        text = b"\n" + data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n") + b"\n"
        try:
            if not is_odd(text):
                pieces = Pieces(text)
                pieces.walk(0, len(text), b"")
                return pieces.found.all
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # the whole says what is wrong, and where
    found.visit(ast.parse(data, path).body, False)
    return found.all


def imports_or_so(data, path, before, found):
    """Adds to found; what is wrong, where this Python cannot parse it: then what looks like an import counts."""
    try:
        found.all += [(name, line + before, *rest) for name, line, *rest in imports_in(data, path)]
        return None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        data = data if isinstance(data, bytes) else data.encode(errors="replace")
        for m in OLD_IMPORT.finditer(data):
            found.add((m.group(1) or m.group(2)).decode(), data.count(b"\n", 0, m.start()) + 1 + before, False)
        return {"line": (getattr(e, "lineno", None) or 0) + before, "why": str(getattr(e, "msg", e))[:200]}


def imports_of(path):
    """(found, complaint)"""
    found, complaint, before = Found(), None, 0
    try:
        data = TEXTS[path] if path in TEXTS else read(path)
        if b"import" not in data:
            return found.all, None
        texts = []
        for text in cells(data) if path.endswith(".ipynb") else (data,):
            wrong = imports_or_so(text, path, before, found)
            complaint = complaint or wrong
            texts.append((text.encode(errors="replace") if isinstance(text, str) else text, before))
            before += text.count("\n") + 1 if isinstance(text, str) else 0
        own = {w.group(1).decode() for t, _ in texts for w in [WRITTEN.match(t)] if w} if path.endswith(".ipynb") else ()
        found.all = [f for f in found.all if f[0].split(".")[0] not in own or f[3] != 0]
        return found.all + unspoken(texts, found.all), complaint
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        return found.all, {"line": 0, "why": str(e)[:200]}


class Tree:
    """Local modules: where a name leads below ROOT, seen from a file."""

    def __init__(self, root):
        self.root = root
        self.known, self.lists, self.built, self.around, self.absent = {}, {}, {}, {}, set()

    def names(self, base):
        """What a directory has, {} where there is none: each is listed once."""
        if base not in self.lists:
            try:
                with os.scandir(base) as entries:
                    self.lists[base] = {e.name: e for e in entries}
            except OSError:
                self.lists[base] = {}
            self.built[base] = {n.partition(".")[0] for n in self.lists[base] if n.endswith((".so", ".pyx", ".pyi"))}
        return self.lists[base]

    def has(self, base, name):
        entry = self.names(base).get(name)
        return entry is not None and entry.is_file()

    def find(self, at):
        base, last = os.path.split(at)
        names = self.names(base)
        if self.has(base, last + ".py"):
            return at + ".py"
        if last in names and names[last].is_dir():
            if self.has(at, "__init__.py"):
                return os.path.join(at, "__init__.py")
            if any(n.endswith((".py", ".so")) or e.is_dir() for n, e in self.names(at).items()):
                return ""
        if last in self.built[base]:
            return ""
        return None

    def module(self, base, name):
        """The file of a module, "" for a directory without one, None when it is not there."""
        at = os.path.join(base, name.replace(".", "/"))
        if at not in self.known:
            try:
                self.known[at] = self.find(at)
            except OSError:
                self.known[at] = None
        return self.known[at]

    def places(self, path):
        """Where Python, run on this file or from ROOT, would look."""
        first = here = os.path.dirname(path)
        if first not in self.around:
            seen = [here]
            while here != self.root and here.startswith(self.root):
                here = os.path.dirname(here)
                seen.append(here)
            self.around[first] = seen + [os.path.join(self.root, d) for d in ("src", "lib", "python")]
        return self.around[first]

    def lookup(self, path, name, level, parts):
        """The local files that an import needs; None: it is not local."""
        if level:
            base = path
            for _ in range(level):
                base = os.path.dirname(base)
            where = [base]
        else:
            where = self.places(path)  # by its own directory
        first = name.split(".")[0]
        if (where[0], first, level) in self.absent:
            return [] if level else None
        for base in where:
            if name and self.module(base, first) is None:
                continue
            files = []
            words = name.split(".") if name else []
            for i in range(1, len(words) + 1):
                files.append(self.module(base, ".".join(words[:i])))
            for p in parts:
                if p != "*":
                    files.append(self.module(base, ".".join(words + [p])))
            return [f for f in files if f]
        self.absent.add((where[0], first, level))
        return [] if level else None


def near(root, name, known={}):
    """A module of that name, wherever below: somebody may add its directory to sys.path."""
    if not known:
        for path in programs(root):
            base, here = os.path.basename(path), os.path.dirname(path)
            known.setdefault(base.rpartition(".")[0], os.path.relpath(path, root))
            if base == "__init__.py":
                known.setdefault(os.path.basename(here), os.path.relpath(here, root))
        known.setdefault("", None)
    return known.get(name)


def programs(root):
    """Every program below a directory, links not followed."""
    n = 0
    for here, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if d not in SKIP and not d.startswith(".")
                         and not os.path.isfile(os.path.join(here, d, "pyvenv.cfg")))
        for f in sorted(files):
            if f.endswith((".py", ".pyw", ".ipynb")) and n < FILES_MAX:
                n += 1
                yield os.path.join(here, f)


def installed():
    """First part of a module's name -> version, of what is there."""
    import importlib.metadata as meta
    there = {}
    for d in meta.distributions():
        try:
            tops = (d.read_text("top_level.txt") or "").split()
            version = d.version
            if not tops:
                tops = {f.parts[0].removesuffix(".py") for f in d.files or [] if f.suffix == ".py" and ".." not in f.parts}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for t in tops:
            there.setdefault(t, version or "")
    return there


def is_there(name, there):
    """Its version, "" where nobody says; None when this Python would not find it. Of a name that packages share one
    part may be there and another not; nothing is imported to look."""
    from importlib.machinery import PathFinder
    words, where = name.split("."), None
    if words[0] in there and words[0] not in SHARED:
        return there[words[0]]
    try:
        for i in range(len(words)):
            spec = PathFinder.find_spec(".".join(words[:i + 1]), where)
            if not spec:
                return None
            if spec.has_location or words[0] not in SHARED:
                return ""
            where = spec.submodule_search_locations
        return ""
    except (ImportError, ValueError, AttributeError, TypeError):
        return None


def short(name):
    words = name.split(".")
    n = 2 if words[0] in TWO else 3
    while ".".join(words[:n]) in LONGER and n < len(words):
        n += 1
    return ".".join(words[:n]) if words[0] in SHARED else words[0]


def shared_names(name, parts):
    """from google.cloud import storage, bigquery: each is of another package. What begins with a capital is a class."""
    if name.split(".")[0] not in SHARED or name.count(".") > 1:
        return [name]
    return [f"{name}.{p}" for p in parts or () if p != "*" and not p[:1].isupper()] or [name]


def told(path, name, parts):
    """What is used of a module, as a.b: behind from, or behind its name wherever that stands in the text."""
    words = name.split(".")[1:]
    used = [".".join(words[:i + 1]) for i in range(len(words))] + [".".join(words + [p]) for p in parts if p != "*"]
    if not parts:
        try:
            text = TEXTS[path] if path in TEXTS else read(path)
        except (OSError, ValueError):
            return used
        called = re.search(rb"\bimport[ \t]+%s[ \t]+as[ \t]+(\w+)" % re.escape(name.encode()), text)
        at = called.group(1) if called else name.split(".")[0].encode()
        for m in re.finditer(rb"(?<![\w.])%s\.(\w+)(?:\.(\w+))?" % re.escape(at), text):
            first, second = (g and g.decode(errors="replace") for g in m.groups())
            used += [".".join((words if called else []) + [first]), f"{first}.{second}"]
    return list(dict.fromkeys(used))[:TOLD_MAX]


def is_settled(tree, path, way):
    """Are these modules there without a package of an index?"""
    return all(not n or n.split(".")[0] in sys.stdlib_module_names or tree.lookup(path, n, 0, ()) is not None for n in way)


def choose(names, choices):
    """Of those that stand in for each other, where none is there, the first that is of use here."""
    there = None
    for ways in choices:
        there = installed() if there is None else there
        way = next((w for w in ways if all(is_there(n, there) is not None for n in w)), None) or next(
            (w for w in ways if not any(n.split(".")[0] in FASTER | LATER for n in w)), ways[0])
        for n in map(short, way):
            if n in names:
                names[n]["optional"] = False


INLINE = re.compile(rb"^# /// script[ \t]*\r?\n((?:#(?: [^\n]*)?\r?\n)+?)# ///[ \t]*\r?$", re.M)


def says_itself(path):
    """(what a program says that it needs, in which line), or None (PEP 723)."""
    try:
        data = TEXTS[path] if path in TEXTS else read(path)
        block = INLINE.search(data) if not path.endswith(".ipynb") else None
        if not block:
            return None
        import tomllib
        text = re.sub(r"^# ?", "", block.group(1).decode(), flags=re.M)
        asked = tomllib.loads(text).get("dependencies")
        if isinstance(asked, list) and all(isinstance(a, str) for a in asked):
            return [a.strip() for a in asked], data.count(b"\n", 0, block.start()) + 1
    except (OSError, ValueError, ImportError):
        pass
    return None


def asked_names(root, path, said):
    asked, line = said
    return {a: {"name": re.split(r"[\s\[<>=!~;(@]", a)[0], "asked": a, "file": os.path.relpath(path, root), "line": line,
                "optional": False, "there": None, "near": None} for a in asked}


def scan(root, files):
    tree, names, unread, choices, used = Tree(root), {}, [], [], {}
    todo = list(files) if files else list(programs(root))
    seen = set(todo)
    for path in todo:  # grows, where files were named
        found, complaint = imports_of(path)
        if complaint:
            unread.append(dict(complaint, file=os.path.relpath(path, root)))
        for name, line, optional, level, parts in found:
            if level == -1:
                choices += [parts] if not any(is_settled(tree, path, way) for way in parts) else []
                continue
            how, level, parts = (parts[0], 0, ()) if level == -2 else (None, level, parts)
            local = tree.lookup(path, name, level, parts)
            if local is not None:
                for f in local if files else ():
                    if f not in seen and len(seen) < FILES_MAX:
                        seen.add(f)
                        todo.append(f)
                continue
            first = name.split(".")[0]
            if first in sys.stdlib_module_names or first in LATER or first == "__main__":
                continue
            for key in dict.fromkeys(map(short, shared_names(name, parts))):
                if first in TOLD and key == first:
                    used.setdefault(key, []).extend(told(path, name, parts))
                if key not in names:
                    names[key] = {"name": key, "file": os.path.relpath(path, root), "line": line, "optional": optional, "how": how}
                elif names[key]["optional"] and not optional:
                    names[key].update(file=os.path.relpath(path, root), line=line, optional=False, how=how)
    for key, parts in used.items():
        names[key]["parts"] = list(dict.fromkeys(parts))[:TOLD_MAX]
    choose(names, choices)
    return names, unread, len(todo)


def main():
    gc.set_threshold(100000)  # trees of a parser are gone when nobody holds them; looking for cycles takes a tenth
    root = os.path.abspath(sys.argv[1])
    words = sys.argv[2:]
    if words[:1] == ["--text"]:
        TEXTS[os.path.join(root, words[1])] = sys.stdin.buffer.read(BYTES_MAX)
        words = words[2:]
    every, maybe, words = words[:1] == ["--all"], words[:1] == ["--maybe"], words[words[:1] in (["--all"], ["--maybe"]):]
    files = [os.path.join(root, f) for f in words]
    if maybe:
        files = [f for f in files if os.path.isfile(f)]
        every = not files
    if TEXTS:
        files = [*TEXTS, *files, *(programs(root) if every else ())]
    said = says_itself(files[0]) if len(files) == 1 else None
    names, unread, n = (asked_names(root, files[0], said), [], 1) if said else scan(root, files)
    there = installed() if names and not said else {}
    for i in names.values() if not said else ():
        i["there"] = is_there(i["name"], there)
        i["near"] = near(root, i["name"]) if i["there"] is None else None
    json.dump({"language": "python", "version": "%d.%d" % sys.version_info[:2], "files": n,
               "imports": list(names.values()), "unread": unread[:100]}, sys.stdout)
    print()

