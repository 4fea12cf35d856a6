# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: a TLS client whose hello offers a key that the server cannot use, so that it asks for a second
one; which names somebody else. second.py HOST PORT SECOND [early]: the latter sends it without being asked, first.
"""
import ctypes
import socket
import sys

TLS, CRYPTO = ctypes.CDLL("libssl.so.3"), ctypes.CDLL("libcrypto.so.3")
P = ctypes.c_void_p
for library, name in (TLS, "TLS_client_method"), (TLS, "SSL_CTX_new"), (TLS, "SSL_new"), (CRYPTO, "BIO_new"), \
        (CRYPTO, "BIO_s_mem"):
    getattr(library, name).restype = P
host, port, second = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = TLS.SSL_CTX_new(P(TLS.TLS_client_method()))
TLS.SSL_CTX_ctrl(P(context), 92, ctypes.c_long(0), ctypes.c_char_p(b"X25519:P-256"))  # groups


def client(name):
    tls = TLS.SSL_new(P(context))
    ways = [CRYPTO.BIO_new(P(CRYPTO.BIO_s_mem())) for _ in range(2)]
    TLS.SSL_set_bio(P(tls), P(ways[0]), P(ways[1]))
    named(tls, name)
    return tls, *ways


def named(tls, name):
    TLS.SSL_ctrl(P(tls), 55, ctypes.c_long(0), ctypes.c_char_p(name.encode()))


def sent(out):
    room = ctypes.create_string_buffer(65536)
    n = CRYPTO.BIO_read(P(out), room, 65536)
    return room.raw[:max(n, 0)]


s = socket.create_connection((host, port), 20)
tls, come, go = client(host)
done = TLS.SSL_connect(P(tls))
first = sent(go)
if sys.argv[4:] == ["early"]:
    other, _, out = client(second)
    TLS.SSL_connect(P(other))
    first += sent(out)
s.sendall(first)
named(tls, second)
answers = 0
try:
    while done != 1 and (data := s.recv(65536)):
        answers += data[:1] == b"\x16"
        CRYPTO.BIO_write(P(come), data, len(data))
        done = TLS.SSL_connect(P(tls))
        s.sendall(sent(go))
        if done != 1 and TLS.SSL_get_error(P(tls), done) != 2:
            break
except OSError:
    pass
print("asked again" if answers else "unheard", "connected" if done == 1 else "cut")
