# needs: pytest pytest-asyncio pytest-mock httpx h2
import httpx
import pytest


@pytest.mark.asyncio
async def test_it(mocker):
    async with httpx.AsyncClient(http2=True) as client:
        assert client
