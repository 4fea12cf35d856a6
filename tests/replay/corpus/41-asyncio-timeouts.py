# SPDX-License-Identifier: Apache-2.0
"""Children, a server and time limits in one loop, and alarms; how long each took is printed."""
import asyncio
import random
import signal
import subprocess
import time


async def main():
    loop = asyncio.get_running_loop()
    child = await asyncio.create_subprocess_shell("echo $$; date +%N", stdout=subprocess.PIPE)
    print(await child.communicate(), loop.time())
    server = await asyncio.start_server(lambda r, w: (w.write(b"hi"), w.close()), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(await reader.read(), writer.get_extra_info("sockname"), loop.time())
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.05)
    except asyncio.TimeoutError:
        print("too long", loop.time())
    print(await asyncio.gather(*(asyncio.sleep(random.random() / 20, n) for n in range(5))), loop.time())


def ring(*_):
    raise TimeoutError(time.time())


asyncio.run(main())
signal.signal(signal.SIGALRM, ring)
for wait in (lambda: time.sleep(3), signal.pause, lambda: [0 for _ in iter(int, 1)]):  # tidy: what sleeps is the program
    begin = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        wait()
    except TimeoutError as e:
        print("rang", e, time.perf_counter() - begin)
several = [subprocess.Popen(["bash", "-c", "echo $0 $RANDOM; date +%N", str(n)], stdout=subprocess.PIPE) for n in range(4)]
print([p.communicate()[0] for p in several])
