# needs:
import collections
import json
import sqlite3
from dataclasses import dataclass
from concurrent.futures import ThreadPoolExecutor

print(json.dumps(collections.Counter("hello")))
