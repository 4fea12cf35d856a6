# SPDX-License-Identifier: Apache-2.0
# A Python that waits in a sandbox of its own until somebody's program comes: with the usual modules
# imported, used once. It is executed with -c by the guest, or is a fork of a zygote that was; descriptor
# 100 is the guest's. Nothing of the caller is here before the claim, and nothing of this file is left
# when his program starts: names, descriptors and streams are what `python3 -c` or `python3 FILE` would
# have.
def pinfold():
    import gc, io, os, signal, socket, struct, sys, time

    main = sys.modules["__main__"]
    ours = sys._getframe().f_code
    modules = sys.argv[1].split(",")
    kind = sys.argv[2] if len(sys.argv) > 2 else ""

    # Of packages (warden/layered.h): all of them, as the program would have them, or nobody waits. What they
    # print, or put into the place of its streams, is the program's, and a process that they leave is not ours
    # to keep.
    def import_packages():
        from importlib import import_module
        said, null = os.memfd_create("said"), os.open("/dev/null", os.O_RDWR)
        streams = sys.stdin, sys.stdout, sys.stderr
        sys.argv = ["-c"]
        for fd in 1, 2:
            os.dup2(said, fd)
        for name in modules:
            import_module(name)
        for stream in streams[1:]:
            stream.flush()
        there = {p for p in os.listdir("/proc") if p.isdigit()}
        if os.fstat(said).st_size or there != {"1", str(os.getpid())} or \
                streams != (sys.stdin, sys.stdout, sys.stderr):
            os._exit(1)
        for fd in 1, 2:
            os.dup2(null, fd)
        os.close(null)
        os.close(said)

    def import_usual():
        for name in modules:
            try:
                __import__(name)
            except Exception:
                pass  # not on this host: the program will say so if it needs it

    if kind == "layer":
        try:
            import_packages()
        except BaseException:
            os._exit(1)
    else:
        import_usual()

    # Of wire/plan.h: strings by their place, tables of such places.
    def text(block, at):
        return block[at:block.index(b"\0", at)]

    def table(block, at, count):
        return [text(block, i) for i in struct.unpack_from("=%dI" % count, block, at)] if count else []

    def stream(fd, mode, old):
        raw = io.FileIO(fd, mode, closefd=False)
        raw.name = old.name
        tty = raw.isatty()
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        new = io.TextIOWrapper(buffer, old.encoding, old.errors, newline="\n" if fd else None,
                               line_buffering=fd == 2 or tty)
        new.mode = mode
        return new

    # The zygote: requests are of wire/fork.h. guest/forked.c says which process is where. Returns in
    # each fork, once it is in its sandbox, without any right, and like no other.
    def fork():
        import _ctypes, ctypes
        loader = ctypes.CDLL("/proc/self/fd/101")
        os.close(101)
        if not alone():
            os._exit(1)
        loader.loader_touch.argtypes = [ctypes.c_ulong, ctypes.c_ulong]
        pages = program_pages()
        gc.collect()
        gc.freeze()
        warden = socket.socket(fileno=0)
        while True:
            ask, fds, _, _ = socket.recv_fds(warden, 8, 8)
            if len(ask) != 8:
                os._exit(0)
            if os.fork() == 0:
                break
            for fd in fds:
                os.close(fd)
            os.wait()
        try:
            group = struct.unpack("=II", ask)[1]
            pid = loader.loader_enter(fds[0], fds[1], fds[3] if group else -1)
            if pid:
                if pid > 0:
                    os.waitpid(pid, 0)
                os._exit(pid < 0)
            for fd in fds[3 + group:]:
                os.write(fd, b"0")
            if os.fork():
                os._exit(0)
            warden.detach()
            listener = loader.loader_confine(fds[2])
            if listener < 0:
                os._exit(1)
            for start, size in pages:
                loader.loader_touch(start, size)
            _ctypes.dlclose(loader._handle)
            rehearse()
            reseed()
            while os.getppid() != 1:
                time.sleep(0.0002)
            guest = socket.socket(fileno=100)
            socket.send_fds(guest, [struct.pack("=Ii", 3, os.getpid())], [listener] if listener else [])
            if listener:
                os.close(listener)
            return guest
        except BaseException:
            os._exit(1)

    # The interpreter's own program: a fork has to find every page of it again.
    def program_pages():
        path = os.readlink("/proc/self/exe")
        found = []
        with open("/proc/self/maps") as maps:
            for line in maps:
                words = line.split()
                if len(words) > 5 and words[5] == path and words[1][1] == "-":
                    start, end = (int(n, 16) for n in words[0].split("-"))
                    found.append((start, end - start))
        return found

    # What the first moments of any program touch becomes a fork's own while nobody waits for it.
    def rehearse():
        out = stream(1, "w", sys.stdout)
        names = {"out": out}
        exec(compile("import sys\nprint(1, sys.argv, file=out)\n", "<string>", "exec"), names)
        out.flush()
        stream(0, "r", sys.stdin).read()
        [os.fsdecode(a) for a in table(struct.pack("=I", 4) + b"a\0", 0, 1)]
        os.environb[b"PINFOLD"] = b""
        del os.environb[b"PINFOLD"]
        time.tzset()

    # Nothing that a module made may be shared by forks (memory), or be lost to them without its
    # knowledge (descriptors, threads).
    def alone():
        with open("/proc/self/maps") as maps:
            shared = [m for m in maps if m.split()[1][1] == "w" and m.split()[1][3] == "s"]
        fds = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
        threads = "threading" in sys.modules and sys.modules["threading"].active_count() > 1
        return not shared and len(fds) == 1 and not threads

    # What Python's own fork() does not make anew.
    def reseed():
        modules = sys.modules
        if "numpy.random" in modules:
            # Its whole state, 624 words. seed() does the same by way of much more memory.
            numpy = modules["numpy"]
            words = numpy.frombuffer(os.urandom(624 * 4), numpy.uint32)
            numpy.random.set_state(("MT19937", words, 624))
        if "multiprocessing.process" in modules:
            process = modules["multiprocessing.process"]
            process.current_process().authkey = os.urandom(32)
        if "threading" in modules:
            modules["threading"].main_thread()._set_native_id()

    forked = kind == "zygote"
    if forked:
        guest = fork()
    else:
        guest = socket.socket(fileno=100)
        os.close(101)
        guest.send(b"r")
    _, fds, _, _ = socket.recv_fds(guest, 1, 4)
    guest.close()
    if len(fds) != 4:
        os._exit(1)
    # wire/plan.h: argv and envp are offsets of tables of offsets.
    block = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
    argv_at, argc, envp_at, envc, workdir = struct.unpack_from("=5I", block, 16)

    argv = [os.fsdecode(a) for a in table(block, argv_at, argc)]
    for to, fd in enumerate(fds[1:]):
        os.dup2(fd, to)
    for fd in fds:
        os.close(fd)
    os.environ.clear()
    for entry in table(block, envp_at, envc):
        key, _, value = entry.partition(b"=")
        os.environb[key] = value
    os.chdir(text(block, workdir))
    time.tzset()

    sys.stdin = sys.__stdin__ = stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = stream(2, "w", sys.stderr)
    sys.orig_argv = argv
    del main.__dict__["pinfold"]
    if forked:
        # What was there before stays out of the collector's way, or all of it would be copied; the
        # program's own names do not.
        names = dict(main.__dict__, __annotations__={})
        main = type(sys)("__main__")
        main.__dict__.clear()
        main.__dict__.update(names)
        sys.modules["__main__"] = main
    if argv[1] == "-c":
        sys.argv = argv[1:2] + argv[3:]
        source, name = os.fsencode(argv[2]), "<string>"
    else:
        name = argv[1]
        sys.argv = argv[1:]
        sys.path[0] = os.path.dirname(name)
        with open(name, "rb") as f:
            source = f.read()
        from importlib.machinery import SourceFileLoader
        main.__dict__.update(__file__=name, __cached__=None,
                             __loader__=SourceFileLoader("__main__", name))
    try:
        code = compile(source, name, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        tb = error.__traceback__
        while tb and tb.tb_frame.f_code is ours:
            tb = tb.tb_next
        sys.excepthook(type(error), error.with_traceback(tb), tb)
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        sys.exit(1)


pinfold()
