#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# numpy, pandas and matplotlib, from computing to a picture in the result.
. "$(dirname "$0")/../lib/cli.sh"

has_module()
{
	/usr/bin/python3 -I -c "import $1" 2>/dev/null && return
	skip "$1 [$MODE]" "the Python module $1 is not installed"
	return 1
}

# The picture is a result like any other: its type is in its bytes, its hash in the document.
picture()
{
	inside_json --time 50s --lang python -c '
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 10, 200)
plt.plot(x, np.sin(x)); plt.title("sin é"); plt.savefig("out.png")
import hashlib
data = open("out.png", "rb").read()
print(matplotlib.get_backend().lower(), data[:8] == b"\x89PNG\r\n\x1a\n", len(data),
      hashlib.sha256(data).hexdigest())'
	exits 0 "matplotlib draws"
	json_has 'out.split()[0] == b"agg" and out.split()[1] == b"True"' \
		"without a display, and it is a PNG"
	json_is "file added" \
		'" ".join(files["/home/user/out.png"][k] for k in ("type", "change"))' "the PNG"
	json_has 'str(files["/home/user/out.png"]["size"]) == out.split()[2].decode() and
		files["/home/user/out.png"]["sha256"] == out.split()[3].decode()' \
		"its size and hash"
	json_has '[p for p in files if files[p]["type"] == "file"] == ["/home/user/out.png"]' \
		"caches are not in the way"
	json_is '[]' 'd["denials"]' "nothing was refused"
	check "and nothing is said on standard error" test -z "$(json 'd["stderr"]["text"]')"
}

checks()
{
	needs python3 "python3" || return
	if has_module numpy; then
		inside --lang python -c 'import numpy as np
a = np.arange(250000.0).reshape(500, 500)
print(int(np.linalg.norm(a @ a.T)), np.fft.fft(a[0]).shape)'
		exits 0 "numpy computes, with its threads"
	fi
	if has_module pandas; then
		printf 'name,n\na,1\nb,2\na,3\n' >"$W/data.csv"
		own "$W"
		inside --dir "$W" --lang python -c 'import pandas as pd
d = pd.read_csv("/work/data.csv"); print(d.groupby("name").n.sum().to_dict())
d.to_csv("/work/out.csv")'
		prints "{'a': 4, 'b': 2}" "pandas reads, groups and writes"
		check "the caller's directory has no new file" test ! -e "$W/out.csv"
	fi
	has_module matplotlib && picture
}

run_checks
