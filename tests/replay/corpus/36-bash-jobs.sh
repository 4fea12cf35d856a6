# SPDX-License-Identifier: Apache-2.0
# Jobs that end one after the other, and what a shell knows of time and chance.
for i in 1 2 3 4; do
	(sleep 0.$i; echo "job $i $RANDOM $(date +%s)") &
done
wait
echo $RANDOM $SECONDS $$ $BASHPID
mktemp -u
seq 100 | shuf | head -5 | tr '\n' ' '
sort -R <(seq 5)
ls -la --full-time | awk 'NR > 1 { print $1, $6, $7, $9 }'
cat /proc/sys/kernel/random/uuid /proc/loadavg
awk 'BEGIN { srand(); print rand(), systime() }'
printf '%(%F %T)T\n' -1
