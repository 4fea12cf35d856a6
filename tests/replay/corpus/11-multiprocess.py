import multiprocessing
import os
import random

def work(n):
    random.seed(n)
    return n, sum(random.random() for _ in range(1000))

if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        for row in pool.map(work, range(8)):
            print(row)
    children = [multiprocessing.Process(target=lambda: os._exit(3)) for _ in range(3)]
    for c in children:
        c.start()
    for c in children:
        c.join()
    print([c.exitcode for c in children], [c.pid for c in children])
