#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A tool for a model's loop: runs Python that a model wrote and says, in words for the model, what came of it.

No daemon, no packages: it calls `pinfold run --json`. As a program it runs its standard input:

    echo 'print(6 * 7)' | python3 examples/tool.py
"""
import json
import os
import subprocess
import sys

PINFOLD = os.environ.get("PINFOLD", "pinfold")
DESCRIPTION = {
    "name": "run_python",
    "description": "Runs a Python program in a sandbox without a network and returns what it printed.",
    "input_schema": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
}


def run_python(code, *options):
    """The text that goes back to the model. `options` are those of pinfold run: --allow HOST, --time 10s, ..."""
    done = subprocess.run([PINFOLD, "run", "--json", "--time", "30s", *options, "--lang", "python", "-c", code],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    result = json.loads(done.stdout)
    parts = [result[stream]["text"] for stream in ("stdout", "stderr") if result[stream] and result[stream]["text"]]
    if result["status"] != "exited" or result["exit_code"]:
        parts.append(f"[{result['status']}, exit code {result['exit_code']}]")
    # What stopped it, with what would allow it: a model can act on these.
    parts += [f"[{d['what']}: {d['hint']}]" for d in result["denials"]]
    parts += [f"[{result[what][text]}]" for what, text in (("limit", "hint"), ("error", "message")) if result[what]]
    return "\n".join(part.rstrip("\n") for part in parts) or "[no output]"


if __name__ == "__main__":
    print(run_python(sys.stdin.read(), *sys.argv[1:]))
