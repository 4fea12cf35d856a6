/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon itself. */
#include <stdlib.h>

#include "api/api.h"
#include "api/boxes.h"
#include "api/handlers.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "pinfold/pinfold.h"

int op_healthz(struct call *c, struct err *e)
{
	(void)e;
	c->reply.value = value_object();
	value_set(c->reply.value, "status", value_of_str("ok"));
	return 0;
}

int op_readyz(struct call *c, struct err *e)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error failure;
	size_t n = 0;

	if (pinfold_sandbox_list(&list, &n, &failure) < 0) {
		(void)api_error(e, &failure);
		e->kind = ERR_BUSY; /* come back later */
		return -EAGAIN;
	}
	pinfold_sandbox_list_free(list);
	return op_healthz(c, e);
}

int op_version(struct call *c, struct err *e)
{
	(void)e;
	c->reply.value = value_object();
	value_set(c->reply.value, "version", value_of_str(pinfold_version()));
	return 0;
}

int op_metrics(struct call *c, struct err *e)
{
	c->reply.text = metrics_text(c->api->metrics, c->api, &c->reply.text_len);
	c->reply.type = "text/plain; version=0.0.4; charset=utf-8";
	return c->reply.text ? 0 : err_sys(e, "metrics");
}

int op_openapi(struct call *c, struct err *e)
{
	(void)e;
	c->reply.value = openapi_document();
	return 0;
}
