# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the daemon costs over HTTP and MCP. Read by bench/run, which has daemon_start and daemon_stop and
# the results.
# From bench/run: DIR, WHO, MARK, BECOME, AS, RATE_SECONDS, SAMPLES, STREAMS, CONNECTIONS, DOWNLOAD_MB.
# shellcheck disable=SC2086,SC2154

HTTP_PORT=18787
NGINX_PORT=18788

table_http()
{
	[ -x /usr/bin/python3 ] || return 0
	daemon_start --warm 4 --warm-python 2
	"$DIR/http" $MARK $BECOME -n "$SAMPLES" -o "$DIR/results" -t "HTTP and MCP, as $WHO" ./pinfold
	daemon_stop
	daemon_start --warm 4 --warm-python 0
	"$DIR/rate" $MARK $BECOME -c 4 -s "$RATE_SECONDS" -o "$DIR/results" \
		-t "Runs a second over HTTP, as $WHO: four callers, $RATE_SECONDS seconds" -- \
		@daemon /usr/bin/true @http /usr/bin/true
	daemon_stop
}

# api METHOD PATH [BODY]: on the Unix socket.
api()
{
	$AS curl -sS -m 120 --unix-socket "$HOME/daemon-http.sock" -X "$1" \
		-H 'Content-Type: application/json' ${3:+-d "$3"} "http://localhost$2"
}

# field NAME: of the document on standard input.
field()
{
	sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"
}

api_pid()
{
	for _watcher in $(pgrep -P "$DAEMON_PID" -x pinfold-http); do
		pgrep -P "$_watcher" -x pinfold-api
	done
}

# held_row NAME COUNT LOAD-OPTION...: what the process that serves takes more for them.
held_row()
{
	_name=$1 _count=$2
	shift 2
	_kib=$("$DIR/load" $BECOME -k "$_count" -P "$(api_pid)" "$@") || {
		skip "$_count $_name" "not all of them were served"
		return
	}
	printf 'HTTP, %s\t%s\t%s\n' "$WHO" "$_name" "$_kib" >>"$DIR/results"
	capacity_line "$_name, KiB" "$_count" "$_kib"
}

# Nothing happens in any of them.
table_held()
{
	command -v curl >/dev/null || { skip "HTTP connections" "no curl"; return; }
	heading "HTTP connections that are held, as $WHO" '###'
	capacity_line '' held measured
	[ -z "$MARK" ] || capacity_line --- --: --:
	MANY_FILES="prlimit --nofile=65536"
	$MANY_FILES true 2>/dev/null || MANY_FILES=
	daemon_start --warm 1 --warm-python 0
	_run=$(api POST /v1/runs '{"command":["sleep","600"],"time":"15m","detach":true,"limits":"best-effort"}' | field id)
	held_row "idle event streams" "$STREAMS" -e "/v1/runs/$_run/events"
	held_row "idle connections" "$CONNECTIONS"
	api DELETE "/v1/runs/$_run"
	daemon_stop
	MANY_FILES=
	echo
}

nginx_start()
{
	mkdir -p www && head -c "${DOWNLOAD_MB}M" /dev/zero >www/big
	cat >nginx.conf <<-END
		daemon off;
		$([ -n "$AS" ] || [ "$(id -u)" != 0 ] || echo "user root;")
		worker_processes 1;
		pid $PWD/nginx.pid;
		error_log $PWD/nginx.log;
		events {}
		http {
			access_log off;
			sendfile on;
			tcp_nopush on;
			client_body_temp_path $PWD/www;
			proxy_temp_path $PWD/www;
			fastcgi_temp_path $PWD/www;
			uwsgi_temp_path $PWD/www;
			scgi_temp_path $PWD/www;
			server { listen 127.0.0.1:$NGINX_PORT; root $PWD/www; }
		}
	END
	[ -z "$AS" ] || chown -R "$ID:$ID" www
	$AS nginx -p "$PWD" -e "$PWD/nginx.log" -c "$PWD/nginx.conf" 2>/dev/null &
	NGINX_PID=$!
	timeout 10 sh -c "until curl -so /dev/null http://127.0.0.1:$NGINX_PORT/; do :; done"
}

