"""Scenario of every client in this folder: list, search, get, read, and two errors.
It inspects only the values that the client library returns to its
caller."""

import asyncio
import os
import sys
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Protocol

URL = os.environ.get("VADEMECUM_URL", "")
SOCKET = os.environ.get("VADEMECUM_SOCKET", "")
COMMAND = os.environ.get("VADEMECUM_PROGRAM", "")
ARGUMENTS = ["mcp", "--data", os.environ.get("VADEMECUM_DATA", "")]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

INVALID_PARAMS = -32602
# Error code for a missing resource, by revision.
NOT_FOUND = {LEGACY: -32002, MODERN: INVALID_PARAMS}


@dataclass
class Answer:
    """Result of a tool call, independent of the client library."""

    failed: bool
    structured: Any
    text: str


class Client(Protocol):
    """Operations of a client library."""

    revision: str

    async def tools(self) -> list[str]: ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer: ...

    async def read(self, uri: str) -> tuple[str, str]: ...


class Wrong(Exception):
    """An expectation of the scenario was not met."""


async def tell(client: Client, revision: str) -> None:
    """Runs the scenario with a connected client."""
    same(client.revision, revision, "the revision agreed on")
    names = await client.tools()
    hit = await search(client, names)
    found = await client.call(listed(names, "knowledge.get"), {"source": hit["source"], "id": hit["id"]})
    true(not found.failed, f"the item was refused: {found.text}")
    has(str(found.structured), "Wipe the prisms", "what an item holds")
    uri, text = await client.read(hit["uri"])
    same(uri, hit["uri"], "the URI of what was read")
    has(text, "Wipe the prisms", "what a resource holds")
    refused = await client.call(listed(names, "knowledge.search"), {"query": "x", "sources": ["recipes"]})
    true(refused.failed, "a source that does not exist is an error of the tool")
    has(refused.text, "recipes", "the refusal")
    await fails(client.call("no.such.tool", {}), INVALID_PARAMS, "no.such.tool")
    await fails(client.read("notes://nothing"), NOT_FOUND[revision], "nothing")


async def search(client: Client, names: list[str]) -> dict[str, Any]:
    arguments = {"query": "who wipes the prisms", "sources": ["notes"]}
    answer = await client.call(listed(names, "knowledge.search"), arguments)
    true(not answer.failed, f"the search was refused: {answer.text}")
    hits = (answer.structured or {}).get("results") or [{}]
    same(hits[0].get("title"), "The lighthouse at Skerry", "the first hit of a search")
    true(answer.text != "", "a search has no text")
    return hits[0]


def listed(names: list[str], name: str) -> str:
    """Names are listed with dots, or with underscores for clients that refuse dots."""
    for known in names:
        if known in (name, name.replace(".", "_")):
            return known
    raise Wrong(f"`{name}` is not listed, only {', '.join(names)}")


async def fails(call: Awaitable[Any], code: int, name: str) -> None:
    try:
        answer = await call
    except Exception as error:
        # Every package has its own exception class; all of them keep the error sent by the server.
        sent = getattr(error, "error", None)
        true(sent is not None, f"`{name}`: not an error of the server: {error!r}")
        same(sent.code, code, f"the code for `{name}` ({sent.message})")
        has(sent.message, name, "the message of an error")
    else:
        raise Wrong(f"`{name}` is no error: {answer}")


def true(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


def same(found: Any, wanted: Any, what: str) -> None:
    true(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def has(text: str, part: str, what: str) -> None:
    true(part in text, f"{what}: no `{part}` in {text!r}")


def main(modes: dict[str, Callable[[], Awaitable[None]]]) -> None:
    """Runs one mode of a client. The first failure is printed and ends the process."""
    mode = sys.argv[1] if len(sys.argv) == 2 else ""
    if mode not in modes:
        sys.exit(f"no mode `{mode}`, only {', '.join(modes)}")
    try:
        asyncio.run(modes[mode]())
    except BaseException as error:
        sys.exit(said(error))


def said(error: BaseException) -> str:
    """Returns the text of the root cause, without enclosing exception groups."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def text_of(content: Any) -> str:
    """Returns the concatenated text of content blocks."""
    return "".join(getattr(block, "text", "") for block in content)
