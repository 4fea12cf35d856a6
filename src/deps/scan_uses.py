# SPDX-License-Identifier: Apache-2.0
"""What a program needs without importing it: what it uses of a module fails where another module is not there. Stands
behind scan.py, which reads imports. What a row needs is a module, or several with blanks between them."""
import re
from fnmatch import fnmatchcase

# A module, or what stands behind `from` and `import`.
ALSO = {
    "apscheduler.jobstores.redis": "redis", "apscheduler.jobstores.sqlalchemy": "sqlalchemy",
    "dask.array": "numpy", "keras": "tensorflow", "dask.dataframe": "pandas", "dask.distributed": "distributed",
    "fastapi.File": "python_multipart", "fastapi.Form": "python_multipart", "fastapi.UploadFile": "python_multipart",
    "fastapi.responses.ORJSONResponse": "orjson", "fastapi.responses.UJSONResponse": "ujson",
    "fastapi.security.OAuth2PasswordRequestForm": "python_multipart", "fastapi.templating": "jinja2",
    "fastapi.testclient": "httpx",
    "langchain_community.document_loaders.ArxivLoader": "arxiv", "langchain_community.document_loaders.Docx2txtLoader": "docx2txt",
    "langchain_community.document_loaders.PyMuPDFLoader": "fitz", "langchain_community.document_loaders.PyPDFDirectoryLoader": "pypdf",
    "langchain_community.document_loaders.PyPDFLoader": "pypdf",
    "langchain_community.document_loaders.UnstructuredFileLoader": "unstructured",
    "langchain_community.document_loaders.UnstructuredMarkdownLoader": "unstructured",
    "langchain_community.document_loaders.UnstructuredPDFLoader": "unstructured",
    "langchain_community.document_loaders.WebBaseLoader": "bs4", "langchain_community.document_loaders.WikipediaLoader": "wikipedia",
    "langchain_community.document_loaders.YoutubeLoader": "youtube_transcript_api",
    "langchain_community.embeddings.HuggingFaceEmbeddings": "sentence_transformers",
    "langchain_community.embeddings.SentenceTransformerEmbeddings": "sentence_transformers",
    "langchain_community.retrievers.ArxivRetriever": "arxiv", "langchain_community.retrievers.BM25Retriever": "rank_bm25",
    "langchain_community.retrievers.WikipediaRetriever": "wikipedia", "langchain_community.tools.ArxivQueryRun": "arxiv",
    "langchain_community.tools.DuckDuckGoSearchRun": "ddgs", "langchain_community.tools.WikipediaQueryRun": "wikipedia",
    "langchain_community.utilities.WikipediaAPIWrapper": "wikipedia", "langchain_community.vectorstores.Chroma": "chromadb",
    "langchain_community.vectorstores.FAISS": "faiss", "langchain_community.vectorstores.Qdrant": "qdrant_client",
    "langgraph.checkpoint.mongodb": "langgraph_checkpoint_mongodb", "langgraph.checkpoint.postgres": "langgraph_checkpoint_postgres",
    "langgraph.checkpoint.redis": "langgraph_checkpoint_redis", "langgraph.checkpoint.sqlite": "langgraph_checkpoint_sqlite",
    "langgraph.store.postgres": "langgraph_checkpoint_postgres",
    "peewee.MySQLDatabase": "pymysql", "peewee.PostgresqlDatabase": "psycopg2",
    "pydantic.EmailStr": "email_validator", "pydantic.NameEmail": "email_validator",
    "starlette.middleware.sessions": "itsdangerous", "starlette.templating": "jinja2", "starlette.testclient": "httpx",
    "torch.utils.tensorboard": "tensorboard", "wtforms.validators.Email": "email_validator",
}

# A module's call, or *. and a method of what it returns -> what it needs; and, where it lets choose: the place and the name
# of the argument that does, and what that needs for each choice. How the first argument ends may choose, too, and how it
# begins says what is needed beside that.
SHEETS = {"calamine": "python_calamine", "odf": "odf", "openpyxl": "openpyxl", "pyxlsb": "pyxlsb", "xlrd": "xlrd",
          "xlsxwriter": "xlsxwriter", ".ods": "odf", ".xls": "xlrd", ".xlsb": "pyxlsb"}
