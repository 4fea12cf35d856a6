# What an agent does to look around.
import os, shutil, subprocess
for command in ("ls -la --full-time", "df -h / | tail -1 | wc -w", "uname -s -m", "nproc", "free -m 2>/dev/null | head -2",
                "ps aux 2>/dev/null | wc -l", "cat /etc/hostname", "id", "env | sort", "ulimit -a", "find / -xdev -maxdepth 2 -name 'p*' 2>/dev/null | sort"):
    print("$", command)
    print(subprocess.run(command, shell=True, capture_output=True, text=True).stdout)
print(os.cpu_count(), shutil.which("python3"), os.listdir("/"))
