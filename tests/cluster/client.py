"""A client that calls tools of a server over one connection."""

import http.client
import json
import urllib.parse


class CallFailed(Exception):
    """A call that has no result. `answer` is the text of the error; `None` if there is no answer."""

    def __init__(self, message, answer=None):
        super().__init__(message)
        self.answer = answer


class Client:
    """Calls tools over one connection, which is opened again after a failure."""

    def __init__(self, address, key, timeout=90):
        self.place = urllib.parse.urlsplit(address)
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.timeout = timeout
        self.connection = None
        self.is_stale = False

    def call(self, tool, **arguments):
        """Returns the structured result. An answer that is an error, or no answer, raises `CallFailed`."""
        self.is_stale = False
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        message["params"] = {"name": tool, "arguments": arguments}
        try:
            if self.connection is None:
                place = self.place
                self.connection = http.client.HTTPConnection(
                    place.hostname, place.port, timeout=self.timeout
                )
            self.connection.request("POST", self.place.path, json.dumps(message), self.headers)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise CallFailed(f"no answer: {error!r}") from error
        if response.status != 200:
            reason = f"{response.status}: {text[:300]!r}"
            raise CallFailed(reason, reason)
        answer = json.loads(text)
        result = answer.get("result")
        error = answer.get("error") or {}
        notes = (result or {}).get("_meta") or error.get("data") or {}
        self.is_stale = any("stale" in name for name in notes)
        if result is None or result["isError"]:
            reason = json.dumps(error or result["content"])[:300]
            raise CallFailed(reason, reason)
        return result["structuredContent"]

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None
