# SPDX-License-Identifier: Apache-2.0
# What an agent looks at before it begins: how much room, memory and time there is.
df -k / /etc/ssl /usr /tmp /dev/shm 2>&1
df -i / /usr | tail -2
python3 - <<'P'
import os, shutil
for path in "/", "/usr", "/tmp", "/etc/ssl":
    if os.path.exists(path):
        print(path, shutil.disk_usage(path), os.statvfs(path).f_favail)
P
stat -f -c '%n %T %b %f %a %d' / /usr
free -m
uptime
nproc
cat /proc/self/schedstat /proc/self/io /proc/loadavg /proc/uptime
ps -eo pid,ppid,rss,time,args
ulimit -a
