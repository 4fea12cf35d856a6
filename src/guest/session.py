# SPDX-License-Identifier: Apache-2.0
# A Python that stays in a sandbox and executes one piece of code after the other, in one namespace.
# It is compiled as "<pinfold>" by a word of -c; descriptor 200 is the host side's, in frames
# (wire/frame.h). Whatever a program prints goes elsewhere, so nothing printed can be taken for a result.
#
# Programs change what they find: builtins, os.write, json.dumps, sys.stdout. So what is needed here is taken
# at once, and the builtins are a copy (session_start.c). It is taken from modules that are part of the
# interpreter: what is written in Python would be most of the time that a session takes to be there.
def pinfold():
    import builtins, os, sys
    from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST
    from _io import BufferedWriter, BytesIO, FileIO, StringIO, TextIOWrapper
    from _json import encode_basestring, make_encoder
    from _signal import SIGINT, getsignal, signal
    from binascii import b2a_base64
    from posix import _exit, close, getpid, read, register_at_fork, set_inheritable, write
    from select import POLLIN, poll

    SOCK, FRAME_MAX, ALL_MAX, ROWS_MAX = 200, 16 << 20, 60 << 20, 10000
    set_inheritable(SOCK, False)
    close(101)
    os.environ["MPLBACKEND"] = "Agg"
    main = sys.modules["__main__"]
    pid = getpid()
    running = False  # user code
    quiet = 0  # how deep it is in functions of ours that must not be torn
    pending = False  # an interrupt came meanwhile
    sent = count = 0
    held = b""
    may_ask = True
    loop = None
    traceback = None
    cells = {}  # their lines, where linecache keeps them, once it is there
    inbox = poll()
    inbox.register(SOCK, POLLIN)
    FLAGS = PyCF_ALLOW_TOP_LEVEL_AWAIT
    BYTES = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
    METHODS = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_",
               "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_",
               "image/jpeg": "_repr_jpeg_", "application/pdf": "_repr_pdf_",
               "text/latex": "_repr_latex_", "application/json": "_repr_json_",
               "application/javascript": "_repr_javascript_"}

    class Json(str):
        """A text that is JSON already."""

    def on_interrupt(signo, frame):
        nonlocal pending
        if running and not quiet:
            raise KeyboardInterrupt
        pending = running

    # What runs inside is not torn by an interrupt; that comes when it is over.
    class Whole:
        def __enter__(self):
            nonlocal quiet
            quiet += 1

        def __exit__(self, *error):
            nonlocal quiet, pending
            quiet -= 1
            if pending and running and not quiet:
                pending = False
                raise KeyboardInterrupt

    whole = Whole()

    def take(n):
        parts = []
        while n:
            part = read(SOCK, n)
            if not part:
                _exit(0)  # nobody wants us any more
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def receive():
        head = take(9)
        return head[:1], take(int(head[1:], 16))

    # Closing one closes no descriptor: the next that is opened would get its number, and what is printed.
    def stream(fd, old):
        raw = FileIO(fd, "w", closefd=False)
        raw.name = old.name
        new = TextIOWrapper(BufferedWriter(raw), old.encoding, "backslashreplace", newline="\n",
                            line_buffering=True)
        new.mode = "w"
        return new

    streams = stream(1, sys.stdout), stream(2, sys.stderr)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams

    # One that the code before has closed is there again.
    def reopen():
        nonlocal streams
        for fd, name in (1, "stdout"), (2, "stderr"):
            now, ours = getattr(sys, name, None), streams[fd - 1]
            if ours.closed:
                new = stream(fd, ours)
                streams = (new, streams[1]) if fd == 1 else (streams[0], new)
                setattr(sys, "__%s__" % name, new)
            if now is None or getattr(now, "closed", False) is True:
                setattr(sys, name, streams[fd - 1])

    def flush():
        for out in (sys.stdout, sys.stderr, *streams):
            try:
                out.flush()
            except Exception:
                pass  # closed, or replaced by something without it

    # A result is followed by D at once: both are one write, and wake the other side once.
    def send(kind, payload):
        nonlocal held
        if getpid() != pid:
            return
        data = b"%b%b%08x%b" % (held, kind, len(payload), payload)
        held = data if kind == b"R" else b""
        data = memoryview(b"" if held else data)
        while data:
            data = data[write(SOCK, data):]

    def refuse(value):
        raise TypeError("%s is not JSON" % type(value).__name__)

    def dumps(value):
        encoder = make_encoder({}, refuse, encode_basestring, None, ": ", ", ", False, False, False)
        return Json("".join(encoder(value, 0)))

    def as_json(bundle):
        pairs = ["%s: %s" % (encode_basestring(k), v if type(v) is Json else encode_basestring(v))
                 for k, v in bundle.items()]
        return ("{%s}" % ", ".join(pairs)).encode("utf-8", "replace")

    # A frame that would be too much becomes one that says so.
    def send_result(kind, bundle):
        nonlocal sent
        payload = as_json(bundle)
        if len(payload) > FRAME_MAX:
            text = bundle.get("text/plain", "")[:1 << 20]
            payload = as_json({"text/plain": text + "\n[result of %d bytes left out]" % len(payload)})
        if sent + len(payload) > ALL_MAX:
            write(2, b"pinfold: results of more than 60 MiB are left out\n")
            return
        sent += len(payload)
        with whole:
            flush()
            send(kind, payload)

    def frame_records(value):
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(value, pandas.DataFrame):
            return None
        import json
        return json.loads(value.head(ROWS_MAX).to_json(orient="records", date_format="iso"))

    # application/json, and what is written in it, such as application/vnd.vegalite.v5+json.
    def is_json(mime):
        first, _, name = mime.partition("/")
        letters = name.translate({ord(c): None for c in ".+-_"})
        return first == "application" and len(mime) < 100 and letters.isascii() and \
            letters.isalnum() and (name == "json" or name.endswith("+json"))

    def is_known(mime):
        return mime in METHODS or mime in BYTES or mime == "text/plain" or is_json(mime)

    def encode(mime, data):
        if mime in BYTES:
            return "".join(data.split()) if isinstance(data, str) else \
                b2a_base64(data, newline=False).decode()
        if is_json(mime):
            return dumps(data)
        return str(data)

    def figure_png(figure):
        out = BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        return out.getvalue()

    def is_figure(value):
        module = sys.modules.get("matplotlib.figure")
        return module is not None and isinstance(value, module.Figure)

    def mimebundle(value):
        try:
            found = value._repr_mimebundle_(include=None, exclude=None)
        except TypeError:  # as if it took none
            found = value._repr_mimebundle_()
        found = found[0] if isinstance(found, tuple) else found
        return {mime: encode(mime, data) for mime, data in (found or {}).items() if is_known(mime)}

    # What a value says of itself, by type.
    def bundle_of(value):
        bundle = {}
        if hasattr(type(value), "_repr_mimebundle_"):
            try:
                bundle = mimebundle(value)
            except Exception:
                pass  # then it has none
        for mime, name in METHODS.items():
            if mime in bundle or not hasattr(type(value), name):
                continue
            try:
                data = getattr(value, name)()
                data = data[0] if isinstance(data, tuple) else data
                if data is not None:
                    bundle[mime] = encode(mime, data)
            except Exception:
                pass  # then it has none
        if is_figure(value) and "image/png" not in bundle:
            bundle["image/png"] = encode("image/png", figure_png(value))
        try:
            records = frame_records(value)
            if records is not None:
                bundle["application/json"] = encode("application/json", records)
        except Exception:
            pass
        if "text/plain" not in bundle:
            bundle["text/plain"] = repr(value)
        return bundle

    def display(*values, raw=False):
        """Show values as results. raw=True: they are dicts of data by MIME type."""
        for value in values:
            if not raw:
                send_result(b"P", bundle_of(value))
                continue
            wrong = [mime for mime in value if not is_known(mime)]
            if wrong:
                raise ValueError("display: unknown MIME type " + min(wrong))
            send_result(b"P", {mime: encode(mime, data) for mime, data in value.items()})

    def ask(prompt=""):
        if not may_ask:
            raise EOFError("input() is refused: whoever executes this does not answer questions")
        if getpid() != pid:
            raise EOFError("input() is refused in a process that was forked")
        with whole:
            flush()
            send(b"I", str(prompt).encode("utf-8", "replace")[:65536])
        head = b""
        while len(head) < 9:  # may be interrupted before an answer has begun
            part = read(SOCK, 9 - len(head))
            if not part:
                _exit(0)
            head += part
        with whole:
            text = take(int(head[1:], 16))
        if head[:1] == b"N":
            raise EOFError("input() was not answered")
        return text.decode("utf-8", "replace")

    def figures():
        plt = sys.modules.get("matplotlib.pyplot")
        if plt is None or not hasattr(plt, "get_fignums"):
            return
        for number in plt.get_fignums():
            figure = plt.figure(number)
            send_result(b"P", {"image/png": encode("image/png", figure_png(figure)),
                               "text/plain": repr(figure)})
        plt.close("all")

    # Who tells of errors is needed for errors, and takes longer to be imported than most code to execute.
    def load():
        nonlocal traceback, cells
        if traceback is not None:
            return
        try:
            import linecache
            import traceback as found
            linecache.cache.update(cells)
            cells, traceback = linecache.cache, found
        except Exception:
            pass  # a program has seen to that

    # The frames of this file are none of the user's business, nor is how it awaits.
    def strip(told, seen):
        if told is None or id(told) in seen:
            return
        seen.add(id(told))
        stack = told.stack
        if stack and stack[0].filename == "<pinfold>":
            while stack and (stack[0].filename == "<pinfold>" or "/asyncio/" in stack[0].filename):
                del stack[0]
        stack[:] = [frame for frame in stack if frame.filename != "<pinfold>"]
        for other in [told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or [])]:
            strip(other, seen)

    def told(error):
        try:
            load()
            text = traceback.TracebackException(type(error), error, error.__traceback__)
            strip(text, set())
            if not text.stack and isinstance(error, SyntaxError):
                return "".join(text.format_exception_only())
            return "".join(text.format())
        except Exception:
            return type(error).__name__

    def send_error(error):
        text = told(error)
        try:
            value = str(error)
        except Exception:
            value = "(its text could not be made)"
        send(b"E", as_json({"name": type(error).__name__, "value": value[:1 << 20],
                            "traceback": text[:1 << 20]}))

    # As in a notebook, a value with a semicolon behind it is not shown.
    def is_shown(last, lines):
        if not isinstance(last, Expr):
            return False
        behind = lines[last.end_lineno - 1].encode("utf-8")[last.end_col_offset:]
        return not behind.lstrip(b" \t\f").startswith(b";")

    def compiled(source, name, lines):
        tree = compile(source, name, "exec", PyCF_ONLY_AST | FLAGS, dont_inherit=True)
        last = None
        if tree.body and is_shown(tree.body[-1], lines):
            last = Expression(tree.body.pop().value)
        codes = []
        if tree.body:
            codes.append(compile(tree, name, "exec", FLAGS, dont_inherit=True))
        if last is not None:
            codes.append(compile(last, name, "eval", FLAGS, dont_inherit=True))
        return codes, last is not None

    def await_it(coroutine):
        nonlocal loop
        import asyncio
        if loop is None or loop.is_closed():
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                task.cancel()
                try:
                    loop.run_until_complete(task)
                except BaseException:
                    pass  # it was told
            raise

    def run_code(code, names):
        value = eval(code, names)
        if code.co_flags & 0x80:  # CO_COROUTINE: it awaits something
            value = await_it(value)
        return value

    # What came while we made ready for it interrupts it at once.
    def begin():
        nonlocal quiet, pending
        quiet = 0
        if pending:
            pending = False
            raise KeyboardInterrupt

    def run(source, name, lines):
        nonlocal running, pending
        value = None
        names = main.__dict__
        try:
            begin()
            codes, has_value = compiled(source, name, lines)
            for code in codes:
                value = run_code(code, names)
            if has_value and value is not None:
                builtins._ = value
                send_result(b"R", bundle_of(value))
            figures()
        finally:
            running = pending = False

    def execute(source):
        name = "<cell %d>" % count
        # With a newline at its end, as linecache has it of files: traceback counts on that.
        lines = StringIO(source if source.endswith("\n") else source + "\n", None).readlines()
        cells[name] = (len(source), None, lines, name)
        try:
            if "import" in source:
                load()  # it may ask for those lines itself
            run(source, name, lines)
            status = "ok"
        except SystemExit:
            if getpid() == pid:
                flush()
            raise
        except BaseException as error:
            if getpid() != pid:
                print(told(error), end="", file=sys.stderr)
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            flush()
            send_error(error)
        if getpid() != pid:
            flush()
            _exit(0 if status == "ok" else 1)  # a fork of the program's own: its part is over
        flush()
        send(b"D", b'{"status":"%b"}' % status.encode())

    # A handler of the program's own may raise here, where nothing of a frame is lost.
    def wait():
        try:
            if not inbox.poll(0):
                load()
            inbox.poll()
            return True
        except KeyboardInterrupt:
            return False
        except Exception as error:
            write(2, told(error).encode("utf-8", "backslashreplace"))
            return False

    def after_fork():
        try:
            close(SOCK)
        except OSError:
            pass

    register_at_fork(after_in_child=after_fork)
    builtins.display = display
    builtins.input = ask
    sys.argv = [""]
    sys.orig_argv = [sys.executable]
    signal(SIGINT, on_interrupt)
    send(b"H", b"")
    while True:
        try:
            if not wait():
                continue
            kind, payload = receive()
            if kind != b"X":
                continue
            running, quiet = True, 1
            may_ask = payload[:1] != b"n"
            sent = 0
            count += 1
            reopen()
            if getsignal(SIGINT) is not on_interrupt:
                signal(SIGINT, on_interrupt)  # or the next piece of code could not be interrupted
            execute(payload[1:].decode("utf-8"))
        except KeyboardInterrupt:
            pass  # by a handler of the program's own, too late


pinfold()
