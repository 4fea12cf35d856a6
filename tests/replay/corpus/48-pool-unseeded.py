import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor

def inside(n):
    return sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(n))

if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        print(pool.map(inside, [3000] * 9, chunksize=1))
        print(list(pool.imap_unordered(inside, [500] * 8)))
    with ProcessPoolExecutor(3) as pool:
        print(4 * sum(pool.map(inside, [700] * 6)) / 4200)
