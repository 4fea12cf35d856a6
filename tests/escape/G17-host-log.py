# SPDX-License-Identifier: Apache-2.0
# G17-host-log.py COMM: prints "ready", listens to the host's audit log until standard input ends, and then prints
# how many records name a program of that name. Where the log is off it is on meanwhile. "none": there is no log.
import select, socket, struct, sys

GET, SET, ENABLED, SYSCALL = 1000, 1001, 1, 1300
NETLINK_AUDIT, READLOG, SOL_NETLINK, ADD_MEMBERSHIP = 9, 1, 270, 1


def ask(sock, kind, body):
    sock.send(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body)
    answers = []
    while select.select([sock], [], [], 0.5)[0]:
        data = sock.recv(9000)
        answers.append((struct.unpack_from("=IH", data)[1], data[16:]))
    return answers


def enable(sock, on):
    ask(sock, SET, struct.pack("=II", ENABLED, on) + bytes(36))


def main():
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT)
    log = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT)
    log.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    log.bind((0, 0))  # one without a number of its own is passed over
    log.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, READLOG)
    was = next(struct.unpack_from("=II", body)[1] for kind, body in ask(sock, GET, b"") if kind == GET)
    if not was:
        enable(sock, 1)
    try:
        print("ready", flush=True)
        sys.stdin.read()
        found = 0
        while select.select([log], [], [], 1)[0]:
            found += b'comm="%s' % sys.argv[1].encode() in log.recv(65536)
    finally:
        if not was:
            enable(sock, 0)
    print(found)


try:
    main()
except (OSError, StopIteration):
    print("none", flush=True)
