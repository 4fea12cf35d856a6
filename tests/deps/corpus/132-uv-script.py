# needs: httpx rich
#!/usr/bin/env -S uv run --script
#
# /// script
# requires-python = ">=3.12"
# dependencies = ["httpx", "rich"]
# [tool.uv]
# exclude-newer = "2024-01-01T00:00:00Z"
# ///
import httpx
from rich.pretty import pprint
