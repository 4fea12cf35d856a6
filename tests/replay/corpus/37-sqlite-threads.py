# SPDX-License-Identifier: Apache-2.0
"""A table of random numbers with times; threads that put some into a queue; sets in their order."""
import queue
import random
import sqlite3
import threading

db = sqlite3.connect("a.db")
db.execute("create table t(id integer primary key, r real, at text default current_timestamp, u blob default (randomblob(4)))")
db.executemany("insert into t(r) values(?)", [(random.random(),) for _ in range(50)])
db.commit()
print(db.execute("select count(*), sum(r), max(at), hex(u), random() from t").fetchone())
print(db.execute("select datetime('now')").fetchone())
db.execute("vacuum")
db.close()
numbers = queue.Queue()
for i in range(6):
    threading.Thread(target=lambda i=i: numbers.put((i, random.random()))).start()
print(sorted(numbers.get() for _ in range(6)))
print({str(x) for x in "order of these words".split()}, hash("x"))
