/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "core/request/quality_request.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 48 /* bytes of a real number, NUL included; 17 digits tell any double */
#define QUOTED_MAX 40 /* bytes of a user's text that a message repeats */

/* A piece of the text, not NUL-terminated. */
typedef struct {
	const char *at;
	size_t len;
} slice_t;

typedef struct {
	const char *name;
	const char *allowed;
	enum { WITH_OTHERS, ALONE, WORD } stands; /* WORD: alone, and without a value */
	int (*set)(slice_t value, mlq_request_t *out);
} quality_key_t;

typedef struct {
	char *text;
	size_t size;
} message_t;

static bool slice_is(slice_t s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.at, word, s.len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The user's text for a message: bounded, and nothing that a terminal or a log would act on. */
static const char *quote(slice_t s, char out[QUOTED_MAX + 4])
{
	size_t n = s.len < QUOTED_MAX ? s.len : QUOTED_MAX;

	for (size_t i = 0; i < n; i++)
		out[i] = (s.at[i] >= ' ' && s.at[i] <= '~') ? s.at[i] : '?';
	strcpy(out + n, s.len > QUOTED_MAX ? "..." : "");
	return out;
}

__attribute__((format(printf, 2, 3))) static int refuse(message_t error, const char *format, ...)
{
	va_list args;

	if (error.text && error.size) {
		va_start(args, format);
		vsnprintf(error.text, error.size, format, args);
		va_end(args);
	}
	return -1;
}

/* Digits only: no sign, no space, no hexadecimal. */
static int whole(slice_t s, uint64_t most, uint64_t *out)
{
	uint64_t value = 0;

	if (!s.len)
		return -1;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_digit(s.at[i]))
			return -1;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(s.at[i] - '0'), &value))
			return -1;
	}
	if (value < 1 || value > most)
		return -1;
	*out = value;
	return 0;
}

static size_t skip_digits(slice_t s, size_t i)
{
	while (i < s.len && is_digit(s.at[i]))
		i++;
	return i;
}

/* [+-]digits[.digits][e[+-]digits], where one of the two runs of digits may be missing. */
static bool is_decimal(slice_t s)
{
	size_t i = 0, start, digits;

	if (i < s.len && (s.at[i] == '+' || s.at[i] == '-'))
		i++;
	start = i;
	i = skip_digits(s, i);
	digits = i - start;
	if (i < s.len && s.at[i] == '.') {
		start = ++i;
		i = skip_digits(s, i);
		digits += i - start;
	}
	if (!digits)
		return false;
	if (i < s.len && (s.at[i] == 'e' || s.at[i] == 'E')) {
		i++;
		if (i < s.len && (s.at[i] == '+' || s.at[i] == '-'))
			i++;
		start = i;
		i = skip_digits(s, i);
		if (i == start)
			return false;
	}
	return i == s.len;
}

