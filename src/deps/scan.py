# SPDX-License-Identifier: Apache-2.0
"""Which modules do Python programs import? Runs inside a sandbox, on files that nobody trusts.

	python3 scan.py ROOT [FILE ...]

With FILEs (below ROOT), those and the local modules that they import; without, every program below
ROOT. Prints one JSON document:

	{"language": "python", "version": "3.11", "files": 12,
	 "imports": [{"name": "cv2", "file": "a.py", "line": 3, "optional": false, "there": null}],
	 "unread": [{"file": "b.py", "line": 9, "why": "invalid syntax"}]}

A name is the first part of a module's, but where packages share that (google.cloud.storage): then
as much as was written. `there` is the version of what has it installed already, "" where nobody
says. Only what is not of the standard library and not local is named, each name once: where it is
first needed. optional: every use is one that the program can do without (try/except ImportError, or
an else or a handler that imports something else).

Nothing of the files is executed: they are parsed by this interpreter's own parser.
"""
import ast
import json
import os
import re
import stat
import sys

SKIP = {"node_modules", "__pycache__", "site-packages", "dist-packages", "venv", ".venv", "env", ".env",
        ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"}
# First parts that many packages share: the table of names decides by more of the name.
SHARED = {"google", "azure", "zope", "ruamel", "jaraco", "backports", "sphinxcontrib", "opentelemetry", "mpl_toolkits",
          "llama_index", "aws_cdk", "paste", "repoze", "plone"}
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


def gives_up(handler):
    """It only says what is missing and ends: then the import is needed after all."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) or (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
        and dotted(last.value.func) in ("sys.exit", "exit", "quit", "os._exit", "pytest.fail"))


def is_type_checking(test):
    return (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


class Found:
    """What one file imports: (name, line, optional, level, names behind `from`)."""

    def __init__(self):
        self.all = []

    def add(self, name, line, optional, level=0, parts=()):
        if name or level:
            self.all.append((name, line, optional, level, tuple(parts)))

    def call(self, node, optional):
        if dotted(node.func) not in IMPORT_FUNCTIONS or not node.args:
            return
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            level = len(first.value) - len(first.value.lstrip("."))
            soft = dotted(node.func).endswith(("find_spec", "importorskip"))
            self.add(first.value[level:], node.lineno, optional or soft, level)

    def visit(self, nodes, optional):
        """Depth first, in the order of the text, without recursion: files may be nested to no end."""
        todo = [(n, optional) for n in reversed(nodes)]
        while todo:
            node, opt = todo.pop()
            if isinstance(node, ast.Import):
                for a in node.names:
                    self.add(a.name, node.lineno, opt)
            elif isinstance(node, ast.ImportFrom):
                self.add(node.module or "", node.lineno, opt, node.level, [a.name for a in node.names])
            elif isinstance(node, ast.Call):
                self.call(node, opt)
                todo += [(n, opt) for n in reversed(list(ast.iter_child_nodes(node)))]
            else:
                todo += [(n, o) for n, o in reversed(list(self.inside(node, opt)))]

    @staticmethod
    def inside(node, opt):
        if isinstance(node, ast.If) and is_type_checking(node.test):
            return [(n, opt) for n in node.orelse]
        if isinstance(node, ast.If) and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) \
                and is_type_checking(node.test.operand):
            return [(n, opt) for n in node.body]
        if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))) and any(catches_missing(h) for h in node.handlers):
            needed = all(gives_up(h) for h in node.handlers if catches_missing(h))
            soft = [(n, opt if needed else True) for n in node.body]
            for h in node.handlers:
                soft += [(n, True) for n in h.body]  # instead: a choice, too
            return soft + [(n, opt) for n in node.orelse + node.finalbody]
        if isinstance(node, ast.With) and any(
                isinstance(i.context_expr, ast.Call) and (dotted(i.context_expr.func) or "").endswith("suppress")
                and any((dotted(a) or "") in MISSING for a in i.context_expr.args) for i in node.items):
            return [(n, True) for n in node.body]
        return [(n, opt) for n in ast.iter_child_nodes(node)]


def cells(text):
    """The code of a notebook, magics and shell lines left out, as one program."""
    book = json.loads(text)
    lines = []
    for cell in book.get("cells", []):
        if cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        source = "".join(source) if isinstance(source, list) else source
        if source.lstrip().startswith("%%") and not source.lstrip().startswith(("%%time", "%%capture")):
            continue
        for line in source.split("\n"):
            bare = line.lstrip()
            lines.append(line[:len(line) - len(bare)] + "pass" if bare.startswith(("%", "!", "?")) else line)
    return "\n".join(lines)


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as f:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a file")
        data = f.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise ValueError("larger than %d bytes" % BYTES_MAX)
    return data


def imports_of(path):
    """(found, complaint): of a text that this Python cannot parse, what looks like an import."""
    found = Found()
    try:
        data = read(path)
        if b"import" not in data:
            return found.all, None
        text = cells(data) if path.endswith(".ipynb") else data
        try:
            tree = ast.parse(text, path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            for m in OLD_IMPORT.finditer(data):
                found.add((m.group(1) or m.group(2)).decode(), data.count(b"\n", 0, m.start()) + 1, False)
            return found.all, {"line": getattr(e, "lineno", None) or 0, "why": str(getattr(e, "msg", e))[:200]}
        found.visit(tree.body, False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        return found.all, {"line": 0, "why": str(e)[:200]}
    return found.all, None


class Tree:
    """Local modules: where a name leads below ROOT, seen from a file."""

    def __init__(self, root):
        self.root = root
        self.known = {}

    def module(self, base, name):
        """The file of a module, "" for a directory without one, None when it is not there."""
        at = os.path.join(base, *name.split("."))
        if at not in self.known:
            found = None
            if os.path.isfile(at + ".py"):
                found = at + ".py"
            elif os.path.isfile(os.path.join(at, "__init__.py")):
                found = os.path.join(at, "__init__.py")
            elif os.path.isdir(at) and any(n.endswith((".py", ".so")) or os.path.isdir(os.path.join(at, n))
                                           for n in os.listdir(at)):
                found = ""
            elif os.path.isdir(base) and any(n.startswith(os.path.basename(at) + ".") and n.endswith((".so", ".pyx", ".pyi"))
                                             for n in os.listdir(os.path.dirname(at) if os.path.isdir(os.path.dirname(at)) else base)):
                found = ""
            self.known[at] = found
        return self.known[at]

    def places(self, path):
        """Where Python, run on this file or from ROOT, would look."""
        here = os.path.dirname(path)
        seen = [here]
        while here != self.root and here.startswith(self.root):
            here = os.path.dirname(here)
            seen.append(here)
        return seen + [os.path.join(self.root, d) for d in ("src", "lib", "python")]

    def lookup(self, path, name, level, parts):
        """The local files that an import needs; None: it is not local."""
        if level:
            base = path
            for _ in range(level):
                base = os.path.dirname(base)
            where = [base]
        else:
            where = self.places(path)
        first = name.split(".")[0]
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
        return [] if level else None


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


def is_there(first, there):
    """Its version, "" where nobody says; None when this Python would not find it."""
    if first in there:
        return there[first]
    from importlib.machinery import PathFinder
    try:
        return "" if PathFinder.find_spec(first) else None
    except (ImportError, ValueError, AttributeError):
        return None


def short(name):
    first = name.split(".")[0]
    return ".".join(name.split(".")[:3]) if first in SHARED else first


def scan(root, files):
    tree, names, unread = Tree(root), {}, []
    todo = list(files) if files else list(programs(root))
    seen = set(todo)
    for path in todo:  # grows, where files were named
        found, complaint = imports_of(path)
        if complaint:
            unread.append(dict(complaint, file=os.path.relpath(path, root)))
        for name, line, optional, level, parts in found:
            local = tree.lookup(path, name, level, parts)
            if local is not None:
                for f in local if files else ():
                    if f not in seen and len(seen) < FILES_MAX:
                        seen.add(f)
                        todo.append(f)
                continue
            first = name.split(".")[0]
            if first in sys.stdlib_module_names or first == "__main__":
                continue
            if first in SHARED and parts and name.count(".") < 2 and parts[0] != "*":
                name = name + "." + parts[0]
            key = short(name)
            if key not in names:
                names[key] = {"name": key, "file": os.path.relpath(path, root), "line": line, "optional": optional}
            elif names[key]["optional"] and not optional:
                names[key].update(file=os.path.relpath(path, root), line=line, optional=False)
    return names, unread, len(todo)


def main():
    root = os.path.abspath(sys.argv[1])
    files = [os.path.join(root, f) for f in sys.argv[2:]]
    names, unread, n = scan(root, files)
    there = installed() if names else {}
    for i in names.values():
        i["there"] = is_there(i["name"].split(".")[0], there)
    json.dump({"language": "python", "version": "%d.%d" % sys.version_info[:2], "files": n,
               "imports": list(names.values()), "unread": unread[:100]}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
