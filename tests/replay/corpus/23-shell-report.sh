start=$(date +%s%N); id=$(cat /proc/sys/kernel/random/uuid)
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
for i in $(seq 20); do echo "$i,$((RANDOM % 100)),$(date -Iseconds)" >>"$tmp/d.csv"; done
sort -t, -k2 -n "$tmp/d.csv" | awk -F, '{ s += $2 } END { print NR, s, s / NR }'
shuf -i 1-20 | head -3; echo "$id $tmp $$ $(hostname)"; cp "$tmp/d.csv" out.csv; ls -l --full-time out.csv
time (seq 1000 | wc -l); echo $((($(date +%s%N) - start) / 1000000)) ms; awk 'BEGIN { srand(); print rand() }'
od -An -N4 -tu4 /dev/urandom; head -c 1000000 /dev/urandom | sha256sum