# nginx_stop: also where the bench is ended before its time.
nginx_stop()
{
	[ -n "${NGINX_PID:-}" ] || return 0
	kill "$NGINX_PID" 2>/dev/null
	wait "$NGINX_PID" 2>/dev/null
	NGINX_PID=
	rm -rf www
}

# download NAME ARG...: the median of some, in MB a second; one more before them fills caches.
download()
{
	_name=$1
	shift
	for _i in 0 1 2 3 4 5; do
		"$DIR/load" "$@" | awk -v n="$_i" 'n {printf "%.1f\n", $1 / $2 / 1e6}'
	done | sort -n | sed -n 3p >rate
	read -r _rate <rate || return
	printf 'download, %s\t%s\t%s\n' "$WHO" "$_name" "$_rate" >>"$DIR/results"
	capacity_line "$_name, MB a second" "$DOWNLOAD_MB MB" "$_rate"
}

# The same bytes from nginx and out of a sandbox, over the loopback, in turns of six.
table_download()
{
	for _need in nginx curl; do
		command -v $_need >/dev/null || { skip "downloads" "no $_need (nginx-light)"; return; }
	done
	heading "One download, as $WHO" '###'
	capacity_line '' size measured
	[ -z "$MARK" ] || capacity_line --- --: --:
	_token=$($AS ./pinfold token new --tenant bench --ttl 1d | tail -n 1)
	daemon_start --warm 1 --warm-python 0 --listen "127.0.0.1:$HTTP_PORT"
	nginx_start
	_box=$(curl -sS -H "Authorization: Bearer $_token" -H 'Content-Type: application/json' \
		-d "{\"ttl\":\"10m\",\"memory\":\"$((3 * DOWNLOAD_MB + 256))M\",\"disk\":\"$((DOWNLOAD_MB + 64))M\",\"limits\":\"best-effort\"}" \
		"http://127.0.0.1:$HTTP_PORT/v1/sandboxes" | field id)
	curl -sS -o /dev/null -H "Authorization: Bearer $_token" -H 'Content-Type: application/json' \
		-d "{\"command\":\"head -c ${DOWNLOAD_MB}M /dev/zero >big\"}" \
		"http://127.0.0.1:$HTTP_PORT/v1/sandboxes/$_box/exec"
	download nginx -d "$NGINX_PORT" /big
	download pinfold -a "$_token" -d "$HTTP_PORT" "/v1/sandboxes/$_box/files?path=big"
	nginx_stop
	daemon_stop
	echo
}

targets_http()
{
	_at="HTTP and MCP, as $WHO"
	target "POST /v1/runs / bare, as $WHO" "<=1.8" "$_at" rest "$_at" bare
	target "POST /v1/runs / the library, as $WHO" "" "$_at" rest "$_at" daemon
	target "execute of 1+1 / bare, as $WHO" "<=0.6" "$_at" execute "$_at" bare
	target "MCP sandbox_exec / bare, as $WHO" "<=2" "$_at" mcp "$_at" bare
	target "MCP sandbox_exec / bare bash -lc, as $WHO" "" "$_at" mcp "$_at" bare-bash
	target "first 1+1 of a session / a fresh run, as $WHO" "<=1" "$_at" first "$_at" run-python
	_at="Runs a second over HTTP, as $WHO: four callers, $RATE_SECONDS seconds"
	target "runs a second, HTTP / the library, as $WHO" ">=0.8" "$_at" http "$_at" daemon
	target "memory of $STREAMS idle event streams in MiB, as $WHO" "<=20/1024" "HTTP, $WHO" \
		"idle event streams"
	target "memory of $CONNECTIONS connections in MiB, as $WHO" "/1024" "HTTP, $WHO" "idle connections"
	target "download / nginx, as $WHO" ">=0.7" "download, $WHO" pinfold "download, $WHO" nginx
}
