#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/sync.sh: pushes of a tree of 10,000 files and 200 MB, beside `rsync -az` with its remote side
# run here over a pipe. Prints bytes, times and ratios; asserts nothing, leaves nothing behind.
#
#	FILES    how many (10000)
#	ROUNDS   of each push; the middle one counts (5)
#	TMPDIR   where (/tmp)
#	CC       the compiler (cc)

PROJECT=$(cd "$(dirname "$0")/.." && pwd)
FILES=${FILES:-10000}
ALSO=
ROUNDS=${ROUNDS:-5}
DIR=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-sync.XXXXXX") && cd "$DIR" || exit
trap 'cd / && rm -rf "$DIR"' EXIT
trap 'exit 130' INT TERM HUP

main()
{
	command -v rsync >/dev/null || { echo 'sync: no rsync here' >&2; exit 1; }
	build
	grow
	echo "tree: $(find tree -type f | wc -l) files, $(du -sb tree | cut -f1) bytes"
	echo
	printf '%-28s %12s %12s %9s %9s %7s %7s\n' push 'rsync bytes' 'ours' 'rsync ms' 'ours' \
		bytes time
	compare 'first' first - 1.0
	compare 'again into another tree' another
	compare 'one changed line' line 1.2 0.7
	compare 'nothing changed' nothing
	compare 'one line of a 6 MB file' large
	compare 'a directory renamed' renamed
	printf '\n%-44s %7s %7s\n' 'what is aimed for' ratio 'at most'
	cat verdicts
}

build()
{
	make -s -C "$PROJECT" build/libpinfold.a || exit
	"${CC:-cc}" -std=gnu17 -O2 -D_GNU_SOURCE -I"$PROJECT/src" -o sync "$PROJECT/bench/sync.c" \
		"$PROJECT"/build/release/base/*.o "$PROJECT"/build/release/sync/*.o \
		-static -lcrypto -lzstd -ljansson || exit
	# What rsync takes for a remote shell: drops the host's name and runs the rest here.
	printf '#!/bin/sh\nshift\nexec "$@"\n' >shell && chmod +x shell
}

# Text like source code, from words with a skewed frequency; binary like object files, half of it
# without any pattern; a few large ones of each kind.
grow()
{
	python3 -I - "$FILES" <<'PY'
import os, random, sys
random.seed(4)
count = int(sys.argv[1])
words = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz_") for _ in range(random.randint(2, 11)))
         for _ in range(5000)]
weights = [1 / (i + 1) for i in range(len(words))]
stock = [" ".join(random.choices(words, weights, k=random.randint(3, 11))) + random.choice([";", " {", ")", ""])
         for _ in range(60000)]

def text(size):
    lines, have = [], 0
    while have < size:
        line = "\t" * random.randint(0, 3) + random.choice(stock) + str(random.randint(0, 10**6)) + "\n"
        lines.append(line)
        have += len(line)
    return "".join(lines).encode()

def binary(size):
    parts, have = [], 0
    while have < size:
        part = random.randbytes(600) + random.choice(stock).encode() * 3 + bytes(random.randint(0, 900))
        parts.append(part)
        have += len(part)
    return b"".join(parts)

os.makedirs("tree/.git")
large = [6 << 20, 4 << 20, 3 << 20, 2 << 20] * 5
for i in range(count):
    where = f"tree/src{i % 20}/part{i % 600}"
    os.makedirs(where, exist_ok=True)
    size = large[i] if i < len(large) else int(random.lognormvariate(8.8, 1.05))
    kind = i % 5
    data = binary(size) if kind == 0 else text(size)
    with open(f"{where}/file_{i:05}.{'bin' if kind == 0 else 'c'}", "wb") as f:
        f.write(data)
PY
	sync
}

# New directories, and none is removed before the end: ext4 is slow to make files for some seconds
# after many were removed, whoever makes them.
fresh()
{
	SERIAL=$((${SERIAL:-0} + 1))
	THEIRS=$DIR/rsync$SERIAL OURS=$DIR/ours$SERIAL STATE=$DIR/state$SERIAL
	mkdir -p "$THEIRS" "$OURS" "$STATE/from" "$STATE/to"
	sync
}

now()
{
	date +%s%N
}

# push_rsync; push_ours: bytes and microseconds into results of their own.
push_rsync()
{
	_start=$(now)
	rsync -az --delete --stats -e "$DIR/shell" tree/ host:"$THEIRS/" >log || exit
	_end=$(now)
	awk -v us=$(((_end - _start) / 1000)) '/^Total bytes (sent|received)/ {
		gsub(",", "", $4); bytes += $4 } END { print bytes, us }' log >>rsync.result
}

push_ours()
{
	_start=$(now)
	# shellcheck disable=SC2086 # two words or none
	./sync tree "$OURS" "$STATE" $ALSO >log || exit
	_end=$(now)
	awk -v us=$(((_end - _start) / 1000)) '/^from:/ {
		for (i = 2; i <= NF; i++) if (split($i, kv, "=") == 2) v[kv[1]] = kv[2]
		print v["out"] + v["in"], us }' log >>ours.result
}

# What happens to the tree before a push.
before_first() { fresh; }
before_another() { FIRST=${FIRST:-"$OURS $STATE"} && fresh && ALSO=$FIRST; }
before_line() { ALSO= && sed -i "1s/^/$1/" tree/src7/part407/file_01007.c; }
before_nothing() { :; }
before_large() { sed -i "1000s/^/$1/" tree/src4/part4/file_00004.c; }
before_renamed() { mv "$(ls -d tree/src11*)" "tree/src11-$1"; }

middle()
{
	sort -n -k2 "$1" | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'
}

# verdict NAME RATIO TARGET: one line, to be printed at the end.
verdict()
{
	awk -v name="$1" -v ratio="$2" -v target="$3" 'BEGIN {
		printf "%-44s %7.3f %7.2f  %s\n", name, ratio, target, ratio <= target ? "pass" : "miss" }' >>verdicts
}

# compare NAME WHAT [BYTES [TIME]]: the last two are what is aimed for, - for nothing.
compare()
{
	rm -f rsync.result ours.result
	_i=0
	while [ "$_i" -lt "$ROUNDS" ]; do
		_i=$((_i + 1))
		"before_$2" "$_i"
		# In turns, so that neither always finds the files in memory.
		if [ $((_i % 2)) = 0 ]; then push_rsync && push_ours; else push_ours && push_rsync; fi
	done
	diff -r tree "$OURS" >/dev/null || { echo "sync: $1: not the same" >&2; exit 1; }
	_result="$(middle rsync.result) $(middle ours.result)"
	echo "$_result" | awk -v name="$1" '{
		printf "%-28s %12d %12d %9.1f %9.1f %7.3f %7.2f\n", name, $1, $3, $2 / 1000,
			$4 / 1000, $3 / $1, $4 / $2 }'
	[ "${3:--}" = - ] || verdict "$1: bytes, to rsync's" "$(echo "$_result" | awk '{ print $3 / $1 }')" "$3"
	[ "${4:--}" = - ] || verdict "$1: time, to rsync's" "$(echo "$_result" | awk '{ print $4 / $2 }')" "$4"
	[ "$2" != first ] || SENT=$(echo "$_result" | awk '{ print $3 }')
	[ "$2" != another ] ||
		verdict "$1: bytes, to the first" "$(echo "$_result $SENT" | awk '{ print $3 / $5 }')" 0.01
}

main
