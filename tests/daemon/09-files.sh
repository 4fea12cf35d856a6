#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: live-type, live-magiclinks
#
# Files of a sandbox that lives, through libpinfold: read, written, listed, watched; and all that
# hostile code inside can make of a path.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"

build_tool()
{
	local binary=${PINFOLD:-$PROJECT_DIR/build/pinfold} dir link

	[ "${binary#/}" != "$binary" ] || binary=$PROJECT_DIR/$binary
	dir=$(dirname "$binary")
	link=("$dir/libpinfold.a" -lcrypto -lsqlite3 -lzstd -ljansson -lyaml -lm)
	case ${dir##*/} in
	san-*)
		dir=${dir##*/san-}
		link+=("-fsanitize=${dir//-/,}")
		;;
	esac
	check "files.c compiles" cc -std=gnu11 -Wall -Wextra -Werror -I"$PROJECT_DIR/include" \
		-o "$M/files" "$TEST_DIR/files.c" "${link[@]}"
}

# files VERB [ARG...]: about the sandbox ID; status and output as of any call.
files()
{
	PINFOLD_COPY=$M/files pinfold "$1" "$ID" "${@:2}"
}

# files_start NAME VERB [ARG...]: the same in the background; it reads lines from the descriptor NAME.
files_start()
{
	local name=$1 pipe=$M/$1.pipe

	shift
	rm -f "$pipe"
	mkfifo "$pipe"
	call_files "$@"
	printf -v "${name}_OUT" %s "$OUT"
	PINFOLD_COPY=$M/files call_argv
	"${CALL[@]}" "$1" "$ID" "${@:2}" <"$pipe" >"$OUT" 2>"$ERR" {LIVE_FD}>&- &
	BACKGROUND+=("$!")
	printf -v "${name}_CALL" %s "$!"
	exec {PIPE_FD}>"$pipe"
	printf -v "$name" %s "$PIPE_FD"
}

# files_end NAME: no more lines; its output is OUT.
files_end()
{
	local fd=${!1} call=${1}_CALL out=${1}_OUT

	exec {fd}>&-
	wait "${!call}"
	RC=$?
	OUT=${!out}
}

# fails CODE NAME: the last call was refused with this code.
fails()
{
	check "$2: $1" grep -qE "^$1: " "$OUT"
}

# sh_inside COMMAND: in the sandbox; OUT is what it printed.
sh_inside()
{
	pinfold exec "$ID" -- bash -c "$1"
}

# has TEXT PATH NAME: that is what the file holds, seen from inside.
has()
{
	sh_inside "cat $2"
	prints "$1" "$3"
}

reading()
{
	sh_inside 'echo hello >a; mkdir d; ln -s ../a d/link; ln -s nowhere d/dangling; touch -d @1000000000 a; chmod 640 a'
	files stat a
	prints "file 640 $1 6 a" "a file's mode, owner and size"
	files stat d/link
	prints "file 640 $1 6 d/link" "through a link"
	files stat d/link nofollow
	prints "symlink 777 $1 4 d/link -> ../a" "or the link itself"
	files cat d/link
	prints hello "what is in it"
	files cat nosuch
	fails not_found.file "what is not there"
	files cat d/dangling
	fails not_found.file "a link to nowhere"
	files cat a/b
	fails not_found.file "a file is no directory"
	files cat d
	fails conflict.is_directory "a directory"
	files cat ''
	fails invalid_argument.path "no path"
	files cat "$(printf 'x%.0s' {1..5000})"
	fails invalid_argument.path "a path that is too long"
	files cat "$(printf 'x%.0s' {1..300})"
	fails invalid_argument.path "a name that is too long"
	files ls . 0
	prints "$(printf '%s\n' "file 640 $1 6 /home/user/a" "directory 755 $1 80 /home/user/d" \
		"symlink 777 $1 7 /home/user/d/dangling -> nowhere" "symlink 777 $1 4 /home/user/d/link -> ../a")" \
		"a tree, in order"
	files ls a
	fails conflict.not_directory "a file has nothing in it"
	sh_inside 'rm -r a d'
}

writing()
{
	files put x/y/z one
	fails not_found.file "not without the directory"
	files put x/y/z one p
	has one x/y/z "a new file"
	files stat x/y/z
	prints "file 644 $1 3 x/y/z" "with the usual mode"
	sh_inside 'chmod 4751 x/y/z; ln x/y/z same'
	files put x/y/z two
	has two x/y/z "another in its place"
	has one same "the old one did not change"
	files stat x/y/z
	prints "file 751 $1 3 x/y/z" "with the mode of the old one, but no rights of others"
	files put x/y/z three '' 600
	files stat x/y/z
	prints "file 600 $1 5 x/y/z" "or the one that is asked for"
	files put x/y/z no n
	fails conflict.exists "not where there is one"
	files put x/y/z ' four' a
	has 'three four' x/y/z "at its end"
	files put x/y/new first a
	has first x/y/new "or as the first"
	files put x/y/z nothing q
	has 'three four' x/y/z "nothing, when it is given up"
	sh_inside 'ln -s x/y/z link; ln -s x/made dangling; ln -s loop loop'
	files put link through
	has through x/y/z "through a link"
	files put dangling made
	has made x/made "a link to what is not there yet"
	files put loop x
	fails denied.path "a link to itself"
	files put x/y x
	fails conflict.is_directory "a directory"
	files put /etc/passwd x
	fails denied.path "what is not the user's"
	sh_inside 'chmod 444 x/made'
	files put x/made x
	fails denied.path "what its owner does not want written"
	files put x/made/y x
	fails conflict.not_directory "below a file"
	head -c 3000000 /dev/urandom >"$W/blob"
	own "$W/blob"
	files put blob - <"$W/blob"
	sh_inside 'sha256sum <blob'
	prints "$(sha256sum <"$W/blob")" "three megabytes in"
	files cat blob
	check "and out again" cmp "$OUT" "$W/blob"
	printf '#!/bin/sh\necho ran\n' >"$W/script"
	own "$W/script"
	files put script - '' 755 <"$W/script"
	sh_inside './script'
	prints ran "it can be executed at once"
	sh_inside 'ls -A'
	prints $'blob\ndangling\nlink\nloop\nsame\nscript\nx' "nothing else is left"
	head -c 40000000 /dev/zero >"$W/large"
	own "$W/large"
	files put large - <"$W/large"
	prints 'write: No space left on device' "more than there is room for"
	files stat large
	fails not_found.file "leaves nothing"
	rm "$W/large"
	sh_inside 'rm -rf ./*'
}

changing()
{
	files mkdir one/two
	fails not_found.file "a directory below one that is not there"
	files mkdir one/two p
	exits 0 "with all above it"
	files mkdir one/two p
	exits 0 "and again"
	files mkdir one/two
	fails conflict.exists "not again without that"
	files put one/f text
	files mkdir one/f/g p
	fails conflict.not_directory "below a file"
	files mv one/f one/g
	has text one/g "a new name"
	files mv one/f one/h
	fails not_found.file "what is not there"
	files mv one/g /tmp/g
	has text /tmp/g "to another mount"
	files stat one/g
	fails not_found.file "and away"
	files mv one /tmp/one
	check "a directory, too, or it is said" grep -qE "^(unsupported: .*|)$" <(cat "$OUT"; echo)
	sh_inside 'mkdir -p ~/one; rm -rf /tmp/one'
	files ln 'some where' link
	files stat link nofollow
	prints "symlink 777 $1 10 link -> some where" "a link"
	files ln x link
	fails conflict.exists "not in the place of another"
	files rm link
	exits 0 "which is removed itself"
	files chmod /tmp/g 4750
	files stat /tmp/g
	prints "file 4750 $1 4 /tmp/g" "its mode"
	files rm /tmp/g
	exits 0 "removed"
	files rm /tmp/g
	fails not_found.file "once"
	sh_inside 'mkdir -p t/a/b/c t/d; touch t/a/b/f t/a/b/c/g t/d/h; ln -s ~/one t/out; mkfifo t/a/p; mkdir e; touch one/stays'
	files rm t
	fails conflict.not_empty "not with what is in it"
	files rm e
	exits 0 "an empty one"
	files rm t below
	exits 0 "with all below"
	sh_inside 'ls -A; ls one'
	prints $'one\nstays' "and nothing but that"
	sh_inside 'mkdir -p locked/in; touch locked/in/f; chmod 500 locked/in'
	files rm locked below
	[ "$1" = 0 ] || fails denied.path "what its owner locked"
	files rm / below
	fails invalid_argument.path "not everything"
	sh_inside 'chmod 700 locked/in 2>/dev/null; rm -rf ./*'
}

# What changed, and when.
changes()
{
	sh_inside 'mkdir -p t/s; touch t/old t/s/old; until [ "$(stat -c %Z mark 2>/dev/null || echo 0)" -gt "$(stat -c %Z t/s/old)" ]; do touch mark; done
		until expr "$(stat -c %.9Z t/s/new 2>/dev/null || echo 0)" \> "$(stat -c %.9Z mark)" >/dev/null; do
			rm -f t/s/new; touch -d @0 t/s/new; done' # not within the same tick of the clock
	files since t mark
	prints "$(printf '%s\n' "directory 755 $1 80 /home/user/t/s" "file 644 $1 0 /home/user/t/s/new")" "what changed since, by the time that nobody can set"
	sh_inside 'rm -rf ./*'
}

watching()
{
	sh_inside 'mkdir -p w/sub'
	files_start WATCH watch w recursive
	check "a watch begins" wait_for 5 grep -qx watching "$WATCH_OUT"
	sh_inside 'cd w; echo x >f; chmod 600 f; mv f g; mv g sub/g; mkdir -p n/m; until echo y >n/m/k; do :; done; mv sub moved; echo z >moved/g; rm moved/g; mv n ..; touch ../n/unseen; mv ../n back; touch end'
	files_end WATCH
	exits 0 "it ends"
	local wanted line missing=
	wanted="create f;write f;chmod f;rename g < f;rename sub/g < g;create n;create n/m;create n/m/k"
	wanted+=";rename moved < sub;write moved/g;remove moved/g;remove n;create back;create back/m/k;create end"
	while IFS= read -r line; do
		line=$(sed "s, , /home/user/w/,; s,< ,< /home/user/w/," <<<"$line")
		grep -qxF "$line" "$OUT" || missing+="[$line]"
	done < <(tr ';' '\n' <<<"$wanted")
	check "every event came$missing" test -z "$missing"
	check "nothing from elsewhere" not grep -q /n/unseen "$OUT"
	files_start WATCH watch w
	wait_for 5 grep -qx watching "$WATCH_OUT"
	sh_inside 'touch w/moved/deep; touch w/flat; rm -r w'
	check "the directory itself goes" wait_for 5 grep -qx over "$WATCH_OUT"
	files_end WATCH
	check "only its own entries" not grep -q deep "$OUT"
	check "of those all" grep -qx 'create /home/user/w/flat' "$OUT"
	files watch nosuch
	fails not_found.file "what is not there"
	files watch /etc/passwd
	fails conflict.not_directory "a file"
	sh_inside 'mkdir many; cd many; mkdir $(seq 4200)'
	files watch many recursive
	fails limit_exceeded "more directories than one may watch"
	files_start WATCH watch many
	wait_for 5 grep -qx watching "$WATCH_OUT"
	pinfold kill "$ID"
	check "it ends with the sandbox" wait_for 5 grep -qx over "$WATCH_OUT"
	files_end WATCH
	live
}

not()
{
	! "$@"
}

# Whatever a path is made to be: no byte of anything else, and nobody waits.
hostile_paths()
{
	local path

	sh_inside 'mkfifo fifo; ln -s fifo tofifo; ln -s /dev/zero tozero; python3 -c "
import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"; echo secret >mine; ln -s /proc/self/fd/3 fd3; ln -s /proc/1/root/etc/passwd root1'
	for path in fifo tofifo sock /dev/zero tozero /dev/null /dev/tty /dev/ptmx; do
		files cat "$path" 100
		fails denied.path "read $path"
		files put "$path" x
		fails denied.path "write $path"
		files put "$path" x a
		fails denied.path "append to $path"
	done
	for path in /proc/self/fd/3 /proc/thread-self/fd/3 fd3 /proc/self/exe /proc/self/cwd/home/user/mine \
		/proc/self/root/etc/passwd /proc/1/root/etc/passwd /proc/1/cwd/etc/passwd root1 /proc/1/exe \
		/proc/self/mem /proc/self/maps /proc/1/environ /proc/self/pagemap; do
		files cat "$path" 100
		fails denied.path "read $path"
		files put "$path" x
		fails denied.path "write $path"
	done
	files rm /proc/self/fd/3
	fails denied.path "remove a link of /proc"
	files mkdir /proc/self/cwd/home/user/through
	fails denied.path "make a directory through one"
	sh_inside 'test ! -e through'
	exits 0 "it is not there"
	files ls /proc/self/fd
	check "the server has its channel open, and nothing else" test \
		"$(grep -v ' /proc/self/fd/[0-9] -> /proc/[0-9]*/fd$' "$OUT" | sed 's/.*-> //; s/:.*//')" = socket
	files stat fifo
	check "a FIFO can be looked at" grep -q '^fifo ' "$OUT"
	sh_inside 'rm -f ./*'
}

# A name that is a file and a trap by turns, while it is opened.
races()
{
	sh_inside 'echo good >good; echo good >p'
	pinfold exec --detach "$ID" -- python3 -c '
import os
os.chdir("/home/user")
while True:
    for make in (lambda: os.symlink("/dev/zero", "n"), lambda: os.mkfifo("n"), lambda: os.symlink("/dev/full", "n"),
                 lambda: os.link("good", "n"), lambda: os.symlink("/proc/self/fd/0", "n")):
        make()
        os.rename("n", "p")'
	files race p
	prints both "by turns a file and a trap: only the file is opened"
	pinfold kill --signal TERM "$ID"
	check "all end" wait_for 5 inside_is_quiet
	sh_inside 'rm -f ./*'
}

inside_is_quiet()
{
	pinfold exec "$ID" -- pgrep python
	[ "$RC" = 1 ]
}

# What the sandbox can do to the server itself.
server_attacked()
{
	local before

	sh_inside 'echo f >f'
	files_start AGAIN again f
	wait_for 5 grep -qx open "$AGAIN_OUT"
	sh_inside 'pgrep -x pinfold-files >server; grep -E "^(Uid|CapEff|NoNewPrivs|Seccomp):" /proc/self/status >own; grep -E "^(Uid|CapEff|NoNewPrivs|Seccomp):" /proc/$(cat server)/status >its; diff own its && echo same'
	prints same "the server has a command's rights"
	sh_inside 'p=$(cat server); cat /proc/$p/environ /proc/$p/maps; ls /proc/$p/fd /proc/$p/cwd/; head -c1 /proc/$p/mem; python3 -c "
import ctypes, sys
print(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0))" $p' 
	prints -1 "it can be neither looked into nor traced"
	pinfold kill --signal TERM "$ID"
	echo >&"$AGAIN"
	check "a signal for all is not for the server" wait_for 5 grep -q '^file 644' "$AGAIN_OUT"
	check "what is inside cannot end it, where the kernel has scopes for signals" cannot_kill
	end_server KILL
	echo >&"$AGAIN"
	check "one that was killed is replaced" wait_for 5 twice "$AGAIN_OUT"
	end_server STOP
	before=$(date +%s)
	echo >&"$AGAIN"
	check "one that is stopped: the operation ends" wait_for 15 grep -q '^timeout: ' "$AGAIN_OUT"
	check "after ten seconds" test $(($(date +%s) - before)) -ge 9
	echo >&"$AGAIN"
	check "the next has another server" wait_for 5 thrice "$AGAIN_OUT"
	files_end AGAIN
	end_server KILL
	files_start LATE late g
	wait_for 5 grep -qx written "$LATE_OUT"
	end_server KILL
	echo >&"$LATE"
	files_end LATE
	check "what a killed server had is lost, and said to be" grep -q '^conflict.gone: ' "$OUT"
	check "the channel goes on" grep -q '^directory 1777' "$OUT"
	sh_inside 'ls -A'
	prints $'f\nits\nown\nserver' "no half of a file is left"
	check "no server outlives its channel" wait_for 5 not servers
	sh_inside 'rm -f ./*'
}

