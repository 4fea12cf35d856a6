/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/show.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "cmd/say.h"

uint64_t show_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* "12s", "5m", "3h", "2d": rounded down. */
const char *show_span(uint64_t ms, char *text, size_t size)
{
	uint64_t s = ms / 1000;
	const char unit = s < 120 ? 's' : s < 7200 ? 'm' : s < 172800 ? 'h' : 'd';
	uint64_t n = s < 120 ? s : s < 7200 ? s / 60 : s < 172800 ? s / 3600 : s / 86400;

	(void)snprintf(text, size, "%llu%c", (unsigned long long)n, unit);
	return text;
}

/* It came from a caller, and goes to a terminal. */
void show_text(const char *command)
{
	for (const char *c = command; *c; c++)
		(void)putchar(*c < 0x20 || *c == 0x7f ? '?' : *c);
	(void)putchar('\n');
}

void show_time(struct json *j, const char *key, uint64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];
	size_t n;

	if (!ms || !gmtime_r(&s, &tm)) {
		json_none(j, key);
		return;
	}
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + n, sizeof(text) - n, ".%03uZ", (unsigned)(ms % 1000));
	json_str(j, key, text);
}

void show_list_begin(struct json *j)
{
	json_init(j, STDOUT_FILENO);
	json_open(j, NULL, '{');
	json_open(j, "items", '[');
}

int show_list_end(struct json *j)
{
	json_close(j, ']');
	json_none(j, "next");
	json_close(j, '}');
	return show_end(j);
}

int show_end(struct json *j)
{
	int bad = json_end(j);

	if (bad >= 0)
		bad = fd_write_all(STDOUT_FILENO, "\n", 1);
	return bad < 0 && say_unwritten(-bad) != 0 ? bad : 0;
}

const char *show_size(uint64_t bytes, char *text, size_t size)
{
	static const char units[] = "KMGTPE";
	double n = (double)bytes;
	int unit = -1;

	while (n >= 1024 && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		(void)snprintf(text, size, "%llu", (unsigned long long)bytes);
	else
		(void)snprintf(text, size, n < 10 ? "%.1f%c" : "%.0f%c", n, units[unit]);
	return text;
}

void show_instant(struct json *j, const char *key, uint64_t ms)
{
	auto_value *v = value_of_instant(ms);

	json_str(j, key, value_str(v));
}