COLUMNS = {"fastparquet": "fastparquet", "pyarrow": "pyarrow"}
NETS = {"h5netcdf": "h5netcdf", "scipy": "scipy", "zarr": "zarr", "cfgrib": "cfgrib", "netcdf4": "netCDF4", ".grib": "cfgrib",
        ".grib2": "cfgrib", "rasterio": "rioxarray"}
STORES = (("s3://", "s3fs"), ("gs://", "gcsfs"), ("gcs://", "gcsfs"), ("abfs://", "adlfs"), ("abfss://", "adlfs"), ("az://", "adlfs"))
FAR = {text: "" for text, _ in STORES}
CALLS = {
    "aiohttp": {"AsyncResolver": ("aiodns", None, None, {})},
    "bs4": {"BeautifulSoup": ("", 1, "features", {"lxml": "lxml", "lxml-xml": "lxml", "xml": "lxml", "html5lib": "html5lib"})},
    "geopandas": {"*.explore": ("folium", None, None, {}), "*.plot": ("matplotlib", None, None, {})},
    "httpx": {"*Client": ("", None, "http2", {True: "h2"})},
    "imageio": dict.fromkeys(("get_reader", "get_writer", "imiter", "imopen", "mimread", "mimsave", "mimwrite"), (
        "", None, None, dict.fromkeys((".avi", ".mkv", ".mov", ".mp4"), "imageio_ffmpeg"))),
    "networkx": {"draw": ("matplotlib", None, None, {}), "draw_*": ("matplotlib", None, None, {}),
                 "pagerank": ("scipy", None, None, {})},
    "pandas": {
        "*.plot": ("matplotlib", None, "backend", {"plotly": "plotly"}), "*.plot.*": ("matplotlib", None, None, {}),
        **dict.fromkeys(("*.style.%s" % n for n in ("apply*", "background_gradient", "bar", "format*", "hide*", "highlight_*",
                                                    "set_*", "to_*")), ("jinja2", None, None, {})),
        "*.to_markdown": ("tabulate", None, None, {}),
        "*.to_excel": ("openpyxl", None, "engine", SHEETS), "*.to_hdf": ("tables", None, None, {}),
        "*.to_feather": ("pyarrow", None, None, {}), "*.to_parquet": ("pyarrow", None, "engine", COLUMNS),
        "*.to_orc": ("pyarrow", None, None, {}), "*.to_xml": ("lxml", None, "parser", {"etree": ""}),
        "ExcelFile": ("openpyxl", None, "engine", SHEETS), "ExcelWriter": ("openpyxl", None, "engine", SHEETS),
        "HDFStore": ("tables", None, None, {}), "read_excel": ("openpyxl", None, "engine", SHEETS),
        "read_feather": ("pyarrow", None, None, {}), "read_hdf": ("tables", None, None, {}),
        "read_html": ("lxml", None, "flavor", {"bs4": "bs4 html5lib", "html5lib": "bs4 html5lib"}),
        "read_orc": ("pyarrow", None, None, {}), "read_parquet": ("pyarrow", None, "engine", COLUMNS),
        "read_spss": ("pyreadstat", None, None, {}), "read_xml": ("lxml", None, "parser", {"etree": ""}),
        "read_csv": ("", None, "engine", {**FAR, "pyarrow": "pyarrow"}), "read_json": ("", None, "engine", FAR),
        "*.to_csv": ("", None, None, FAR), "read_gbq": ("pandas_gbq", None, None, {}),
    },
    "passlib": {"CryptContext": ("", 0, "schemes", {"bcrypt": "bcrypt", "argon2": "argon2"})},
    "plotly": {"*.write_image": ("kaleido", None, None, {}), "*.to_image": ("kaleido", None, None, {})},
    "polars": {"read_excel": ("fastexcel", None, "engine", {"openpyxl": "openpyxl", "xlsx2csv": "xlsx2csv"}),
               "*.to_numpy": ("numpy", None, None, {}), "*.to_pandas": ("pandas pyarrow", None, None, {}),
               "*.to_arrow": ("pyarrow", None, None, {}), "*.write_excel": ("xlsxwriter", None, None, {}),
               "read_delta": ("deltalake", None, None, {}), "scan_delta": ("deltalake", None, None, {}),
               "*.write_delta": ("deltalake", None, None, {}), "read_database_uri": ("connectorx", None, None, {})},
    "transformers": {"AutoModel*.from_pretrained": ("torch", None, None, {}), "Trainer": ("accelerate torch", None, None, {}),
                     "pipeline": ("torch", None, None, {})},
    "xarray": {"open_dataset": ("netCDF4", None, "engine", NETS), "open_mfdataset": ("dask netCDF4", None, "engine", NETS),
               "*.to_netcdf": ("netCDF4", None, "engine", NETS), "*.to_zarr": ("zarr", None, None, {}),
               "open_zarr": ("zarr", None, None, {})},
}


