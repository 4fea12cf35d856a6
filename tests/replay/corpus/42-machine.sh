# SPDX-License-Identifier: Apache-2.0
# What an agent looks at first.
ls -la / /home/user
ps aux
ps -ef | wc -l
top -bn1 | head -12
uptime
free -m
nproc
hostname
uname -a
cat /proc/self/status /proc/self/stat /proc/self/statm
df -h /home/user | tail -1
stat -c '%n %Y %s %h' /etc /tmp /usr /proc /home/user
mktemp -u
sh -c 'mktemp; cat /proc/sys/kernel/random/uuid; date +%N'
env | sort
ulimit -a
python3 -c "import os; print(os.sched_getaffinity(0), os.sched_setaffinity(0, [0]))"; taskset -p $$; taskset -c 0 nproc
