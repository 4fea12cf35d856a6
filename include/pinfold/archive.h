/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: archives of workspaces, and images that runs and workspaces begin with */
#ifndef PINFOLD_ARCHIVE_H
#define PINFOLD_ARCHIVE_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Archives. What is in one is hostile: it is read in a sandbox, and what must not get in is left
 * out and counted, or ends the import; then the workspace is as it was.
 */
struct pinfold_archive_stats {
	uint64_t files, directories, symlinks, links, fifos;
	uint64_t bytes;		/* of files, without holes */
	uint64_t archive_bytes; /* export: of the archive */
	uint64_t layers;     /* import: of an image that were applied; 0: it was a plain archive */
	uint64_t removed;    /* whiteouts */
	uint64_t replaced;   /* import: something was there before */
	uint64_t devices;    /* left out, and sockets */
	uint64_t setid;	     /* files that lost their set-id bits */
	uint64_t attributes; /* extended ones and ACLs that were left out */
	uint64_t owners;     /* whose owner became the sandbox's user */
	uint64_t times;	     /* out of range, set to 1970 */
	uint64_t snapshot;   /* import: the number of what it made */
	uint64_t ours;	     /* import: 1: an export, that went to / since nobody said where to */
};

/* A tar of what differs from the base image in a snapshot (NULL: where it stands), to `fd`: paths
 * relative to /, in order, owners as seen inside. The same snapshot is the same bytes. */
#define PINFOLD_EXPORT_LAYER 0x1u /* only what that snapshot added, as a layer of an OCI image */
PINFOLD_API int pinfold_workspace_export(struct pinfold_store *store, const char *name,
					 const char *snapshot, uint32_t flags, int fd,
					 struct pinfold_archive_stats *ret_stats,
					 struct pinfold_error *ret_error);

struct pinfold_import_options {
	size_t size;
	const char *to;	    /* directory, made; NULL: / for an export of ours, else /home/user */
	const char *source; /* what the log calls it; NULL: "-" */
};

/* A tar file (plain, gzip, xz, zstd), an image of `docker save` or OCI tools, or a directory,
 * from `fd`, as one command that can be undone. A workspace that is not there is made. It is on
 * disk when this returns. */
PINFOLD_API int pinfold_workspace_import(struct pinfold_store *store, const char *name, int fd,
					 const struct pinfold_import_options *options,
					 struct pinfold_archive_stats *ret_stats,
					 struct pinfold_error *ret_error);

/*
 * Images: root file systems by name, in the store, that runs (pinfold_run_options.image) and
 * workspaces begin with. Nothing in them ever changes.
 */
struct pinfold_image_options {
	size_t size;
	const char *source;  /* what to call where it came from; NULL: nothing */
	uint64_t disk_bytes; /* what it may take; 0: the default */
	uint64_t inodes;     /* 0: the default */
};

struct pinfold_image_info {
	char name[128];
	char source[256];
	char digest[128]; /* of the OCI manifest or docker's configuration; else of the archive */
	uint64_t created_ms;
	uint64_t layers; /* that it came in, 0: a plain tree */
	uint64_t files, bytes;
	uint64_t workspaces; /* that stand on it */
	/* What its configuration says; "" for nothing. Only PATH of it counts. */
	char env[4096]; /* KEY=VALUE, each on a line of its own */
	char command[1024];
	char workdir[256];
};

/* Make an image of what fd gives: a tar file (plain, gzip, xz, zstd), an archive of `docker save`,
 * an OCI layout in a tar or as a directory, or a directory. Digests that it states have to be
 * right. It is on disk when this returns, or not there at all. */
PINFOLD_API int pinfold_image_import(struct pinfold_store *store, const char *name, int fd,
				     const struct pinfold_image_options *options,
				     struct pinfold_archive_stats *ret_stats,
				     struct pinfold_error *ret_error);
PINFOLD_API int pinfold_image_get(struct pinfold_store *store, const char *name,
				  struct pinfold_image_info *ret_info,
				  struct pinfold_error *ret_error);
PINFOLD_API int pinfold_image_list(struct pinfold_store *store,
				   struct pinfold_image_info **ret_list, size_t *ret_n,
				   struct pinfold_error *ret_error);
PINFOLD_API void pinfold_image_list_free(struct pinfold_image_info *list);
/* An error (conflict) while a workspace stands on it. */
PINFOLD_API int pinfold_image_remove(struct pinfold_store *store, const char *name,
				     struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