def words_of(pattern, row):
    """Without one of them a file does not use this: the call's, and those of each choice."""
    usual, _, keyword, choices = row
    name = pattern.strip("*").partition(".")[2].split(".")[0].strip("*") or pattern.split(".")[0].strip("*")
    said = {keyword if c is True else c + q if c.startswith(".") else c: n for c, n in choices.items() for q in "\"'"}
    if choices is FAR or "s3://" in choices:
        said.update(STORES)
    return (b"." if pattern.startswith("*.") else b"") + name.encode(), usual, [(w.encode(), n) for w, n in said.items()]


WORDS = {m: [words_of(p, r) for p, r in rows.items()] for m, rows in CALLS.items()}
WHOLE_MAX = 1 << 19  # of a file that is parsed whole: its tree takes some two hundred times as much
FOUND = set()  # what some file needs already: it is not looked for again


def may_use(first, data):
    for m in first & CALLS.keys():
        for name, usual, said in WORDS[m]:
            new = not FOUND.issuperset(usual.split())
            said = [] if new else [w for w, n in said if not FOUND.issuperset(n.split())]
            if (new or said) and name in data and (new or any(w in data for w in said)):
                return True
    return False


# How a text begins in a program that uses one of the modules -> what it needs.
URLS = (("mysql+aiomysql://", "aiomysql"), ("mysql+asyncmy://", "asyncmy"), ("mysql+mysqlconnector://", "mysql.connector"),
        ("mysql+mysqldb://", "MySQLdb"), ("mysql+pymysql://", "pymysql"), ("mysql://", "MySQLdb"),
        ("mariadb+pymysql://", "pymysql"), ("oracle+oracledb://", "oracledb"), ("oracle+cx_oracle://", "cx_Oracle"),
        ("mssql+pyodbc://", "pyodbc"), ("mssql+pymssql://", "pymssql"), ("postgresql+asyncpg://", "asyncpg"),
        ("postgresql+pg8000://", "pg8000"), ("postgresql+psycopg2://", "psycopg2"), ("postgresql+psycopg://", "psycopg"),
        ("postgresql://", "psycopg2"), ("snowflake://", "snowflake.sqlalchemy"), ("sqlite+aiosqlite://", "aiosqlite"),
        ("bigquery://", "sqlalchemy_bigquery"), ("duckdb://", "duckdb_engine"))
DJANGO = (("django.db.backends.postgresql", "psycopg2"), ("django.db.backends.mysql", "MySQLdb"),
          ("django.core.cache.backends.redis.", "redis"), ("django_redis.", "django_redis"), ("channels_redis.", "channels_redis"),
          ("whitenoise.", "whitenoise"), ("storages.backends.", "storages"))
SIGNED = tuple((kind + size, "cryptography") for kind in ("RS", "ES", "PS") for size in ("256", "384", "512"))
SOCKS = (("socks5://", "socks"), ("socks5h://", "socks"), ("socks4://", "socks"))
BEGINNINGS = {"sqlalchemy": URLS, "sqlmodel": URLS, "flask_sqlalchemy": URLS, "celery": (("redis://", "redis"), ("rediss://", "redis")),
              "jwt": SIGNED, "requests": SOCKS, "django": DJANGO}
