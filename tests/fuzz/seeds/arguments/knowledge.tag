knowledge.tag
{"uri": "notes://1", "add": ["x"], "remove": "y"}