/* SPDX-License-Identifier: Apache-2.0 */
/* What an image says of itself: whatever it names by a digest has it, or it is no image. */
#include "archive/image.h"

#include "tap.h"

#define FILES_MAX 8

static struct {
	char path[256];
	char text[2048];
} files[FILES_MAX];
static unsigned n_files;
static struct err e = ERR_INIT;

static int from_memory(void *context, const char *path, char **ret, size_t *ret_len, struct err *ee)
{
	(void)context;
	(void)ee;
	for (unsigned i = 0; i < n_files; i++)
		if (strcmp(files[i].path, path) == 0) {
			*ret = strdup(files[i].text);
			*ret_len = strlen(files[i].text);
			return 1;
		}
	return 0;
}

static void add(const char *path, const char *text)
{
	memset(&files[n_files], 0, sizeof(files[0]));
	(void)snprintf(files[n_files].path, sizeof(files[0].path), "%s", path);
	(void)snprintf(files[n_files++].text, sizeof(files[0].text), "%s", text);
}

static const char *hash_of(const char *text)
{
	static char hex[4][HASH_TEXT_SIZE];
	static unsigned next;
	uint8_t hash[HASH_BYTES];

	hash_bytes(text, strlen(text), hash);
	hash_text(hash, hex[++next % 4]);
	return hex[next % 4];
}

static const char *blob(const char *text)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "blobs/sha256/%s", hash_of(text));
	add(path, text);
	return hash_of(text);
}

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define CONFIG                                                                                     \
	"{\"config\": {\"Env\": [\"PATH=/x\", 7, \"BAD=\\u0007\"], \"Cmd\": [\"sh\"],"             \
	" \"Entrypoint\": [\"/init\"], \"WorkingDir\": \"/w\"},"                                   \
	" \"rootfs\": {\"diff_ids\": [\"sha256:" B64 "\"]}}"

static void begin_oci(const char *layer, const char *config)
{
	char text[1024];

	n_files = 0;
	e = (struct err)ERR_INIT;
	add("oci-layout", "{\"imageLayoutVersion\": \"1.0.0\"}");
	const char *hex = config ? blob(config) : A64;
	(void)snprintf(
		text, sizeof(text),
		"{\"config\": {\"digest\": \"sha256:%s\"}, \"layers\": [{\"digest\": \"%s\"}]}",
		hex, layer);
	hex = blob(text);
	char index[256];
	(void)snprintf(index, sizeof(index), "{\"manifests\": [{\"digest\": \"sha256:%s\"}]}", hex);
	add("index.json", index);
}

static int look(struct image *image)
{
	return image_find(image, from_memory, NULL, &e);
}

static void oci(void)
{
	struct image image;
	const char *text = NULL;
	size_t at = 0;
	char what = 0;

	begin_oci("sha256:" A64, CONFIG);
	is_int(look(&image), 1, "an OCI image");
	is_int((int)image.n, 1, "with one layer");
	is_str(image.layer[0].path, "blobs/sha256/" A64, "where it is");
	is_str(image.layer[0].hash, A64, "what it has to be");
	is_str(image.layer[0].bare, B64, "and before compression");
	ok(about_next(&image.about, &at, &what, &text) && what == 'd', "its digest");
	ok(strstr(files[2].path, text + strlen("sha256:")) != NULL, "is its manifest's");
	ok(about_next(&image.about, &at, &what, &text) && what == 'e', "its environment");
	is_str(text, "PATH=/x", "has a PATH");
	ok(about_next(&image.about, &at, &what, &text) && what == 'c', "its command");
	is_str(text, "/init", "begins with the entry point");
	ok(about_next(&image.about, &at, &what, &text) &&
		   about_next(&image.about, &at, &what, &text) && what == 'w',
	   "and where");
	ok(!about_next(&image.about, &at, &what, &text), "what is not printable is left out");
	image_done(&image);
}

/* One changed byte in each of the notes, which keeps it JSON. */
static void changed(void)
{
	struct image image;

	for (unsigned i = 1; i <= 2; i++) {
		begin_oci("sha256:" A64, CONFIG);
		files[i].text[strlen(files[i].text)] = ' ';
		ok(look(&image) < 0 && e.kind == ERR_INVALID, files[i].path);
		ok(strstr(e.text, "digest") != NULL, "says why");
		image_done(&image);
	}
}

static void no_digests(void)
{
	static const char *const bad[] = {"",
					  "sha256:",
					  A64,
					  "sha512:" A64 B64,
					  "sha256:../../../etc/passwd",
					  "sha256:" A64 "a",
					  "SHA256:" A64,
					  "sha256:/" A64};
	struct image image;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin_oci(bad[i], CONFIG);
		ok(look(&image) < 0 && e.kind == ERR_INVALID, bad[i]);
		image_done(&image);
	}
	begin_oci("sha256:" A64, NULL);
	is_int(look(&image), 1, "a configuration that is not there says nothing");
	is_str(image.layer[0].bare, "", "of its layers");
	image_done(&image);
	begin_oci("sha256:" A64, "{\"rootfs\": {\"diff_ids\": []}}");
	ok(look(&image) < 0, "one about other layers");
	image_done(&image);
}

static void docker(void)
{
	struct image image;
	char name[128], text[512];

	n_files = 0;
	(void)snprintf(name, sizeof(name), "%s.json", hash_of(CONFIG));
	(void)snprintf(text, sizeof(text),
		       "[{\"Config\": \"%s\", \"Layers\": [\"" A64 "/layer.tar\"]}]", name);
	add("manifest.json", text);
	add(name, CONFIG);
	is_int(look(&image), 1, "docker save");
	is_str(image.layer[0].hash, "", "the name of its layer is no digest");
	is_str(image.layer[0].bare, B64, "its configuration has one");
	image_done(&image);
	files[1].text[1] = ' ';
	ok(look(&image) < 0, "which has to be the one that it is named for");
	image_done(&image);
}

int main(void)
{
	TAP_RUN(oci);
	TAP_RUN(changed);
	TAP_RUN(no_digests);
	TAP_RUN(docker);
	return tap_done();
}