# Of those that do the same the first is only needed where the program has none of the others.
INSTEAD = {"psycopg2": {"psycopg", "asyncpg", "pg8000"}, "MySQLdb": {"pymysql"}, "openpyxl": {"xlsxwriter"},
           "pyarrow": {"fastparquet"}, "tensorflow": {"torch", "jax"}, "torch": {"tensorflow", "jax", "flax"},
           "netCDF4": {"h5netcdf"}, "ddgs": {"duckduckgo_search"}}
# What programs of Django name among INSTALLED_APPS without importing it.
APPS = {"allauth", "axes", "channels", "ckeditor", "compressor", "corsheaders", "crispy_bootstrap4", "crispy_bootstrap5",
        "crispy_forms", "daphne", "debug_toolbar", "django_celery_beat", "django_celery_results", "django_extensions",
        "django_filters", "django_htmx", "django_tables2", "djoser", "drf_spectacular", "drf_yasg", "graphene_django", "guardian",
        "import_export", "jazzmin", "mptt", "oauth2_provider", "phonenumber_field", "rest_framework", "rest_framework_simplejwt",
        "reversion", "silk", "simple_history", "social_django", "storages", "taggit", "unfold", "widget_tweaks"}
# Marks and fixtures of tests that a plugin of pytest has.
MARKS = {"asyncio": "pytest_asyncio", "django_db": "pytest_django", "flaky": "pytest_rerunfailures", "timeout": "pytest_timeout",
         "trio": "pytest_trio"}
FIXTURES = {"aiohttp_client": "pytest_aiohttp", "httpx_mock": "pytest_httpx", "mocker": "pytest_mock",
            "requests_mock": "requests_mock", "respx_mock": "respx"}


def said_in(node, which):
    """The first or the last literal part of a text."""
    node = node.values[which] if isinstance(node, ast.JoinedStr) and node.values else node
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


class Uses(Found):
    """What one file uses of its modules."""

    def __init__(self, trees, first):
        super().__init__()
        self.first = first
        self.called, self.own, self.writers = {}, set(), set()
        for node in (n for t in trees for n in ast.walk(t)):
            self.learn(node)

    def learn(self, node):
        """Which names stand for modules, or for parts of them; which are the file's own."""
        if isinstance(node, ast.Import):
            for a in node.names:
                self.called[a.asname or a.name.split(".")[0]] = a.name.split(".")[0], ""
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for a in node.names:
                self.called[a.asname or a.name] = node.module.split(".")[0], a.name
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.own.add(node.name)
        elif isinstance(node, (ast.withitem, ast.Assign)):
            call = node.context_expr if isinstance(node, ast.withitem) else node.value
            name = node.optional_vars if isinstance(node, ast.withitem) else node.targets[0]
            if isinstance(call, ast.Call) and isinstance(name, ast.Name) and (dotted(call.func) or "").endswith("ExcelWriter"):
                self.writers.add(name.id)

    def add(self, *_):
        """Imports are read elsewhere."""

    def choice(self, _):
        """As above."""

    def needs(self, names, line, optional, how):
        self.all += [(name, line + self.before, optional, -2, (how,)) for name in names.split()
                     if not INSTEAD.get(name, set()) & self.first]

    def call(self, node, optional):
        func, words = node.func, []
        while isinstance(func, ast.Attribute):
            words.insert(0, func.attr)
            func = func.value
        module, first = self.called.get(func.id, ("", func.id)) if isinstance(func, ast.Name) else ("", "")
        name = ".".join([first] * (not module or first != "") + words)
        if module:
            rows = [(p, r) for p, r in CALLS.get(module, {}).items() if not p.startswith("*.") and fnmatchcase(name, p)]
        else:
            rows = [(p, r) for m in sorted(self.first & CALLS.keys()) for p, r in CALLS[m].items()
                    if p.startswith("*.") and fnmatchcase(name, p)] if words and words[-1] not in self.own else []
        for _, row in rows[:1]:
            stored = [n for a in node.args[:1] for text, n in STORES if module == "pandas" or not module
                      if said_in(a, 0).startswith(text)]
            self.needs(" ".join([self.chosen(node, *row), *stored]), node.lineno, optional, (words or [first])[-1] + "()")

    def chosen(self, node, usual, place, keyword, choices):
        """Which of them it is, by the arguments."""
        args = {k.arg: k.value for k in node.keywords}
        by = args.get(keyword) if keyword else None
        by = by or (node.args[place] if place is not None and len(node.args) > place else None)
        if by is not None:
            said = [v.value for v in ast.walk(by) if isinstance(v, ast.Constant)]
            known = [choices[v] for v in said if v in choices]
            return " ".join(known) if known or said else usual
        at = node.args[0] if node.args else None
        if isinstance(at, ast.Name) and at.id in self.writers:
            return ""
        tail = said_in(at, -1).lower()
        return next((c for k, c in choices.items() if isinstance(k, str) and k.startswith(".") and tail.endswith(k)), usual)

    def texts(self, tree, rows):
        """Addresses of databases and the like, and applications of Django."""
        spoken = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
                how = next((t for t in rows if node.value.startswith(t)), None)
                self.needs(rows[how] if how else "", node.lineno, False, how)
            elif isinstance(node, ast.Assign) and (dotted(node.targets[0]) or "").endswith("_APPS"):
                for v in ast.walk(node.value):
                    app = v.value.split(".")[0] if isinstance(v, ast.Constant) and isinstance(v.value, str) else ""
                    self.needs(app if app in APPS else "", v.lineno if app else 0, False, "INSTALLED_APPS")


