import getpass, os, platform, random, secrets, socket, tempfile, time, uuid
print(uuid.uuid1(), uuid.uuid4(), uuid.getnode(), secrets.token_urlsafe(8), random.sample(range(1000), 5))
print(tempfile.mkdtemp(), tempfile.NamedTemporaryFile(delete=False).name, os.getpid(), os.getppid())
print(socket.gethostname(), platform.node(), getpass.getuser(), time.time_ns(), time.perf_counter_ns())
print(object(), {"x", "y", "z"}, hash(("a", 1)))
open("token", "w").write(secrets.token_hex(32))
