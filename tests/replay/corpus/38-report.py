# SPDX-License-Identifier: Apache-2.0
"""What reports say of the machine and the moment."""
import cProfile
import datetime
import email.utils
import getpass
import io
import logging
import os
import platform
import pstats
import random
import resource
import socket
import zoneinfo

print(platform.node(), getpass.getuser(), socket.gethostname(), os.cpu_count(), os.getloadavg())
print(email.utils.formatdate(), email.utils.make_msgid(), datetime.datetime.now(zoneinfo.ZoneInfo("Europe/Berlin")))
profile = cProfile.Profile()
profile.enable()
sorted(random.random() for _ in range(1000))
profile.disable()
text = io.StringIO()
pstats.Stats(profile, stream=text).print_stats(3)
print(text.getvalue(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
logging.basicConfig(format="%(asctime)s %(process)d %(thread)d %(relativeCreated)d %(message)s")
logging.warning("done")
