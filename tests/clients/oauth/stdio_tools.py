"""Asks an MCP server on standard input and output for its tools: stdio_tools.py COMMAND…"""

import json
import subprocess
import sys

CLIENT = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
REQUESTS = [
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", **CLIENT}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
]

process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert process.stdin and process.stdout
for request in REQUESTS:
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
    process.stdin.flush()
    if "id" in request:
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == request["id"], answer
process.kill()
names = [tool["name"] for tool in answer["result"]["tools"]]
assert any("search" in name for name in names), names
