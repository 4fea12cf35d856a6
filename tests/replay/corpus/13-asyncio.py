import asyncio
import random
import time

async def fetch(n):
    await asyncio.sleep(random.random() / 20)
    return n, round(asyncio.get_running_loop().time(), 2)

async def main():
    print(sorted(n for n, _ in await asyncio.gather(*map(fetch, range(10)))))
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.1)
    except asyncio.TimeoutError:
        print("timed out")
    out = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print((await out.communicate())[0], time.strftime("%c"))

asyncio.run(main())
