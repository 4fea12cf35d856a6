import csv
import json
import random
import sqlite3
import uuid
rows = [{"id": str(uuid.uuid4()), "value": random.gauss(0, 1), "tag": random.choice("xyz")} for _ in range(500)]
with open("rows.csv", "w", newline="") as f:
    out = csv.DictWriter(f, rows[0])
    out.writeheader()
    out.writerows(rows)
base = sqlite3.connect("rows.db")
base.execute("create table t (id text primary key, value real, tag text, at text default current_timestamp)")
base.executemany("insert into t (id, value, tag) values (:id, :value, :tag)", rows)
base.commit()
found = base.execute("select tag, count(*), round(avg(value), 4), max(at) from t group by tag order by tag").fetchall()
json.dump(found, open("found.json", "w"))
print(found, base.execute("select random(), hex(randomblob(4))").fetchone())
