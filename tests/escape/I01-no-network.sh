#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: netns
#
# The default is no network: no interface but a loopback of the sandbox's own, and no route to anywhere.
# A name server that answers is a way out, too.
. "$(dirname "$0")/../lib/escape.sh"

claim "I01 without a policy there is nothing but a loopback of its own"

attack()
{
	inside -- /usr/bin/python3 -I -c '
import errno, socket
print("shut interfaces" if [n for _, n in socket.if_nameindex()] == ["lo"] else "open interfaces")
def door(name, good):
    print("shut" if good else "open", name)
for at in "192.0.2.1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "2001:db8::1", "fd00:ec2::254":
    s = socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET, socket.SOCK_DGRAM)
    door(at, s.connect_ex((at, 53)) in (errno.ENETUNREACH, errno.EADDRNOTAVAIL))
try:
    socket.getaddrinfo("localhost.example.org", 80)
    door("names", False)
except OSError:
    door("names", True)'
	ran
	shut interfaces 192.0.2.1 10.0.0.1 169.254.169.254 8.8.8.8 2001:db8::1 fd00:ec2::254 names
}

run_case
