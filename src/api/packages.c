/* SPDX-License-Identifier: Apache-2.0 */
#include "api/packages.h"

#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/keeper.h"
#include "api/options.h"
#include "base/fd.h"

static bool has_packages(const struct pinfold_run_options *o)
{
	return (o->deps && strcmp(o->deps, "off") != 0) || (o->packages && o->packages[0]) ||
	       (o->apt && o->apt[0]);
}

static bool has_image(const struct pinfold_run_options *o)
{
	return o->image && strcmp(o->image, "host") != 0;
}

int packages_check_image(const char *image, struct err *e)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789._-:";

	if (strspn(image, plain) == strlen(image) && !strchr("._-:", image[0]))
		return 0;
	(void)err_set(e, ERR_INVALID, "image: \"%.80s\" is not a name of an image", image);
	return err_remedy(e, "use NAME or NAME:TAG, of a-z, 0-9, ., _ and -");
}

int packages_path(struct value **said, struct wanted *w, struct err *e)
{
	auto_value *image = has_image(&w->o) ? take_ptr(said) : NULL;
	const char *path = value_str(value_get(image, "path"));
	char *pair = NULL;
	size_t n = 0;

	while (w->env[n] && strncmp(w->env[n], "PATH=", 5) != 0)
		n++;
	if (!path || w->env[n])
		return 0;
	if (asprintf(&pair, "PATH=%s", path) < 0)
		return err_sys(e, "image");
	w->env[n] = pair;
	return 0;
}

/* Nobody says what it will run. */
static int refuse_nothing(struct err *e)
{
	(void)err_set(e, ERR_INVALID, "deps: there is no program yet");
	return err_remedy(e, "name what the sandbox is to have: \"packages\": [\"numpy\"]");
}

int packages_hold(struct call *c, struct pinfold_run_options *o, struct value **ret_list,
		  struct err *e)
{
	struct pinfold_error failure;
	auto_free char *json = NULL;
	int fd = FD_NONE, r = 0;

	*ret_list = NULL;
	if (!has_packages(o) && !has_image(o))
		return 0;
	if (has_image(o) && packages_check_image(o->image, e) < 0)
		return -EINVAL;
	if (!has_image(o) && !o->code && !(o->packages && o->packages[0]) && !(o->apt && o->apt[0]))
		return refuse_nothing(e);
	if (c->api->keeper)
		r = keeper_hold(c, o, &fd, &json, e);
	else if (pinfold_deps_hold(o, &fd, &json, &failure) < 0)
		r = api_error(e, &failure);
	if (r >= 0)
		r = value_parse(json, strlen(json), ret_list, e);
	if (fd >= 0)
		o->packages_fd = fd;
	if (r >= 0 && value_kind(*ret_list) == VALUE_ARRAY)
		o->packages_json = take_ptr(&json);
	return r;
}

void packages_drop(struct pinfold_run_options *o)
{
	if (o->packages_fd)
		fd_close(&o->packages_fd);
	o->packages_fd = 0;
	free((char *)o->packages_json);
	o->packages_json = NULL;
}