servers()
{
	local guest

	for guest in $(guests); do
		pgrep -P "$guest" -x pinfold-files
	done | grep .
}

# end_server SIGNAL: as hostile code could on a kernel whose Landlock has no scopes.
end_server()
{
	kill "-$1" $(servers)
	[ "$1" != KILL ] || wait_for 5 not servers
}

cannot_kill()
{
	sh_inside 'kill -9 $(cat server)'
	[ "$RC" != 0 ] || ! landlock_has_scopes
}

# By its system call: landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION).
landlock_has_scopes()
{
	[ "$(/usr/bin/python3 -I -c 'import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))')" -ge 6 ]
}

twice()
{
	[ "$(grep -c '^file 644' "$1")" = 2 ]
}

thrice()
{
	[ "$(grep -c '^file 644' "$1")" = 3 ]
}

large()
{
	live --disk 480M --memory 1G
	sh_inside 'python3 -c "
import os
os.mkdir(\"big\"); os.chdir(\"big\")
for i in range(100000): os.mknod(\"%06d\" % (99999 - i))"'
	files count big
	prints 100000 "a hundred thousand entries, in order"
	files rm big below
	exits 0 "and they can be removed"
	sh_inside 'python3 -c "
import os
for i in range(1000):
    os.mkdir(\"d\" * 200); os.chdir(\"d\" * 200)"; ls'
	files ls . 0
	check "a path that is too deep is left out" test "$(wc -l <"$OUT")" = 20
	files rm "$(printf 'd%.0s' {1..200})" below
	exits 0 "and removed all the same"
	sh_inside 'truncate -s 9223372036854775807 sparse || truncate -s 1E sparse; stat -c %s sparse'
	local size
	size=$(cat "$OUT")
	files stat sparse
	prints "file 644 $1 $size sparse" "a file of $size bytes that holds nothing"
	files cat sparse 1000
	check "is read as far as one wants" test "$(stat -c %s "$OUT")" = 1000
	sh_inside 'rm -f ./*; touch "$(printf "n\nl")" "$(printf "\377\376")" -- -rf " " "$(printf "\033[31m")" "$(printf "x%.0s" {1..255})"'
	files ls .
	check "odd names" test "$(wc -l <"$OUT")" = 6
	files rm $'n\nl'
	exits 0 "a name with a line's end"
	files cat $'\377\376'
	exits 0 "one that is no text"
	sh_inside 'rm -f ./* ./-rf'
	pinfold kill "$ID"
	live
}

paused()
{
	files_start AGAIN again /tmp
	wait_for 5 grep -qx open "$AGAIN_OUT"
	pinfold pause "$ID"
	files stat /tmp
	fails conflict.paused "a paused one"
	echo >&"$AGAIN"
	check "also through a channel from before" wait_for 5 grep -q '^conflict.paused: ' "$AGAIN_OUT"
	pinfold resume "$ID"
	echo >&"$AGAIN"
	check "it goes on" wait_for 5 grep -q '^directory 1777' "$AGAIN_OUT"
	files_end AGAIN
	local old=$ID
	ID=sbxaaaaaaaaaaaaaaaaaaaaaaaaaa
	files stat /tmp
	fails not_found.sandbox "one that is not there"
	ID=nothing
	files stat /tmp
	fails invalid_argument "what is not an id"
	ID=$old
}

full_of_processes()
{
	local old=$ID

	live --pids 8
	pinfold exec --detach "$ID" -- python3 -c '
import os, signal
while True:
    try:
        if os.fork() == 0:
            signal.pause()
    except OSError:
        pass'
	check "a sandbox without room for a server says so" wait_for 10 has_no_room
	pinfold kill "$ID"
	ID=$old
}

has_no_room()
{
	files stat /
	grep -qE '^(busy|limit_exceeded)[a-z._]*: ' "$OUT"
}

live()
{
	pinfold run --detach "${BEST[@]}" --disk 32M --time 5m "$@"
	ID=$(cat "$OUT")
}

# pinfold cp: the same files, by the verb.
copying()
{
	mkdir -p "$W/up/sub/empty"
	echo one >"$W/up/one"
	printf '#!/bin/sh\necho ran\n' >"$W/up/sub/tool"
	chmod 755 "$W/up/sub/tool"
	ln -s ../one "$W/up/sub/link"
	ln -s /etc/passwd "$W/up/out"
	truncate -s 300M "$W/up/holes"
	echo end >>"$W/up/holes"
	own "$W/up"
	pinfold cp "$W/up" "$ID:"
	exits 0 "a tree goes in"
	sh_inside 'find up | sort; cat up/one; up/sub/tool; readlink up/sub/link up/out; stat -c %s up/holes; tail -c 4 up/holes'
	prints "$(printf '%s\n' up up/holes up/one up/out up/sub up/sub/empty up/sub/link up/sub/tool one ran ../one \
		/etc/passwd 314572804 end)" "as it is"
	pinfold cp "$W/up" "$ID:/tmp/new"
	sh_inside 'cat /tmp/new/one'
	prints one "under another name"
	pinfold cp "$W/up/one" "$ID:/tmp/new/two"
	sh_inside 'cat /tmp/new/two'
	prints one "a file"
	pinfold cp "$ID:up" "$W/down"
	exits 0 "a tree comes out"
	check "the same" diff -r --no-dereference "$W/up" "$W/down"
	check "with its modes" test "$(stat -c %a "$W/down/sub/tool")" = 755
	check "holes are holes" test "$(stat -c %b "$W/down/holes")" -lt 1000
	pinfold cp "$ID:up/one" "$W"
	check "a file, into a directory" test "$(cat "$W/one")" = one
	pinfold cp "$ID:/etc/passwd" "$W/passwd"
	check "of the sandbox, not of the host" grep -q '^user:x:1000' "$W/passwd"
	pinfold cp "$ID:nosuch" "$W"
	refuses not_found nosuch "what is not there"
	pinfold cp "$W/nosuch" "$ID:x"
	refuses not_found x "nor here"
	sh_inside 'mkfifo up/fifo; chmod 4755 up/one'
	pinfold cp "$ID:up" "$W/again"
	says 'left out' "a FIFO is left out, and that is said"
	check "no rights of others" test "$(stat -c %a "$W/again/one")" = 755
	# A name that was a link of the host's before is replaced, not followed.
	mkdir "$W/trap"
	echo safe >"$W/safe"
	ln -s ../safe "$W/trap/one"
	ln -s .. "$W/trap/sub"
	own "$W/trap" "$W/safe"
	sh_inside 'mkdir trap; cp up/one trap; mkdir trap/sub; echo bad >trap/sub/safe'
	pinfold cp "$ID:trap" "$W"
	check "nothing is written through a link" test "$(cat "$W/safe")" = safe
	pinfold cp "$ID:up" sbxaaaaaaaaaaaaaaaaaaaaaaaaaa:
	refuses invalid_argument DST "not between two"
	head -c 40000000 /dev/zero | tr '\0' x >"$W/large"
	own "$W/large"
	pinfold cp "$W/large" "$ID:large"
	refuses limit_exceeded.disk large "more than there is room for"
	sh_inside 'rm -rf ./* /tmp/new'
	rm -rf "$W/up" "$W/down" "$W/again" "$W/large"
}

# In a sandbox with the given owner of new files.
all_of_it()
{
	reading "$1"
	writing "$1"
	changing "$1"
	changes "$1"
}

layers()
{
	mkdir "$W/tree"
	echo lower >"$W/tree/f"
	own "$W/tree"
	live --dir "$W/tree"
	files put /work/f upper
	has upper /work/f "over a directory of the host"
	files put /work/new new
	has new /work/new "a new one there"
	files mv /work/f /work/g
	has upper /work/g "and moved"
	check "which stays as it is" test "$(cat "$W/tree/"*)" = lower
	pinfold kill "$ID"
	[ "$MODE" = R ] || return 0
	live --user root
	sh_inside 'mkdir -p /home/user'
	files put /usr/local/x y
	has y /usr/local/x "root may write below /usr"
	files put /etc/passwd y a
	exits 0 "and his own /etc"
	pinfold kill "$ID"
}

checks()
{
	daemon_mode
	build_tool
	daemon_start --warm 1 --warm-python 0
	live
	all_of_it 1000
	copying
	hostile_paths
	races
	server_attacked
	paused
	large 1000
	watching
	full_of_processes
	layers
	live
	daemon_stop
	check "and nothing is left" nothing_left
}

run_checks
