"""The client of `mcp` 2: both protocol generations; by default the newest that both sides support."""

from typing import Any

import story
from mcp import Client, StdioServerParameters
from story import LEGACY, MODERN, Answer, tell


class Mcp:
    def __init__(self, client: Client) -> None:
        self.client = client
        self.revision = client.protocol_version

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        return Answer(bool(result.is_error), result.structured_content, story.text_of(result.content))

    async def read(self, uri: str) -> tuple[str, str]:
        content = (await self.client.read_resource(uri)).contents[0]
        return str(content.uri), getattr(content, "text", "")


async def through(server: Any, revision: str, **options: Any) -> None:
    async with Client(server, **options) as client:
        await tell(Mcp(client), revision)


PIPE = StdioServerParameters(command=story.COMMAND, args=story.ARGUMENTS)

story.main({
    "http": lambda: through(story.URL, MODERN),
    "http-legacy": lambda: through(story.URL, LEGACY, mode="legacy"),
    "http-pinned": lambda: through(story.URL, MODERN, mode=MODERN),
    "stdio": lambda: through(PIPE, MODERN),
    "stdio-legacy": lambda: through(PIPE, LEGACY, mode="legacy"),
})
