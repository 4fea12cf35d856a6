# SPDX-License-Identifier: Apache-2.0
"""What a directory of R's says that it needs. Runs inside a sandbox, on files that nobody trusts.

	python3 manifest_r.py ROOT

Prints one JSON document (engine/deps_kind.h): renv.lock counts, with its versions; else DESCRIPTION, with what it
depends on, imports and links to.
"""
import json
import os
import re
import stat
import subprocess
import sys

BYTES_MAX = 4 << 20
NEED = re.compile(r"\s*([A-Za-z][A-Za-z0-9.]*)\s*(?:\(\s*(>=|<=|==|>|<)\s*([0-9][0-9.-]*)\s*\))?\s*")
HERE = """cat(paste0("R-", R.version$major, ".", sub("[.].*", "", R.version$minor)), R.version$platform, sep = "\\n")"""


def read(root, name):
    path = os.path.join(root, name)
    try:
        st = os.lstat(path)
        if not stat.S_ISREG(st.st_mode) or st.st_size > BYTES_MAX:
            return None
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return None


def from_renv(text, out):
    packages = json.loads(text)["Packages"]
    for name, p in sorted(packages.items()):
        version = str(p.get("Version", ""))
        if p.get("Source", "Repository") not in ("Repository", "CRAN"):
            out["left"].append(f"{name} ({p.get('Source')})")
        elif re.fullmatch(r"[A-Za-z][A-Za-z0-9.]+", name) and re.fullmatch(r"[0-9][0-9.-]*", version):
            out["asked"].append(f"{name}=={version}")
        else:
            raise ValueError(f"{name[:40]}: no name and version of a package")


def from_description(text, out):
    fields, last = {}, None
    for line in text.split("\n"):
        if line[:1] in (" ", "\t") and last:
            fields[last] += " " + line.strip()
        elif ":" in line:
            last, _, value = line.partition(":")
            fields[last] = value.strip()
    if fields.get("Remotes"):
        out["left"] += [r.strip() for r in fields["Remotes"].split(",") if r.strip()]
    for field in ("Depends", "Imports", "LinkingTo"):
        for one in fields.get(field, "").split(","):
            m = NEED.fullmatch(one)
            if not one.strip() or (m and m.group(1) == "R"):
                continue
            if not m:
                raise ValueError(f"{field}: {one.strip()[:60]} is no package")
            asked = m.group(1) + (m.group(2) + m.group(3) if m.group(2) else "")
            if asked not in out["asked"]:
                out["asked"].append(asked)


def main(root):
    here = subprocess.run(["Rscript", "--no-init-file", "-e", HERE], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False).stdout.splitlines()
    out = {"lock": read(root, "pinfold.lock"), "file": None, "asked": [], "left": [], "why": None, "given": None,
           "interpreter": here[0] if len(here) > 1 else None, "platform": here[1] if len(here) > 1 else None}
    for name, take in (("renv.lock", from_renv), ("DESCRIPTION", from_description)):
        text = read(root, name)
        # One of a Debian package, or of anything else, is no manifest of R's.
        if text is None or (name == "DESCRIPTION" and not re.search(r"^(Package|Type|Imports|Depends):", text, re.M)):
            continue
        out["file"] = name
        try:
            take(text, out)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            out["why"] = str(e)[:200] or "it cannot be read"
        break
    print(json.dumps(out))


main(sys.argv[1])
