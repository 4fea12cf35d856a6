# A little benchmark of the kind that agents write.
import resource
import time
import timeit
for name, code in {"list": "[i*i for i in range(1000)]", "map": "list(map(lambda i: i*i, range(1000)))"}.items():
    took = timeit.timeit(code, number=200)
    print(f"{name}: {took * 1000:.3f} ms, {200 / took:.0f} per second")
cpu = time.process_time()
sum(range(10 ** 6))
print(f"cpu {time.process_time() - cpu:.6f}", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MiB")