def parts_use(imports, first):
    for name, line, optional, level, parts in imports:
        words = name.split(".") if level == 0 else []
        for part in [".".join(words[:i + 1]) for i in range(len(words))] + [f"{name}.{p}" for p in parts if words]:
            for n in ALSO.get(part, "").split():
                if not INSTEAD.get(n, set()) & first:
                    yield n, line, optional, -2, (part,)


def tests_use(data, line_at):
    """Marks and fixtures that plugins of pytest have: a glance is enough."""
    seen = set()
    for pattern, names in ((MARKED, MARKS), (GIVEN, FIXTURES)):
        new = any(n not in FOUND and w.encode() in data for w, n in names.items())
        for m in pattern.finditer(data) if new else ():
            word = m.group(1).decode()
            if word not in seen and b"def %s(" % m.group(1) not in data:
                seen.add(word)
                yield names[word], line_at + data.count(b"\n", 0, m.start(1)) + 1, False, -2, (word,)


MARKED = re.compile(rb"^[ \t]*(?:@|pytestmark[ \t]*=[ \t]*\[?)pytest\.mark\.(asyncio|django_db|flaky|timeout|trio)\b", re.M)
GIVEN = re.compile(rb"^[ \t]*(?:async )?def test\w*\([^)]{0,500}\b(aiohttp_client|httpx_mock|mocker|requests_mock|respx_mock)\b", re.M)


def unspoken(texts, imports):
    """As imports, level -2, with how it is needed for parts. texts: (text, lines before it). Only a file with one of the
    words in it is parsed."""
    first = {name.split(".")[0] for name, _, _, level, _ in imports if not level}
    found, whole = list(parts_use(imports, first)), b"".join(t for t, _ in texts)
    for text, before in texts if b"def test" in whole or "pytest" in first else ():
        found += tests_use(text, before)
    FOUND.update(n for name, _, optional, level, _ in imports if level == 0 and not optional for n in (name, name.split(".")[0]))
    rows = {t: n for m in first & BEGINNINGS.keys() for t, n in BEGINNINGS[m] if n not in FOUND and t.encode() in whole}
    django = b"INSTALLED_APPS" in whole
    if django:
        rows.update((t, n) for t, n in DJANGO if t.encode() in whole)
        found.append(("django", 1, False, -2, ("INSTALLED_APPS",)))
    if len(whole) > WHOLE_MAX or not rows and not django and not may_use(first, whole):
        return found
    trees = []
    for text, before in texts:
        try:
            trees.append((ast.parse(text), before))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # which was said
    uses = Uses([t for t, _ in trees], first)
    uses.own |= {"plot"} if b"plotting.backend" in whole else set()
    for tree, before in trees:
        uses.visit(tree.body, False, before)
        if rows or django:
            uses.texts(tree, rows)
    FOUND.update(name for name, _, optional, _, _ in uses.all if not optional)
    return found + uses.all


if __name__ == "__main__":
    main()
