# SPDX-License-Identifier: Apache-2.0
# A Python that stays in a sandbox and executes one piece of code after the other, in one namespace.
# It is compiled as "<pinfold>" by a word of -c; descriptor 200 is the host side's, in frames
# (wire/frame.h). Whatever a program prints goes elsewhere, so nothing printed can be taken for a result.
def pinfold():
    import ast, base64, builtins, io, json, linecache, os, signal, sys, traceback

    SOCK, FRAME_MAX, ALL_MAX, ROWS_MAX = 200, 16 << 20, 60 << 20, 10000
    os.set_inheritable(SOCK, False)
    os.close(101)
    os.environ["MPLBACKEND"] = "Agg"
    main = sys.modules["__main__"]
    pid = os.getpid()
    running = False  # user code
    quiet = 0  # how deep it is in functions of ours that must not be torn
    pending = False  # an interrupt came meanwhile
    sent = count = 0
    held = b""
    may_ask = True
    loop = None
    FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    IMAGES = {"image/png", "image/jpeg"}
    METHODS = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_",
               "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_",
               "image/jpeg": "_repr_jpeg_", "text/latex": "_repr_latex_",
               "application/json": "_repr_json_"}

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
            part = os.read(SOCK, n)
            if not part:
                os._exit(0)  # nobody wants us any more
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def receive():
        head = take(9)
        return head[:1], take(int(head[1:], 16))

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # closed, or replaced by something without it

    # A result is followed by D at once: both are one write, and wake the other side once.
    def send(kind, payload):
        nonlocal held
        if os.getpid() != pid:
            return
        data = b"%b%b%08x%b" % (held, kind, len(payload), payload)
        held = data if kind == b"R" else b""
        data = memoryview(b"" if held else data)
        while data:
            data = data[os.write(SOCK, data):]

    def as_json(value):
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

    # A frame that would be too much becomes one that says so.
    def send_result(kind, bundle):
        nonlocal sent
        payload = as_json(bundle)
        if len(payload) > FRAME_MAX:
            text = bundle.get("text/plain", "")[:1 << 20]
            payload = as_json({"text/plain": text + "\n[result of %d bytes left out]" % len(payload)})
        if sent + len(payload) > ALL_MAX:
            print("pinfold: results of more than 60 MiB are left out", file=sys.stderr)
            return
        sent += len(payload)
        with whole:
            flush()
            send(kind, payload)

    def frame_records(value):
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(value, pandas.DataFrame):
            return None
        return json.loads(value.head(ROWS_MAX).to_json(orient="records", date_format="iso"))

    def encode(mime, data):
        if mime in IMAGES:
            return "".join(data.split()) if isinstance(data, str) else base64.b64encode(data).decode()
        if mime == "application/json":
            json.dumps(data, allow_nan=False)
            return data
        return str(data)

    def figure_png(figure):
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        return out.getvalue()

    def is_figure(value):
        module = sys.modules.get("matplotlib.figure")
        return module is not None and isinstance(value, module.Figure)

    # What a value says of itself, by type.
    def bundle_of(value):
        bundle = {}
        whole_bundle = getattr(type(value), "_repr_mimebundle_", None)
        if whole_bundle:
            try:
                found = value._repr_mimebundle_()
                found = found[0] if isinstance(found, tuple) else found
                for mime, data in (found or {}).items():
                    if mime in METHODS or mime == "text/plain":
                        bundle[mime] = encode(mime, data)
            except Exception:
                bundle = {}
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
            wrong = set(value) - set(METHODS) - {"text/plain"}
            if wrong:
                raise ValueError("display: unknown MIME type " + sorted(wrong)[0])
            send_result(b"P", {mime: encode(mime, data) for mime, data in value.items()})

    def ask(prompt=""):
        if not may_ask:
            raise EOFError("input() is refused: whoever executes this does not answer questions")
        if os.getpid() != pid:
            raise EOFError("input() is refused in a process that was forked")
        with whole:
            flush()
            send(b"I", str(prompt).encode("utf-8", "replace")[:65536])
        head = b""
        while len(head) < 9:  # may be interrupted before an answer has begun
            part = os.read(SOCK, 9 - len(head))
            if not part:
                os._exit(0)
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

    # The frames of this file are none of the user's business.
    def strip(told, seen):
        if told is None or id(told) in seen:
            return
        seen.add(id(told))
        told.stack[:] = [frame for frame in told.stack if frame.filename != "<pinfold>"]
        for other in [told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or [])]:
            strip(other, seen)

    def told(error):
        try:
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

    def compiled(source, name):
        tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | FLAGS, dont_inherit=True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
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

    def run(source, name):
        nonlocal running, pending
        value = None
        names = main.__dict__
        try:
            running = True
            codes, has_value = compiled(source, name)
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
        lines = (source if source.endswith("\n") else source + "\n").splitlines(True)
        linecache.cache[name] = (len(source), None, lines, name)
        try:
            run(source, name)
            status = "ok"
        except SystemExit:
            if os.getpid() == pid:
                flush()
            raise
        except BaseException as error:
            if os.getpid() != pid:
                print(told(error), end="", file=sys.stderr)
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            flush()
            send_error(error)
        if os.getpid() != pid:
            flush()
            os._exit(0 if status == "ok" else 1)  # a fork of the program's own: its part is over
        flush()
        send(b"D", b'{"status":"%b"}' % status.encode())

    def after_fork():
        try:
            os.close(SOCK)
        except OSError:
            pass

    os.register_at_fork(after_in_child=after_fork)
    signal.signal(signal.SIGINT, on_interrupt)
    builtins.display = display
    builtins.input = ask
    sys.argv = [""]
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    del main.__dict__["pinfold"]
    send(b"H", b"")
    while True:
        try:
            kind, payload = receive()
            if kind != b"X":
                continue
            may_ask = payload[:1] != b"n"
            sent = 0
            count += 1
            execute(payload[1:].decode("utf-8"))
        except KeyboardInterrupt:
            pass  # by a handler of the program's own, too late


pinfold()
