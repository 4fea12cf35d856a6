/* SPDX-License-Identifier: Apache-2.0 */
#include "pinfold/pinfold.h"
int pinfold_doctor_write(int json, int fd)
{
	(void)json;
	(void)fd;
	return 1;
}
