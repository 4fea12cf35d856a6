/* SPDX-License-Identifier: Apache-2.0 */
/* When the host counts as short of memory, and when not any more. */
#include "warden/pressure.h"

#include "tap.h"

static void parses(void)
{
	struct pressure_look look = {.available = 1000};

	pressure_parse("some avg10=12.34 avg60=1.00 avg300=0.00 total=9842803\n"
		       "full avg10=0.05 avg60=0.00 avg300=0.00 total=1714501\n",
		       &look);
	is_int(look.some, 1234, "some");
	is_int(look.full, 5, "full");
	pressure_parse("", &look);
	is_int(look.some + look.full, 0, "nothing there: no stalls");
	pressure_parse("some total=1\nfull avg10=x\n", &look);
	is_int(look.some + look.full, 0, "another text: none either");
	pressure_parse_memory(
		"MemTotal:       24681472 kB\nMemFree: 1 kB\nMemAvailable:    2468147 kB\n", &look);
	is_int(look.available, 99, "a tenth is available");
	pressure_parse_memory("", &look);
	is_int(look.available, 99, "nothing there: as before");
}

static enum pressure_level judge(unsigned some, unsigned full, unsigned available, bool own,
				 enum pressure_level before)
{
	struct pressure_look look = {some, full, available, own};

	return pressure_judge(&look, before);
}

static void judges(void)
{
	is_int(judge(0, 0, 900, false, PRESSURE_NONE), PRESSURE_NONE, "all is well");
	is_int(judge(5000, 5000, 900, false, PRESSURE_NONE), PRESSURE_NONE,
	       "stalls of a sandbox at its limit, and much memory left");
	is_int(judge(1500, 0, 150, false, PRESSURE_NONE), PRESSURE_SOME, "stalls, and little left");
	is_int(judge(1500, 1500, 150, false, PRESSURE_NONE), PRESSURE_HEAVY, "nobody gets on");
	is_int(judge(0, 0, 40, false, PRESSURE_NONE), PRESSURE_SOME, "very little left");
	is_int(judge(0, 0, 20, false, PRESSURE_NONE), PRESSURE_HEAVY, "almost none left");
	is_int(judge(1500, 0, 900, true, PRESSURE_NONE), PRESSURE_SOME, "stalls of our own group");
	is_int(judge(500, 0, 150, false, PRESSURE_NONE), PRESSURE_NONE, "a few are none");
	is_int(judge(500, 0, 150, false, PRESSURE_HEAVY), PRESSURE_SOME,
	       "but it is not over with them");
	is_int(judge(100, 0, 150, false, PRESSURE_SOME), PRESSURE_NONE,
	       "until they are almost gone");
}

int main(void)
{
	TAP_RUN(parses);
	TAP_RUN(judges);
	return tap_done();
}
