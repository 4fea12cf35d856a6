import concurrent.futures
import queue
import threading
import time
began = time.monotonic()
jobs, done = queue.Queue(), []

def worker():
    while (n := jobs.get()) is not None:
        done.append((n, n * n))

threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads:
    t.start()
for n in range(50):
    jobs.put(n)
for _ in threads:
    jobs.put(None)
for t in threads:
    t.join()
print(sorted(done)[-3:], f"{time.monotonic() - began:.2f}s")
with concurrent.futures.ThreadPoolExecutor() as pool:
    print(list(pool.map(lambda x: x + 1, range(5))))
