/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	docker save	manifest.json: [{"Config": NAME, "Layers": [NAME, ...]}]
 *	OCI layout	oci-layout, index.json: {"manifests": [{"digest"}]}; the blob of that digest
 *			is {"config": {"digest"}, "layers": [{"digest"}]}, or once more an index
 *	configuration	{"config": {"Env", "Cmd", ...}, "rootfs": {"diff_ids": [DIGEST, ...]}}
 *
 * Newer dockers write both; they agree. A blob has its digest for a name. The layers of older
 * docker archives have names that say nothing; of those the configuration says what they are before
 * they are compressed, if it is there.
 */
#include "archive/image.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/name.h"
#include "base/fd.h"

#define INDEX_DEPTH_MAX 3
#define SHA256 "sha256:"
#define BLOBS "blobs/sha256/"
#define BLOB_PATH_SIZE (sizeof(BLOBS) + HASH_TEXT_SIZE)

static int refuse(struct err *e, const char *why)
{
	(void)err_set(e, ERR_INVALID, "the image %s", why);
	return err_remedy(e, "save it again with docker save or another tool for OCI images");
}

static bool is_hash(const char *s, const char *end)
{
	return strspn(s, "0123456789abcdef") == HASH_TEXT_SIZE - 1 &&
	       strcmp(s + HASH_TEXT_SIZE - 1, end) == 0;
}

/* The hash that a file has to have by its name, "" if that says nothing. `bare`: how a name ends
 * that is a hash by itself. */
static const char *hash_in(const char *path, const char *bare)
{
	size_t prefix = strlen(BLOBS);

	if (strncmp(path, BLOBS, prefix) == 0 && is_hash(path + prefix, ""))
		return path + prefix;
	return *bare && is_hash(path, bare) ? path : "";
}

static int check_note(const char *path, const char *text, size_t len, struct err *e)
{
	const char *want = hash_in(path, ".json");
	uint8_t hash[HASH_BYTES];
	char have[HASH_TEXT_SIZE];

	hash_bytes(text, len, hash);
	hash_text(hash, have);
	if (!*want || strncmp(want, have, strlen(have)) == 0)
		return 0;
	(void)err_set(e, ERR_INVALID, "%.20s... of the image has another digest than its name says",
		      path);
	return err_remedy(e, "the archive is damaged, or was changed: get it again");
}

/* 1: read; 0: there is no such file; a file that is no JSON is NULL. */
static int load(image_read_fn *read, void *context, const char *path, json_t **ret, struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = read(context, path, &text, &len, e);

	if (r > 0 && check_note(path, text, len, e) < 0)
		r = -EINVAL;
	*ret = r > 0 ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	return r;
}

/* Of "sha256:HEX", HEX. */
static int parse_digest(const char *digest, char ret[HASH_TEXT_SIZE], struct err *e)
{
	size_t prefix = strlen(SHA256);

	if (!digest)
		return refuse(e, "names something without a digest");
	if (strncmp(digest, SHA256, prefix) != 0 || !is_hash(digest + prefix, ""))
		return refuse(e, "names something by a digest that is no SHA-256");
	(void)snprintf(ret, HASH_TEXT_SIZE, "%.64s", digest + prefix);
	return 0;
}

static int add_layer(struct image *image, const char *name, struct err *e)
{
	if (image->n == IMAGE_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "the image has more than %u layers", IMAGE_LAYERS_MAX);
	struct image_layer *l = &image->layer[image->n++];
	(void)snprintf(l->hash, sizeof(l->hash), "%.64s", hash_in(name, ""));
	return name_clean(name, l->path, e);
}

/* sha256:HEX is blobs/sha256/HEX. */
static int blob_path(const json_t *descriptor, char to[BLOB_PATH_SIZE], struct err *e)
{
	char hex[HASH_TEXT_SIZE];
	int r = parse_digest(json_string_value(json_object_get(descriptor, "digest")), hex, e);

	if (r >= 0)
		(void)snprintf(to, BLOB_PATH_SIZE, BLOBS "%s", hex);
	return r;
}

static void add_words(struct about *about, char what, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		if (word)
			about_add(about, what, word);
	}
}

/* What they are before compression, layer by layer. */
static int take_bare(struct image *image, const json_t *ids, struct err *e)
{
	int r = 0;

	if (!json_is_array(ids))
		return 0;
	if (json_array_size(ids) != image->n)
		return refuse(e, "has a configuration that is about other layers");
	for (unsigned i = 0; i < image->n && r >= 0; i++)
		r = parse_digest(json_string_value(json_array_get(ids, i)), image->layer[i].bare,
				 e);
	return r;
}

static int take_config(struct image *image, const char *path, image_read_fn *read, void *context,
		       struct err *e)
{
	json_t *doc = NULL;
	int r = load(read, context, path, &doc, e);
	const json_t *config = json_object_get(doc, "config");
	const char *dir = json_string_value(json_object_get(config, "WorkingDir"));

	if (r > 0) {
		add_words(&image->about, 'e', json_object_get(config, "Env"));
		add_words(&image->about, 'c', json_object_get(config, "Entrypoint"));
		add_words(&image->about, 'c', json_object_get(config, "Cmd"));
		if (dir)
			about_add(&image->about, 'w', dir);
		r = take_bare(image, json_object_get(json_object_get(doc, "rootfs"), "diff_ids"),
			      e);
	}
	json_decref(doc);
	return r;
}

static void note_digest(struct image *image, const char *path)
{
	char text[8 + HASH_TEXT_SIZE];
	const char *hex = hash_in(path, ".json");

	(void)snprintf(text, sizeof(text), SHA256 "%.64s", hex);
	if (*hex)
		about_add(&image->about, 'd', text);
}

static int docker_find(struct image *image, const json_t *manifest, image_read_fn *read,
		       void *context, struct err *e)
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
	const char *config =
		json_string_value(json_object_get(json_array_get(manifest, 0), "Config"));
	if (r >= 0 && config) {
		note_digest(image, config);
		r = take_config(image, config, read, context, e);
	}
	return r < 0 ? r : 1;
}

/* `from` is where the manifest is. */
static int oci_manifest(struct image *image, const json_t *doc, const char *from,
			image_read_fn *read, void *context, struct err *e)
{
	const json_t *layers = json_object_get(doc, "layers");
	const json_t *config = json_object_get(doc, "config");
	char path[BLOB_PATH_SIZE];
	int r = 0;

	for (size_t i = 0; i < json_array_size(layers) && r >= 0; i++) {
		r = blob_path(json_array_get(layers, i), path, e);
		if (r >= 0)
			r = add_layer(image, path, e);
	}
	note_digest(image, from);
	if (r >= 0 && config)
		r = blob_path(config, path, e);
	if (r >= 0 && config)
		r = take_config(image, path, read, context, e);
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
	char path[BLOB_PATH_SIZE] = "";
	int r = 0;

	for (int depth = 0; doc && depth <= INDEX_DEPTH_MAX; depth++) {
		const json_t *manifests = json_object_get(doc, "manifests");
		json_t *next = NULL;

		if (json_is_array(json_object_get(doc, "layers"))) {
			r = oci_manifest(image, doc, path, read, context, e);
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
		r = docker_find(ret, doc, read, context, e);
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