static int real(slice_t s, double *out)
{
	char text[NUMBER_MAX];
	locale_t c_locale;
	double value;
	int range;

	if (s.len >= sizeof(text) || !is_decimal(s))
		return -1;
	memcpy(text, s.at, s.len);
	text[s.len] = '\0';

	/* The program's locale may write numbers with a comma. The C locale is static in the C library:
	 * nothing is allocated. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return -1;
	errno = 0;
	value = strtod_l(text, NULL, c_locale);
	range = errno;
	freelocale(c_locale);
	if (range || !isfinite(value))
		return -1;
	*out = value;
	return 0;
}

static int set_goal(slice_t v, mlq_request_t *out)
{
	if (slice_is(v, "min"))
		out->goal = MLQ_GOAL_MIN;
	else if (slice_is(v, "max"))
		out->goal = MLQ_GOAL_MAX;
	else
		return -1;
	return 0;
}

static int set_target(slice_t v, mlq_request_t *out)
{
	double value;

	if (v.len && v.at[v.len - 1] == '%') {
		v.len--;
		if (real(v, &value) || !(value > 0 && value <= 100))
			return -1;
		value /= 100;
		if (!(value > 0))
			return -1;
		out->target_kind = MLQ_TARGET_FRACTION;
	} else {
		if (real(v, &value))
			return -1;
		out->target_kind = MLQ_TARGET_LOSS;
	}
	out->target = value;
	return 0;
}

static int set_units(slice_t v, uint32_t *out)
{
	uint64_t value;

	if (whole(v, MLQ_UNITS_MAX, &value))
		return -1;
	*out = (uint32_t)value;
	return 0;
}

static int set_min(slice_t v, mlq_request_t *out)
{
	return set_units(v, &out->min_units);
}

static int set_max(slice_t v, mlq_request_t *out)
{
	return set_units(v, &out->max_units);
}

static int set_unit(slice_t v, mlq_request_t *out)
{
	uint64_t cores = 1;

	if (slice_is(v, "core"))
		out->unit = MLQ_UNIT_CORE;
	else if (slice_is(v, "gpu"))
		out->unit = MLQ_UNIT_GPU;
	else if (slice_is(v, "node"))
		out->unit = MLQ_UNIT_NODE;
	else if (whole(v, MLQ_CORES_PER_UNIT_MAX, &cores))
		return -1;
	else
		out->unit = cores == 1 ? MLQ_UNIT_CORE : MLQ_UNIT_CORES;
	out->cores_per_unit = (uint32_t)cores;
	return 0;
}

static int set_iterations(slice_t v, mlq_request_t *out)
{
	return whole(v, MLQ_ITERATIONS_MAX, &out->iterations);
}

static int set_batch(slice_t v, mlq_request_t *out)
{
	return whole(v, MLQ_BATCH_MAX, &out->batch);
}

static int set_family(slice_t v, mlq_request_t *out)
{
	if (!v.len || v.len >= sizeof(out->family))
		return -1;
	for (size_t i = 0; i < v.len; i++) {
		char c = v.at[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    (!c || !strchr("._+-", c)))
			return -1;
	}
	memcpy(out->family, v.at, v.len);
	out->family[v.len] = '\0';
	return 0;
}

static int set_resize(slice_t v, mlq_request_t *out)
{
	if (slice_is(v, "none"))
		out->resize = MLQ_RESIZE_NONE;
	else if (slice_is(v, "companion"))
		out->resize = MLQ_RESIZE_COMPANION;
	else if (slice_is(v, "requeue"))
		out->resize = MLQ_RESIZE_REQUEUE;
	else
		return -1;
	return 0;
}

static int set_companion(slice_t v, mlq_request_t *out)
{
	uint64_t value;

	if (whole(v, MLQ_JOB_ID_MAX, &value))
		return -1;
	out->companion = (uint32_t)value;
	return 0;
}

static int set_on(slice_t v, mlq_request_t *out)
{
	(void)v;
	out->off = false;
	return 0;
}

static int set_off(slice_t v, mlq_request_t *out)
{
	(void)v;
	out->off = true;
	return 0;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const quality_key_t keys[] = {
	{"goal", "min or max", WITH_OTHERS, set_goal},
	{"target", "a decimal number such as 0.05, or more than 0% to 100% such as 95%", WITH_OTHERS, set_target},
	{"min", "a whole number from 1 to " TEXT(MLQ_UNITS_MAX), WITH_OTHERS, set_min},
	{"max", "a whole number from 1 to " TEXT(MLQ_UNITS_MAX), WITH_OTHERS, set_max},
	{"unit", "core, gpu, node or a number of cores from 1 to " TEXT(MLQ_CORES_PER_UNIT_MAX),
	 WITH_OTHERS, set_unit},
	{"iterations", "a whole number from 1 to " TEXT(MLQ_ITERATIONS_MAX), WITH_OTHERS, set_iterations},
	{"batch", "a whole number from 1 to " TEXT(MLQ_BATCH_MAX), WITH_OTHERS, set_batch},
	{"family", "1 to 63 of the characters A-Z a-z 0-9 . _ + -", WITH_OTHERS, set_family},
	{"resize", "none, companion or requeue", WITH_OTHERS, set_resize},
	{"companion", "a job id from 1 to " TEXT(MLQ_JOB_ID_MAX) ", no other key", ALONE, set_companion},
	{"on", "the word alone", WORD, set_on},
	{"off", "the word alone", WORD, set_off},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))
#define KEY_NAMES "goal, target, min, max, unit, iterations, batch, family, resize, companion, on, off"

static size_t find_key(slice_t name)
{
	size_t k = 0;

	while (k < KEYS && !slice_is(name, keys[k].name))
		k++;
	return k;
}

/* values[k].at is NULL while key k was not given. */
static int parse_item(slice_t item, slice_t values[KEYS], mlq_request_t *out, message_t error)
{
	const char *equals = memchr(item.at, '=', item.len);
	slice_t name = {item.at, equals ? (size_t)(equals - item.at) : item.len};
	slice_t value = {item.at + item.len, 0};
	char a[QUOTED_MAX + 4], b[QUOTED_MAX + 4];
	size_t k;

	if (!item.len)
		return refuse(error, "key: given \"\" (a comma too many); allowed: " KEY_NAMES);
	if (equals)
		value = (slice_t){equals + 1, item.len - name.len - 1};
	k = find_key(name);
	if (k == KEYS)
		return refuse(error, "unknown key: given \"%s\"; allowed: " KEY_NAMES, quote(name, a));
	if (!equals && keys[k].stands != WORD)
		return refuse(error, "%s: given no value; allowed: %s", keys[k].name, keys[k].allowed);
	if ((equals && keys[k].stands == WORD) || keys[k].set(value, out))
		return refuse(error, "%s: given \"%s\"; allowed: %s", keys[k].name, quote(value, a),
			      keys[k].allowed);
	if (values[k].at && (values[k].len != value.len || memcmp(values[k].at, value.at, value.len)))
		return refuse(error, "%s: given twice, \"%s\" and \"%s\"; allowed: one value", keys[k].name,
			      quote(values[k], a), quote(value, b));
	values[k] = value;
	return 0;
}

static int check_together(const slice_t values[KEYS], const mlq_request_t *out, message_t error)
{
	size_t given = 0, alone = KEYS;

	for (size_t k = 0; k < KEYS; k++) {
		given += values[k].at != NULL;
		if (values[k].at && keys[k].stands != WITH_OTHERS)
			alone = k;
	}
	if (alone < KEYS && given > 1)
		return refuse(error, "%s: given with other keys; allowed: %s", keys[alone].name,
			      keys[alone].allowed);
	if (out->min_units && out->max_units && out->min_units > out->max_units)
		return refuse(error, "min: given %u with max=%u; allowed: min not above max",
			      (unsigned)out->min_units, (unsigned)out->max_units);
	return 0;
}

static void set_defaults(mlq_request_t *out)
{
	memset(out, 0, sizeof(*out));
	out->cores_per_unit = 1;
}

static int parse_items(slice_t text, mlq_request_t *out, message_t error)
{
	slice_t values[KEYS] = {{NULL, 0}};
	const char *end = text.at + text.len, *at = text.at;

	for (;;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		slice_t item = {at, (size_t)((comma ? comma : end) - at)};

		if (parse_item(item, values, out, error))
			return -1;
		if (!comma)
			return check_together(values, out, error);
		at = comma + 1;
	}
}

int mlq_request_parse(const char *text, mlq_request_t *out, char *error, size_t error_size)
{
	message_t message = {error, error_size};
	size_t len = text ? strnlen(text, MLQ_REQUEST_MAX) : 0;
	int rc = 0;

	if (error && error_size)
		error[0] = '\0';
	set_defaults(out);
	if (len == MLQ_REQUEST_MAX)
		rc = refuse(message, "the option: given more than %d bytes; allowed: at most %d",
			    MLQ_REQUEST_MAX - 1, MLQ_REQUEST_MAX - 1);
	else if (len)
		rc = parse_items((slice_t){text, len}, out, message);
	if (rc)
		set_defaults(out);
	return rc;
}
