# SPDX-License-Identifier: Apache-2.0
# A Python that waits in a sandbox of its own until somebody's program comes: started, with the usual
# modules imported, used once. It is executed with -c by the guest; descriptor 100 is the guest's.
# Nothing of the caller is here before the claim, and nothing of this file is left when his program
# starts: names, descriptors and streams are what `python3 -c` or `python3 FILE` would have.
def pinfold():
    import io, os, signal, socket, struct, sys, time

    main = sys.modules["__main__"]
    ours = sys._getframe().f_code
    guest = socket.socket(fileno=100)
    os.close(101)
    for name in sys.argv[1].split(","):
        try:
            __import__(name)
        except Exception:
            pass  # not on this host: the program will say so if it needs it
    guest.send(b"r")
    _, fds, _, _ = socket.recv_fds(guest, 1, 4)
    guest.close()
    if len(fds) != 4:
        os._exit(1)
    # wire/plan.h: argv and envp are offsets of tables of offsets.
    block = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
    argv_at, argc, envp_at, envc, workdir = struct.unpack_from("=5I", block, 16)

    def text(at):
        return block[at:block.index(b"\0", at)]

    def table(at, count):
        return [text(i) for i in struct.unpack_from("=%dI" % count, block, at)] if count else []

    argv = [os.fsdecode(a) for a in table(argv_at, argc)]
    for to, fd in enumerate(fds[1:]):
        os.dup2(fd, to)
    for fd in fds:
        os.close(fd)
    os.environ.clear()
    for entry in table(envp_at, envc):
        key, _, value = entry.partition(b"=")
        os.environb[key] = value
    os.chdir(text(workdir))
    time.tzset()

    def stream(fd, mode, old):
        raw = io.FileIO(fd, mode, closefd=False)
        raw.name = old.name
        tty = raw.isatty()
        buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
        new = io.TextIOWrapper(buffer, old.encoding, old.errors, newline="\n" if fd else None,
                               line_buffering=fd == 2 or tty)
        new.mode = mode
        return new

    sys.stdin = sys.__stdin__ = stream(0, "r", sys.stdin)
    sys.stdout = sys.__stdout__ = stream(1, "w", sys.stdout)
    sys.stderr = sys.__stderr__ = stream(2, "w", sys.stderr)
    sys.orig_argv = argv
    del main.__dict__["pinfold"]
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
