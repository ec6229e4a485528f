// The data of a check, element by element, in the language that C and CUDA share:
// the same as package values has in Go, which says why the numbers are what they
// are. Whoever includes this defines GF1_FN, what stands in front of a function.
//
// All is done in 64-bit integers, but for the division of an average, which IEEE
// 754 defines to the bit. No instruction of the small floats is needed: their bits
// are put together here, so that one piece of code serves every GPU.
#ifndef GF1_SERIES_CUH
#define GF1_SERIES_CUH

#include <string.h>

typedef unsigned long long gf1_word;

// The numbers of ncclDataType_t.
enum gf1_type {
	GF1_INT8,
	GF1_UINT8,
	GF1_INT32,
	GF1_UINT32,
	GF1_INT64,
	GF1_UINT64,
	GF1_FLOAT16,
	GF1_FLOAT32,
	GF1_FLOAT64,
	GF1_BFLOAT16,
	GF1_FLOAT8E4M3,
	GF1_FLOAT8E5M2
};

// The numbers of values.Kind and values.Op.
enum gf1_kind { GF1_ZERO, GF1_INPUT, GF1_RESULT };
enum gf1_op { GF1_SUM, GF1_PROD, GF1_MAX, GF1_MIN, GF1_AVG, GF1_MULSUM };

struct gf1_series {
	unsigned type, kind, op, ranks, rank;
	gf1_word seed, first;
};

// An element is n/d.
struct gf1_value {
	long long n;
	gf1_word d;
};

GF1_FN unsigned gf1_size(unsigned type) {
	switch (type) {
	case GF1_INT32:
	case GF1_UINT32:
	case GF1_FLOAT32:
		return 4;
	case GF1_INT64:
	case GF1_UINT64:
	case GF1_FLOAT64:
		return 8;
	case GF1_FLOAT16:
	case GF1_BFLOAT16:
		return 2;
	}
	return 1;
}

GF1_FN int gf1_signed(unsigned type) { return type != GF1_UINT8 && type != GF1_UINT32 && type != GF1_UINT64; }

GF1_FN gf1_word gf1_integer_limit(unsigned type) {
	switch (type) {
	case GF1_INT8:
	case GF1_UINT8:
		return 127;
	case GF1_INT32:
	case GF1_UINT32:
		return 1 << 30;
	case GF1_FLOAT16:
		return 1 << 11;
	case GF1_FLOAT32:
		return 1 << 24;
	case GF1_BFLOAT16:
		return 1 << 8;
	case GF1_FLOAT8E4M3:
		return 1 << 4;
	case GF1_FLOAT8E5M2:
		return 1 << 3;
	}
	return 1ull << 46;
}

GF1_FN gf1_word gf1_exponent_limit(unsigned type) {
	switch (type) {
	case GF1_INT8:
	case GF1_UINT8:
		return 5;
	case GF1_FLOAT8E4M3:
		return 7;
	}
	return 14;
}

