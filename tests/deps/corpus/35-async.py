# needs: aiohttp aiofiles
import asyncio

import aiofiles
import aiohttp


async def main():
    async with aiohttp.ClientSession() as s, aiofiles.open("x", "w") as f:
        await f.write(await (await s.get("http://localhost")).text())


asyncio.run(main())
