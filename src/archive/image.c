/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	docker save	manifest.json: [{"Layers": [NAME, ...]}]
 *	OCI layout	oci-layout, index.json: {"manifests": [{"digest"}]}; the blob of that digest
 *			is {"layers": [{"digest"}]}, or once more an index
 *
 * Newer dockers write both; they agree.
 */
#include "archive/image.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/name.h"
#include "base/fd.h"

#define INDEX_DEPTH_MAX 3

static int refuse(struct err *e, const char *why)
{
	return err_set(e, ERR_INVALID, "the image %s", why);
}

/* 1: read; 0: there is no such file; a file that is no JSON is NULL. */
static int load(image_read_fn *read, void *context, const char *path, json_t **ret, struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = read(context, path, &text, &len, e);

	*ret = r > 0 ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	return r;
}

static int add_layer(struct image *image, const char *name, struct err *e)
{
	if (image->n == IMAGE_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "the image has more than %u layers", IMAGE_LAYERS_MAX);
	return name_clean(name, image->layer[image->n++], e);
}

/* sha256:HEX is blobs/sha256/HEX. */
static int blob_path(const json_t *descriptor, char to[160], struct err *e)
{
	const char *digest = json_string_value(json_object_get(descriptor, "digest"));
	const char *hex = digest ? strchr(digest, ':') : NULL;

	if (!hex || hex == digest || strlen(digest) > 140)
		return refuse(e, "names a blob without a digest");
	for (const char *c = digest; *c; c++)
		if (!isalnum((unsigned char)*c) && c != hex)
			return refuse(e, "names a blob by a digest that is none");
	(void)snprintf(to, 160, "blobs/%.*s/%s", (int)(hex - digest), digest, hex + 1);
	return 0;
}

static int docker_layers(struct image *image, const json_t *manifest, struct err *e)
{
	const json_t *layers = json_object_get(json_array_get(manifest, 0), "Layers");
	int r = 0;

	if (!json_is_array(layers))
		return 0; /* a file of that name, and no image's */
	if (json_array_size(manifest) != 1)
		return refuse(e, "archive holds several images; save one at a time");
	for (size_t i = 0; i < json_array_size(layers) && r >= 0; i++) {
		const char *name = json_string_value(json_array_get(layers, i));

		r = name ? add_layer(image, name, e) : refuse(e, "names a layer that is no name");
	}
	return r < 0 ? r : 1;
}

static int oci_layers(struct image *image, const json_t *layers, struct err *e)
{
	char path[160];
	int r = 0;

	for (size_t i = 0; i < json_array_size(layers) && r >= 0; i++) {
		r = blob_path(json_array_get(layers, i), path, e);
		if (r >= 0)
			r = add_layer(image, path, e);
	}
	return r < 0 ? r : 1;
}

static bool fits_here(const json_t *descriptor)
{
#if defined(__aarch64__)
	static const char here[] = "arm64";
#else
	static const char here[] = "amd64";
#endif
	const json_t *platform = json_object_get(descriptor, "platform");
	const char *arch = json_string_value(json_object_get(platform, "architecture"));

	return !arch || strcmp(arch, here) == 0;
}

/* The one for this machine, or the first. */
static const json_t *choose(const json_t *manifests)
{
	for (size_t i = 0; i < json_array_size(manifests); i++)
		if (fits_here(json_array_get(manifests, i)))
			return json_array_get(manifests, i);
	return json_array_get(manifests, 0);
}

/* Takes `doc`. */
static int oci_find(struct image *image, json_t *doc, image_read_fn *read, void *context,
		    struct err *e)
{
	int r = 0;

	for (int depth = 0; doc && depth <= INDEX_DEPTH_MAX; depth++) {
		const json_t *layers = json_object_get(doc, "layers");
		const json_t *manifests = json_object_get(doc, "manifests");
		char path[160];
		json_t *next = NULL;

		if (json_is_array(layers)) {
			r = oci_layers(image, layers, e);
			json_decref(doc);
			return r;
		}
		if (!json_is_array(manifests) || json_array_size(manifests) == 0)
			break;
		r = blob_path(choose(manifests), path, e);
		if (r >= 0)
			r = load(read, context, path, &next, e);
		json_decref(doc);
		doc = next;
		if (r < 0)
			return r;
	}
	json_decref(doc);
	return refuse(e, "has an index that leads to no manifest");
}

int image_find(struct image *ret, image_read_fn *read, void *context, struct err *e)
{
	json_t *doc = NULL;
	int r = load(read, context, "manifest.json", &doc, e);

	*ret = (struct image){.layer = calloc(IMAGE_LAYERS_MAX, sizeof(*ret->layer))};
	if (r >= 0 && !ret->layer)
		r = err_sys(e, "import");
	if (r > 0)
		r = docker_layers(ret, doc, e);
	json_decref(doc);
	if (r != 0)
		return r;
	r = load(read, context, "oci-layout", &doc, e);
	bool layout = r > 0 && json_object_get(doc, "imageLayoutVersion");
	json_decref(doc);
	if (r < 0 || !layout)
		return r < 0 ? r : 0;
	r = load(read, context, "index.json", &doc, e);
	return r < 0 ? r : oci_find(ret, doc, read, context, e);
}

void image_done(struct image *image)
{
	free(image->layer);
	*image = (struct image){0};
}