GF1_FN gf1_word gf1_mix(gf1_word x) {
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

GF1_FN gf1_word gf1_part(const struct gf1_series *s, gf1_word whole, gf1_word places, gf1_word place) {
	if (s->kind == GF1_RESULT)
		return whole;
	return whole / places + (place < whole % places);
}

GF1_FN long long gf1_sign(const struct gf1_series *s, gf1_word h2, gf1_word v) {
	return (h2 & 1) && gf1_signed(s->type) ? -(long long)v : (long long)v;
}

GF1_FN struct gf1_value gf1_average(const struct gf1_series *s, gf1_word size, gf1_word place, gf1_word h2, gf1_word limit) {
	gf1_word ranks = s->ranks, whole;
	struct gf1_value v = {0, 1};
	if (s->type < GF1_FLOAT16) {
		whole = size % (limit / ranks + 1) * ranks;
		v.n = gf1_sign(s, h2, gf1_part(s, whole, ranks, place));
		if (s->kind == GF1_RESULT)
			v.n /= (long long)ranks;
		return v;
	}
	if (s->type == GF1_FLOAT8E4M3 && ranks > 192)
		limit = ranks > 512 ? 0 : 4;
	whole = size % (limit + 1);
	if (s->kind == GF1_RESULT) {
		v.n = gf1_sign(s, h2, whole);
		v.d = ranks;
	} else if ((ranks & (ranks - 1)) == 0) {
		v.n = gf1_sign(s, h2, gf1_part(s, whole, ranks, place));
	} else if (place == 0) {
		v.n = gf1_sign(s, h2, whole);
	}
	return v;
}

GF1_FN long long gf1_product(const struct gf1_series *s, gf1_word exponent, gf1_word place, gf1_word h2) {
	gf1_word ranks = s->ranks, negative = (h2 >> 1) % (ranks + 1);
	long long v = 1ll << gf1_part(s, exponent, ranks, place);
	if (((h2 >> 32) & 1) && (s->kind == GF1_RESULT || place == ranks - 1))
		v *= 3;
	if (!gf1_signed(s->type))
		return v;
	return (s->kind == GF1_RESULT ? negative % 2 != 0 : place < negative) ? -v : v;
}

GF1_FN long long gf1_extreme(const struct gf1_series *s, gf1_word size, gf1_word place, gf1_word h, gf1_word limit) {
	gf1_word depth = limit / 2, span = limit + 1;
	int is_signed = gf1_signed(s->type);
	long long v;
	if (!is_signed)
		span -= depth;
	v = (is_signed ? -(long long)depth : (long long)depth) + (long long)(size % span);
	if (s->kind == GF1_INPUT && place != 0)
		v -= 1 + (long long)(gf1_mix(h + place) % depth);
	if (s->op == GF1_MAX)
		return v;
	return is_signed ? -v : (long long)limit - v;
}

GF1_FN gf1_word gf1_weighted(const struct gf1_series *s, gf1_word even, gf1_word odd, gf1_word turn) {
	gf1_word evens = (s->ranks + 1) / 2, odds = s->ranks / 2, place = s->rank / 2 + turn;
	if (odds == 0)
		odd = 0;
	if (s->kind == GF1_RESULT)
		return even + 2 * odd;
	if (s->rank % 2 == 0)
		return gf1_part(s, even, evens, place % evens);
	return gf1_part(s, odd, odds, place % odds);
}

GF1_FN struct gf1_value gf1_element(const struct gf1_series *s, gf1_word i) {
	gf1_word ranks = s->ranks, limit = gf1_integer_limit(s->type);
	gf1_word h = gf1_mix(s->seed * 0x9e3779b97f4a7c15ull + s->first + i + 1), h2 = gf1_mix(h);
	gf1_word size = h >> 16, turn = (h & 0xffff) % ranks, place = (s->rank + turn) % ranks;
	struct gf1_value v = {0, 1};
	switch (s->op) {
	case GF1_PROD:
		v.n = gf1_product(s, size % (gf1_exponent_limit(s->type) + 1), place, h2);
		return v;
	case GF1_MAX:
	case GF1_MIN:
		v.n = gf1_extreme(s, size, place, h, limit);
		return v;
	case GF1_MULSUM:
		v.n = gf1_sign(s, h2, gf1_weighted(s, size % (limit / 3 + 1), (h2 >> 16) % (limit / 3 + 1), turn));
		return v;
	case GF1_AVG:
		return gf1_average(s, size, place, h2, limit);
	}
	v.n = gf1_sign(s, h2, gf1_part(s, size % (limit + 1), ranks, place));
	return v;
}

// gf1_pack rounds to the nearest float of that many bits of exponent and mantissa,
// ties to even. The number is in the type's range, and zero is not negative.
GF1_FN gf1_word gf1_pack(double v, int exponent_bits, int mantissa_bits) {
	gf1_word bits, mantissa, steps, rest, half, sign;
	int bias = (1 << (exponent_bits - 1)) - 1, exponent, least, shift;
	memcpy(&bits, &v, sizeof bits);
	if (bits == 0)
		return 0;
	sign = (bits >> 63) << (exponent_bits + mantissa_bits);
	exponent = (int)((bits >> 52) & 0x7ff) - 1023;
	mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	least = exponent < 1 - bias ? 1 - bias : exponent;
	shift = 52 - mantissa_bits + least - exponent;
	steps = mantissa >> shift;
	rest = mantissa & ((1ull << shift) - 1);
	half = 1ull << (shift - 1);
	if (rest > half || (rest == half && (steps & 1)))
		steps++;
	// A normal number's leading one adds one to the exponent below it.
	return sign | (((gf1_word)(least + bias - 1) << mantissa_bits) + steps);
}

// gf1_bits is element i as the bits of its type, in the low bytes.
GF1_FN gf1_word gf1_bits(const struct gf1_series *s, gf1_word i) {
	struct gf1_value v;
	double wide;
	float narrow;
	gf1_word bits = 0;
	unsigned low;
	if (s->kind == GF1_ZERO)
		return 0;
	v = gf1_element(s, i);
	switch (s->type) {
	case GF1_INT8:
	case GF1_UINT8:
		return v.n & 0xff;
	case GF1_INT32:
	case GF1_UINT32:
		return v.n & 0xffffffff;
	case GF1_INT64:
	case GF1_UINT64:
		return v.n;
	}
	wide = (double)v.n / (double)v.d;
	switch (s->type) {
	case GF1_FLOAT16:
		return gf1_pack(wide, 5, 10);
	case GF1_BFLOAT16:
		return gf1_pack(wide, 8, 7);
	case GF1_FLOAT8E4M3:
		return gf1_pack(wide, 4, 3);
	case GF1_FLOAT8E5M2:
		return gf1_pack(wide, 5, 2);
	case GF1_FLOAT32:
		narrow = (float)wide;
		memcpy(&low, &narrow, sizeof low);
		return low;
	}
	memcpy(&bits, &wide, sizeof bits);
	return bits;
}

GF1_FN gf1_word gf1_load(const void *from, gf1_word i, unsigned size) {
	switch (size) {
	case 1:
		return ((const unsigned char *)from)[i];
	case 2:
		return ((const unsigned short *)from)[i];
	case 4:
		return ((const unsigned *)from)[i];
	}
	return ((const gf1_word *)from)[i];
}

GF1_FN void gf1_store(void *to, gf1_word i, unsigned size, gf1_word bits) {
	switch (size) {
	case 1:
		((unsigned char *)to)[i] = (unsigned char)bits;
		break;
	case 2:
		((unsigned short *)to)[i] = (unsigned short)bits;
		break;
	case 4:
		((unsigned *)to)[i] = (unsigned)bits;
		break;
	default:
		((gf1_word *)to)[i] = bits;
	}
}

// gf1_differs says whether two elements are further apart than the tolerance, in
// units in the last place: the bits of floats of one sign are in their order.
GF1_FN int gf1_differs(gf1_word a, gf1_word b, unsigned size, gf1_word tolerance) {
	gf1_word sign = 1ull << (8 * size - 1), far;
	if (a == b || tolerance == 0)
		return a != b;
	if ((a & sign) != (b & sign))
		far = (a & ~sign) + (b & ~sign);
	else
		far = a > b ? a - b : b - a;
	return far > tolerance;
}

#endif
