#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model that is none: model.py PORT TRANSCRIPT

Speaks just enough of the two interfaces that coding agents use (/v1/messages, /v1/responses) to play a
fixed part: each answer is the next call of STEPS, as long as the result of the one before holds what it
has to hold. What the agent sent back is written to TRANSCRIPT, one JSON line a step; the last line says
whether the part was played to its end.
"""
import http.server
import json
import sys

BROKEN = "def mean(numbers):\n    return sum(numbers) / len(numbrs)\n"
TEST = "from mean import mean\nassert mean([1, 2, 6]) == 3, mean([1, 2, 6])\nprint('the test passed')\n"

# tool, arguments, what its result must hold.
STEPS = [
    ("sandbox_write_file", {"path": "mean.py", "content": BROKEN}, "2 lines to /home/user/mean.py"),
    ("sandbox_write_file", {"path": "test.py", "content": TEST}, "test.py"),
    ("sandbox_exec", {"command": "python3 test.py"}, "NameError: name 'numbrs' is not defined"),
    ("sandbox_read_file", {"path": "mean.py"}, "len(numbrs)"),
    ("sandbox_edit_file", {"path": "mean.py", "old_text": "numbrs", "new_text": "numbers"},
     "replaced 1 occurrence"),
    ("sandbox_exec", {"command": "python3 test.py"}, "the test passed"),
    ("sandbox_run_code", {"code": "from mean import mean\nmean([2, 4])"}, "3.0"),
    ("sandbox_status", {}, "default"),
]
DONE = "The test passes now."


class Part:
    """Where we are in it."""

    def __init__(self, path):
        self.at = 0
        self.out = open(path, "w", encoding="utf-8")

    def note(self, **what):
        print(json.dumps(what), file=self.out, flush=True)

    def next(self, results):
        """The call that follows on these results (texts, oldest first); None: it is over."""
        if len(results) < self.at:
            return STEPS[len(results)]  # he asks again
        if self.at:
            tool, _, want = STEPS[self.at - 1]
            got = results[-1] if results else ""
            self.note(step=self.at, tool=tool, good=want in got, result=got)
            if want not in got:
                return None
        if self.at == len(STEPS):
            self.note(finished=True)
            return None
        self.at += 1
        return STEPS[self.at - 1]


def text_of(content):
    """Of a result's content: a text, or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content or [] if isinstance(b, dict))


def tool_named(tools, name):
    """As the agent offers it: with a prefix of its own, or in a namespace."""
    for tool in tools or []:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools", []):
                if inner.get("name") == name:
                    return tool["name"], name
        if str(tool.get("name", "")).endswith(name):
            return None, tool["name"]
    return None, None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    part = None

    def log_message(self, *_):
        pass

    def send(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events):
        self.send("text/event-stream", b"".join(
            b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events))

    def do_HEAD(self):
        self.send("application/json", b"")

    def do_GET(self):
        self.send("application/json", b'{"data": [], "models": []}')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        try:
            asked = json.loads(body or b"{}")
        except ValueError:
            asked = {}
        if path.endswith("/messages"):
            messages(self, asked)
        elif path.endswith("/responses"):
            responses(self, asked)
        elif path.endswith("/count_tokens"):
            self.send("application/json", b'{"input_tokens": 10}')
        else:
            self.send("application/json", b"{}")


def messages(h, asked):
    """One turn of /v1/messages. A question without our tools is one of the agent's own (a title)."""
    _, name = tool_named(asked.get("tools"), STEPS[0][0])
    results = [text_of(block.get("content")) for m in asked.get("messages", [])
               if m["role"] == "user" and isinstance(m["content"], list)
               for block in m["content"] if block.get("type") == "tool_result"]
    step = h.part.next(results) if name else None
    if step:
        _, name = tool_named(asked["tools"], step[0])
        block = {"type": "tool_use", "id": "toolu_%02d" % h.part.at, "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": "msg_%02d" % h.part.at, "type": "message", "role": "assistant", "content": [],
               "model": asked.get("model", "none"), "stop_reason": None, "stop_sequence": None,
               "usage": usage}
    reason = "tool_use" if step else "end_turn"
    if not asked.get("stream"):
        whole = dict(block, **({"input": step[1]} if step else {"text": DONE}))
        h.send("application/json", json.dumps(
            dict(message, content=[whole], stop_reason=reason)).encode())
        return
    h.send_events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
         "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ])


def responses(h, asked):
    """One turn of /v1/responses."""
    results = [text_of(item.get("output")) for item in asked.get("input", [])
               if item.get("type") == "function_call_output"]
    space, name = tool_named(asked.get("tools"), STEPS[0][0])
    step = h.part.next(results) if name else None
    if step:
        space, name = tool_named(asked["tools"], step[0])
        item = {"type": "function_call", "id": "fc_%02d" % h.part.at, "call_id": "call_%02d" % h.part.at,
                "name": name, "arguments": json.dumps(step[1])}
        if space:
            item["namespace"] = space
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant",
                "content": [{"type": "output_text", "text": DONE}]}
    response = {"id": "resp_%02d" % h.part.at, "output": []}
    h.send_events([
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": dict(response, output=[item], usage={
            "input_tokens": 10, "input_tokens_details": None, "output_tokens": 10,
            "output_tokens_details": None, "total_tokens": 20})},
    ])


def main():
    Handler.part = Part(sys.argv[2])
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


if __name__ == "__main__":
    main()
