# SPDX-License-Identifier: Apache-2.0
"""Files with names that nobody chose, packed in two ways."""
import datetime
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import uuid

where = tempfile.mkdtemp()
print(where)
for i in range(5):
    with open(os.path.join(where, f"{uuid.uuid1()}-{secrets.token_hex(4)}.json"), "w") as f:
        json.dump({"id": str(uuid.uuid4()), "at": datetime.datetime.now().isoformat(), "made": os.stat(where).st_mtime}, f)
print(sorted(os.listdir(where)), [e.name for e in os.scandir(where)][0])
shutil.make_archive("all", "zip", where)
shutil.make_archive("all", "gztar", where)
for name in "all.zip", "all.tar.gz":
    print(name, hashlib.sha256(open(name, "rb").read()).hexdigest())
