/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/path.h"

struct tar_in {
	struct archive *lib;
	struct archive_entry *entry; /* borrowed */
	tar_read_fn *read;
	void *context;
	uint64_t taken; /* bytes that came in */
	bool in_file;	/* there may be data left */
	struct err source;
	bool source_failed;
};

static ssize_t pull(struct archive *lib, void *context, const void **ret)
{
	struct tar_in *t = context;
	ssize_t n = t->read(t->context, ret, &t->source);

	if (n < 0) {
		t->source_failed = true;
		archive_set_error(lib, EIO, "read");
		return -1;
	}
	t->taken += (uint64_t)n;
	return n;
}

/* What the library says may quote the archive. */
static int fail(struct tar_in *t, struct err *e)
{
	const char *text = archive_error_string(t->lib);
	struct tree_shown s;

	if (t->source_failed) {
		*e = t->source;
		return e->num ? -e->num : -EIO;
	}
	(void)err_set(e, ERR_INVALID, "not a good tar file: %s",
		      tree_show(&s, text ? text : "damaged", strlen(text ? text : "damaged")));
	return err_remedy(e, "tar files are taken, plain or compressed with gzip, xz or zstd");
}

static int open_lib(struct tar_in *t, bool any, struct err *e)
{
	t->lib = archive_read_new();
	if (!t->lib)
		return err_sys(e, "read an archive");
	/* Other formats are left out: what is no tar is an error. */
	if ((any ? archive_read_support_format_raw(t->lib)
		 : archive_read_support_format_tar(t->lib)) != ARCHIVE_OK ||
	    archive_read_support_filter_gzip(t->lib) != ARCHIVE_OK ||
	    archive_read_support_filter_xz(t->lib) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(t->lib) != ARCHIVE_OK)
		return fail(t, e);
	if (archive_read_open(t->lib, t, NULL, pull, NULL) != ARCHIVE_OK)
		return fail(t, e);
	/* The last filter is the source itself. */
	if (archive_filter_count(t->lib) > 2)
		return err_set(e, ERR_INVALID, "the archive is compressed more than once");
	return 0;
}

static int open_as(struct tar_in **ret, bool any, tar_read_fn *read, void *context, struct err *e)
{
	struct tar_in *t = calloc(1, sizeof(*t));

	assert(read);
	if (!t)
		return err_sys(e, "read an archive");
	t->read = read;
	t->context = context;
	int r = open_lib(t, any, e);
	if (r < 0)
		tar_in_close(t);
	else
		*ret = t;
	return r;
}

int tar_in_open(struct tar_in **ret, tar_read_fn *read, void *context, struct err *e)
{
	return open_as(ret, false, read, context, e);
}

int tar_in_open_any(struct tar_in **ret, tar_read_fn *read, void *context, struct err *e)
{
	return open_as(ret, true, read, context, e);
}

void tar_in_close(struct tar_in *t)
{
	if (t && t->lib)
		(void)archive_read_free(t->lib); /* nothing is written */
	free(t);
}

static int check_ratio(const struct tar_in *t, struct err *e)
{
	int64_t out = archive_filter_bytes(t->lib, 0);

	if (out < 0 || (uint64_t)out <= TAR_RATIO_FREE || (uint64_t)out / TAR_RATIO_MAX <= t->taken)
		return 0;
	(void)err_set(e, ERR_LIMIT, "the archive becomes more than %u times as large",
		      TAR_RATIO_MAX);
	return err_remedy(e, "if it is meant to, decompress it first");
}

/* Names that are not ASCII cannot be converted where there is no locale; then they are as they are,
 * which is what we want. Any other warning is about a header that makes no sense. */
static bool is_about_letters(const char *text)
{
	return text && strstr(text, "can't be converted") != NULL;
}

static enum tar_kind kind_of(struct archive_entry *en)
{
	if (archive_entry_hardlink(en))
		return TAR_LINK;
	switch (archive_entry_filetype(en)) {
	case AE_IFREG: return TAR_FILE;
	case AE_IFDIR: return TAR_DIR;
	case AE_IFLNK: return TAR_SYMLINK;
	case AE_IFIFO: return TAR_FIFO;
	default: return TAR_DEVICE;
	}
}

static int take(struct tar_in *t, struct tar_entry *ret, struct err *e)
{
	struct archive_entry *en = t->entry;
	int64_t size = archive_entry_size(en);
	enum tar_kind kind = kind_of(en);

	*ret = (struct tar_entry){
		.kind = kind,
		.mode = archive_entry_perm(en),
		.uid = archive_entry_uid(en),
		.gid = archive_entry_gid(en),
		.mtime = {archive_entry_mtime(en), archive_entry_mtime_nsec(en)},
		.size = (uint64_t)size,
		.sparse = archive_entry_sparse_count(en) > 0,
		.acl = archive_entry_acl_types(en) != 0,
		.path = archive_entry_pathname(en),
	};
	if (kind == TAR_LINK)
		ret->target = archive_entry_hardlink(en);
	if (kind == TAR_SYMLINK)
		ret->target = archive_entry_symlink(en);
	if (!ret->path || ((kind == TAR_LINK || kind == TAR_SYMLINK) && !ret->target))
		return err_set(e, ERR_INVALID, "the archive has an entry without a name");
	if (size < 0)
		return err_set(e, ERR_INVALID, "the archive has a file of negative size");
	(void)archive_entry_xattr_reset(en); /* how many there are */
	return 1;
}

static int forget_data(struct tar_in *t, struct err *e)
{
	const void *data;
	uint64_t offset;
	size_t len;
	int r = 0;

	while (t->in_file && (r = tar_in_data(t, &offset, &data, &len, e)) > 0)
		;
	return r;
}

int tar_in_next(struct tar_in *t, struct tar_entry *ret, struct err *e)
{
	int r = forget_data(t, e);

	if (r < 0)
		return r;
	r = archive_read_next_header(t->lib, &t->entry);
	if (r == ARCHIVE_EOF)
		return 0;
	if (r != ARCHIVE_OK &&
	    !(r == ARCHIVE_WARN && is_about_letters(archive_error_string(t->lib))))
		return fail(t, e);
	archive_clear_error(t->lib);
	t->in_file = true;
	r = check_ratio(t, e);
	return r < 0 ? r : take(t, ret, e);
}

int tar_in_data(struct tar_in *t, uint64_t *ret_offset, const void **ret_data, size_t *ret_len,
		struct err *e)
{
	la_int64_t offset = 0;
	int r = t->in_file ? archive_read_data_block(t->lib, ret_data, ret_len, &offset)
			   : ARCHIVE_EOF;

	if (r == ARCHIVE_EOF) {
		t->in_file = false;
		return 0;
	}
	if (r != ARCHIVE_OK || offset < 0)
		return fail(t, e);
	*ret_offset = (uint64_t)offset;
	r = check_ratio(t, e);
	return r < 0 ? r : 1;
}

int tar_in_attr(struct tar_in *t, const char **ret_name, const void **ret_value, size_t *ret_len)
{
	return archive_entry_xattr_next(t->entry, ret_name, ret_value, ret_len) == ARCHIVE_OK;
}
