#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: dir-overlay, ref-naive
#
# A time bomb: the payload behaves until nobody looks. It leaves processes that wait for the end of
# the run, and files that others execute later: cron, systemd, profiles of shells, hooks of git, a
# start-up file of Python. Nothing of it is there after the run, on the host or in the next sandbox.
. "$(dirname "$0")/../lib/escape.sh"

claim "H08 nothing that a run left behind runs later"

# Where something would be executed later; %: the home, both inside and out.
PLACES="%/.bashrc %/.profile %/.bash_profile %/.ssh/rc %/.config/autostart/x.desktop
	%/.config/systemd/user/x.service %/.local/bin/ls %/.gitconfig %/.pythonrc
	%/.local/lib/python3.11/site-packages/usercustomize.py
	/etc/cron.d/x /etc/cron.hourly/x /var/spool/cron/crontabs/user /etc/profile.d/x.sh
	/etc/systemd/system/x.service /etc/ld.so.preload /etc/init.d/x /etc/rc.local
	/usr/local/bin/ls /usr/lib/python3/dist-packages/x.pth /usr/bin/x
	/work/.git/hooks/post-checkout /work/.envrc /work/conftest.py /work/.bashrc
	/run/x.service /tmp/x.sh /var/tmp/x.sh /dev/shm/x.sh"

attack()
{
	local mark=bomb-${T##*.}-$MODE before place

	mkdir -p "$W/tree/.git/hooks"
	echo kept >"$W/tree/file"
	[ "$EUID" = 0 ] && chown -R "$USER_NAME" "$W/tree"
	before=$(find "$W/tree" -printf '%p %m %s %T@\n' | sort)

	# Whatever can be written is written, and daemons wait for the moment after.
	inside --dir "$W/tree" -- bash -c 'for f in $2; do
			f=${f/\%/$HOME}
			mkdir -p "${f%/*}" 2>/dev/null
			printf "#!/bin/sh\ntouch /tmp/$1 /work/$1\n" 2>/dev/null >"$f" && chmod +x "$f"
		done
		echo "* * * * * touch /tmp/$1" | crontab - 2>/dev/null
		echo "touch /tmp/$1" | at now + 1 minute 2>/dev/null
		mkfifo /tmp/fifo
		trap "" TERM HUP INT
		for i in 1 2 3; do
			setsid bash -c "while [ \$PPID = 1 ]; do read -rt 0.05 <>/tmp/fifo; done
				while :; do touch /tmp/$1 /work/$1 \$HOME/$1; read -rt 0.05 <>/tmp/fifo; done" \
				"$1" </dev/null >/dev/null 2>&1 &
		done
		[ -s "$HOME/.bashrc" ] && echo written' bash "$mark" "$PLACES" </dev/null
	ran
	same "the payload did its part" "$(cat "$OUT")" written

	KIND=WRITE same "the directory of the host" \
		"$(find "$W/tree" -printf '%p %m %s %T@\n' | sort)" "$before"
	for place in $PLACES; do
		place=${place/\%/$USER_HOME}
		case $place in
		/work/* | /run/* | /tmp/* | /dev/*) ;;
		*) KIND=WRITE holds "on the host: $place" \
			eval '! grep -qsF "$mark" "$place"' ;;
		esac
	done
	# The next sandbox of the same user, with everything that reads start-up files.
	inside --dir "$W/tree" -- bash -c 'bash -lic true; python3 -c pass
		git -C /work status >/dev/null 2>&1
		ls -d /tmp/'"$mark"' /work/'"$mark"' ~/'"$mark"' 2>/dev/null
		grep -rslF '"$mark"' ~ /tmp /work /etc /run /var 2>/dev/null; true' </dev/null
	ran
	same "in the next sandbox" "$(cat "$OUT")" ""
	KIND=WRITE same "on the host, later" \
		"$(ls -d "/tmp/$mark" "$W/tree/$mark" "$USER_HOME/$mark" 2>/dev/null)" ""
}

run_case
