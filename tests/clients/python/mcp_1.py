"""The client of `mcp` 1, which supports only the legacy protocol, also over WebSocket."""

import warnings
from typing import Any

import story
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl
from story import LEGACY, Answer, tell

with warnings.catch_warnings():
    # The WebSocket client is deprecated in this package, but the server supports WebSockets.
    warnings.simplefilter("ignore", DeprecationWarning)
    from mcp.client.websocket import websocket_client


class Mcp:
    def __init__(self, session: ClientSession, revision: str) -> None:
        self.session = session
        self.revision = revision

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        result = await self.session.call_tool(tool, arguments)
        return Answer(result.isError, result.structuredContent, story.text_of(result.content))

    async def read(self, uri: str) -> tuple[str, str]:
        content = (await self.session.read_resource(AnyUrl(uri))).contents[0]
        return str(content.uri), getattr(content, "text", "")


async def through(transport: Any) -> None:
    async with transport as (receive, send, *_), ClientSession(receive, send) as session:
        agreed = await session.initialize()
        await tell(Mcp(session, str(agreed.protocolVersion)), LEGACY)


async def websocket() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        await through(websocket_client(story.SOCKET))


story.main({
    "http": lambda: through(streamable_http_client(story.URL)),
    "websocket": websocket,
})
