/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what is said about files. Freestanding: the guest links it too. */
#include "wire/files.h"

#include <errno.h>
#include <stddef.h>

static int has_nul(const char *s, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (!s[i])
			return 1;
	return 0;
}

static int check_text(const char *s, uint32_t len)
{
	return len > 0 && len < FILES_PATH_SIZE && !s[len] && !has_nul(s, len) ? 0 : -EINVAL;
}

static int check_path(const char *s, uint32_t len)
{
	return s[0] == '/' ? check_text(s, len) : -EINVAL;
}

const char *files_ask_path(const struct files_ask *ask)
{
	return (const char *)(ask + 1);
}

const char *files_ask_path2(const struct files_ask *ask)
{
	return files_ask_path(ask) + ask->path_len + 1;
}

/* What is seen from nowhere begins at the root. */
static int check_rename(const struct files_ask *ask)
{
	const char *from = files_ask_path(ask), *to = files_ask_path2(ask);
	int from_root = !(ask->flags & FILES_FROM_FD), to_root = !(ask->flags & FILES_TO_FD);

	if (check_text(from, ask->path_len) < 0 || check_text(to, ask->path2_len) < 0)
		return -EINVAL;
	return (from[0] == '/') == from_root && (to[0] == '/') == to_root ? 0 : -EINVAL;
}

int files_ask_check(const struct files_ask *ask, uint32_t size)
{
	if (size < sizeof(*ask) || ask->magic != FILES_MAGIC || ask->op == 0 ||
	    ask->op >= FILES_OP_END || (ask->flags & ~FILES_FLAGS) ||
	    ask->path_len >= FILES_PATH_SIZE || ask->path2_len >= FILES_PATH_SIZE ||
	    size != sizeof(*ask) + ask->path_len + ask->path2_len + 2)
		return -EINVAL;
	if (ask->op == FILES_CONNECT)
		return ask->path_len || ask->path2_len || ask->flags || ask->mode == 0 ||
				       ask->mode > 65535
			       ? -EINVAL
			       : 0;
	if (ask->op == FILES_RENAME)
		return check_rename(ask);
	if ((ask->flags & (FILES_FROM_FD | FILES_TO_FD)))
		return -EINVAL;
	if (ask->mode > 07777 && !(ask->op == FILES_WRITE && ask->mode == FILES_MODE_OLD))
		return -EINVAL;
	if (ask->op == FILES_COMMIT || ask->op == FILES_ABORT || ask->op == FILES_SYNC)
		return ask->path_len || ask->path2_len ? -EINVAL : 0;
	if (check_path(files_ask_path(ask), ask->path_len) < 0)
		return -EINVAL;
	if (ask->op == FILES_MOVE)
		return check_path(files_ask_path2(ask), ask->path2_len);
	if (ask->op == FILES_SYMLINK)
		return check_text(files_ask_path2(ask), ask->path2_len);
	return ask->path2_len ? -EINVAL : 0;
}

int files_answer_check(const struct files_answer *answer, uint32_t size, uint32_t seq)
{
	return size >= sizeof(*answer) && answer->magic == FILES_MAGIC && answer->seq == seq &&
			       answer->len <= FILES_DATA_MAX &&
			       answer->len == size - sizeof(*answer) && answer->error >= 0 &&
			       answer->error < 4096 && answer->more <= 1 &&
			       answer->event < FILES_EVENT_END
		       ? 0
		       : -EINVAL;
}

/* What a directory can hold. */
static int check_name(const char *s, uint32_t len)
{
	if (len == 0 || len >= FILES_NAME_SIZE || (len == 1 && s[0] == '.') ||
	    (len == 2 && s[0] == '.' && s[1] == '.') || has_nul(s, len))
		return -EINVAL;
	for (uint32_t i = 0; i < len; i++)
		if (s[i] == '/')
			return -EINVAL;
	return 0;
}

int files_entry_next(const char *data, uint32_t len, uint32_t *pos, struct files_entry *ret,
		     const char **ret_name, const char **ret_target)
{
	char *to = (char *)ret;

	if (*pos > len || len - *pos < sizeof(*ret))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(*ret); i++)
		to[i] = data[*pos + i];
	uint32_t at = *pos + (uint32_t)sizeof(*ret);
	if (ret->name_len > len - at || ret->target_len > len - at - ret->name_len ||
	    ret->target_len >= FILES_PATH_SIZE || check_name(data + at, ret->name_len) < 0 ||
	    has_nul(data + at + ret->name_len, ret->target_len))
		return -EINVAL;
	*ret_name = data + at;
	*ret_target = data + at + ret->name_len;
	*pos = at + ret->name_len + ret->target_len;
	return 0;
}
