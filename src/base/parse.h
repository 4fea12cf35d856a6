/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units as people type them. Pure: no locale, no I/O.
 *
 * A number is digits with at most one decimal point ("1.5", ".5"); no sign, exponent, hexadecimal
 * or blank. All functions refuse an empty text, zero, a value that rounds to zero and one above the
 * maximum below, with ERR_INVALID and a remedy; the caller puts the argument's name in front.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

#include "base/err.h"

/* Chosen so that arithmetic on a parsed value (bytes in a signed 64-bit offset, milliseconds turned
 * into nanoseconds, thousandths of a processor turned into a quota) cannot overflow. */
#define PARSE_BYTES_MAX ((uint64_t)INT64_MAX)
#define PARSE_MS_MAX (UINT64_C(36500) * 24 * 3600 * 1000)
#define PARSE_COUNT_MAX ((uint64_t)INT32_MAX)
#define PARSE_CPUS_MILLI_MAX (UINT64_C(1000000) * 1000)

/* "4096", "64k", "512M", "1.5G", "2T", each also with B, i or iB behind; the units are powers of
 * 1024 and their case does not matter. */
int parse_size(const char *text, uint64_t *ret_bytes, struct err *e);
/* "500ms", "60s", "2m", "1.5h", "1d", and several in a row, "1m30s"; a plain number is seconds. */
int parse_duration(const char *text, uint64_t *ret_ms, struct err *e);
/* A whole number without a unit. */
int parse_count(const char *text, uint64_t *ret_count, struct err *e);
/* Processors in thousandths: "0.5" is 500. */
int parse_cpus(const char *text, uint64_t *ret_milli, struct err *e);

#endif
