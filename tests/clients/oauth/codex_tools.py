"""Asks the app server of Codex for the tools of its MCP servers: codex_tools.py COMMAND…"""

import json
import os
import signal
import subprocess
import sys

REQUESTS = [
    {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
    {"method": "initialized"},
    {"id": 2, "method": "mcpServerStatus/list", "params": {}},
]

process = subprocess.Popen(
    [*sys.argv[1:], "app-server"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    start_new_session=True,
)
assert process.stdin and process.stdout
for request in REQUESTS:
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
for line in process.stdout:
    answer = json.loads(line)
    if answer.get("id") == 2:
        break
# The command starts others.
os.killpg(process.pid, signal.SIGKILL)
servers = {server["name"]: server for server in answer["result"]["data"]}
found = servers["vademecum"]
assert any("search" in name for name in found["tools"]), found
