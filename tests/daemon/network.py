# SPDX-License-Identifier: Apache-2.0
# network.py USE: in a sandbox. Prints which network namespace it is in, by a number that is never given
# twice, after it did something there; USE "show": all that the namespace shows, before that.
import os, re, socket, struct, sys

# What is the whole host's, whatever namespace it is read in.
HOSTS = {"softnet_stat", "protocols", "psched", "rt_acct", "ptype", "netlink", "stat", "netfilter"}


def text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError as error:
        return error.strerror


def show():
    for top in ("/proc/net", "/proc/sys/net"):
        for where, below, files in os.walk(top):
            below[:] = sorted(set(below) - HOSTS)
            for name in sorted(set(files) - HOSTS):
                lines = text(os.path.join(where, name))
                if name == "sockstat":  # these are the host's
                    lines = re.sub("(orphan|alloc|mem) [0-9]+", "", lines)
                if name.startswith("nf_conntrack_") or name in ("inet_peer_threshold", "tcp_mem"):
                    continue
                print(os.path.join(where, name), lines)


def use(what):
    ipv4, ipv6, udp, tcp = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM, socket.SOCK_STREAM
    s = socket.socket(ipv6 if what in ("route6", "lease") else ipv4, tcp if what == "bind" else udp)
    if what == "bind":
        s.bind(("127.0.0.1", 8000))
        s.listen()
    elif what == "unix":
        a, b = socket.socketpair()
        a.send(b"x")
        s = socket.socket(socket.AF_UNIX)
        s.bind("\0name")
        s.listen()
    elif what == "route6":
        s.connect(("::1", 99))  # nothing is sent
    elif what == "packet":
        s.sendto(b"x", ("127.0.0.1", 99))
    elif what == "outside":
        try:
            s.connect(("203.0.113.5", 99))
        except OSError:
            pass
    elif what == "connection":
        s = socket.create_server(("127.0.0.1", 0))
        socket.create_connection(s.getsockname()).send(b"x")
    elif what == "lease":  # of a flow label, which outlives its socket
        asked = socket.inet_pton(ipv6, "::1") + struct.pack("=IBBHHHI", 0, 0, 1, 1, 60, 60, 0)
        s.setsockopt(41, 32, asked)
    return s


what = sys.argv[1]
if what == "show":
    show()
elif what != "nothing":
    kept = use(what)
s = socket.socket(socket.AF_UNIX)
print("cookie", struct.unpack("Q", s.getsockopt(socket.SOL_SOCKET, 71, 8))[0])
