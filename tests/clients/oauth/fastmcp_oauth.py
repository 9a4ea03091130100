"""The client of `fastmcp`: registers itself, lets the user log in, and lists the tools."""

import asyncio
import os

from fastmcp import Client
from fastmcp.client.auth import OAuth


async def main() -> None:
    url = os.environ["VADEMECUM_URL"]
    async with Client(url, auth=OAuth(url)) as client:
        names = [tool.name for tool in await client.list_tools()]
    assert any("search" in name for name in names), names


asyncio.run(main())
