"""The client of `fastmcp` 4, which is built on `mcp` 2."""

from typing import Any

import story
from fastmcp import Client
from story import LEGACY, MODERN, Answer, tell


class FastMcp:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.revision = client.session.protocol_version

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        result = await self.client.call_tool(tool, arguments, raise_on_error=False)
        return Answer(result.is_error, result.structured_content, story.text_of(result.content))

    async def read(self, uri: str) -> tuple[str, str]:
        content = (await self.client.read_resource(uri))[0]
        return str(content.uri), getattr(content, "text", "")


async def through(mode: str, revision: str) -> None:
    async with Client(story.URL, mode=mode) as client:
        await tell(FastMcp(client), revision)


story.main({
    "http": lambda: through("auto", MODERN),
    "http-legacy": lambda: through("legacy", LEGACY),
})
