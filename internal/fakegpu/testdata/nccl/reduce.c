// Arithmetic of every datatype. The small floats are added up as floats and
// rounded once.
#include "state.h"

#include <math.h>
#include <string.h>

size_t gf1_type_size(ncclDataType_t type) {
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return sizes[type];
}

// A float of sign, e bits of exponent and m of mantissa. Those of 8 bits
// saturate; e4m3 has no infinity, so its top exponent is a number too.
struct format {
	int e, m;
	bool saturate, no_infinity;
};

static const struct format half = {5, 10, false, false}, bfloat = {8, 7, false, false}, e4m3 = {4, 3, true, true},
						   e5m2 = {5, 2, true, false};

static float decode(struct format f, unsigned bits) {
	int bias = (1 << (f.e - 1)) - 1;
	unsigned exponent = bits >> f.m & ((1u << f.e) - 1), mantissa = bits & ((1u << f.m) - 1);
	float sign = bits >> (f.e + f.m) & 1 ? -1.0f : 1.0f;
	bool top = exponent == (1u << f.e) - 1;
	if (f.no_infinity && top && mantissa == (1u << f.m) - 1)
		return NAN;
	if (!f.no_infinity && top)
		return mantissa == 0 ? sign * INFINITY : NAN;
	if (exponent == 0)
		return sign * ldexpf((float)mantissa, 1 - bias - f.m);
	return sign * ldexpf((float)(mantissa | 1u << f.m), (int)exponent - bias - f.m);
}

static unsigned encode(struct format f, float value) {
	int bias = (1 << (f.e - 1)) - 1;
	unsigned sign = signbit(value) ? 1u << (f.e + f.m) : 0, all = (1u << (f.e + f.m)) - 1;
	unsigned infinity = ((1u << f.e) - 1) << f.m;
	unsigned largest = f.no_infinity ? all - 1 : infinity - 1;
	if (isnan(value))
		return sign | all;
	value = fabsf(value);
	int exponent = 0;
	if (value != 0 && !isinf(value))
		exponent = ilogbf(value);
	if (exponent < 1 - bias)
		exponent = 1 - bias;
	if (isinf(value) || exponent > bias + 1)
		return sign | (f.saturate ? largest : infinity);
	// The mantissa, rounded to even, carries into the exponent by itself.
	unsigned scaled = (unsigned)nearbyintf(ldexpf(value, f.m - exponent));
	unsigned bits = scaled < 1u << f.m ? scaled : (unsigned)(exponent + bias - 1) * (1u << f.m) + scaled;
	if (bits > largest)
		return sign | (f.saturate ? largest : infinity);
	return sign | bits;
}

static float load_small(ncclDataType_t type, const void *from) {
	uint16_t two = 0;
	memcpy(&two, from, gf1_type_size(type));
	return decode(type == ncclFloat16 ? half : type == ncclBfloat16 ? bfloat : type == ncclFloat8e4m3 ? e4m3 : e5m2, two);
}

static void store_small(ncclDataType_t type, void *to, float value) {
	uint16_t bits = (uint16_t)encode(type == ncclFloat16 ? half : type == ncclBfloat16 ? bfloat : type == ncclFloat8e4m3 ? e4m3 : e5m2, value);
	memcpy(to, &bits, gf1_type_size(type));
}

double gf1_load(ncclDataType_t type, const void *from) {
	switch (type) {
	case ncclInt8: return *(const int8_t *)from;
	case ncclUint8: return *(const uint8_t *)from;
	case ncclInt32: return *(const int32_t *)from;
	case ncclUint32: return *(const uint32_t *)from;
	case ncclInt64: return (double)*(const int64_t *)from;
	case ncclUint64: return (double)*(const uint64_t *)from;
	case ncclFloat32: return *(const float *)from;
	case ncclFloat64: return *(const double *)from;
	default: return load_small(type, from);
	}
}

#define MULTIPLY(type)                                            \
	for (size_t i = 0; i < count; i++)                            \
		((type *)to)[i] = (type)(((const type *)from)[i] * (type)scalar); \
	break

void gf1_multiply(ncclDataType_t type, void *to, const void *from, size_t count, double scalar) {
	size_t width = gf1_type_size(type);
	switch (type) {
	case ncclInt8: MULTIPLY(int8_t);
	case ncclUint8: MULTIPLY(uint8_t);
	case ncclInt32: MULTIPLY(int32_t);
	case ncclUint32: MULTIPLY(uint32_t);
	case ncclInt64: MULTIPLY(int64_t);
	case ncclUint64: MULTIPLY(uint64_t);
	case ncclFloat32: MULTIPLY(float);
	case ncclFloat64: MULTIPLY(double);
	default:
		for (size_t i = 0; i < count; i++)
			store_small(type, (char *)to + i * width, load_small(type, (const char *)from + i * width) * (float)scalar);
	}
}

// Sums and products of integers wrap, so they are made unsigned.
#define REDUCE_AS(name, type, wide)                                                                           \
	static void name(ncclRedOp_t op, void *to, const void *const *from, int ranks, size_t count) {            \
		for (size_t i = 0; i < count; i++) {                                                                  \
			type acc = ((const type *)from[0])[i];                                                            \
			for (int r = 1; r < ranks; r++) {                                                                 \
				type v = ((const type *)from[r])[i];                                                          \
				switch (op) {                                                                                 \
				case ncclProd: acc = (type)((wide)acc * (wide)v); break;                                      \
				case ncclMax: acc = v > acc ? v : acc; break;                                                 \
				case ncclMin: acc = v < acc ? v : acc; break;                                                 \
				default: acc = (type)((wide)acc + (wide)v);                                                   \
				}                                                                                             \
			}                                                                                                 \
			((type *)to)[i] = op == ncclAvg ? (type)(acc / (type)ranks) : acc;                                \
		}                                                                                                     \
	}

REDUCE_AS(reduce_i8, int8_t, uint8_t)
REDUCE_AS(reduce_u8, uint8_t, uint8_t)
REDUCE_AS(reduce_i32, int32_t, uint32_t)
REDUCE_AS(reduce_u32, uint32_t, uint32_t)
REDUCE_AS(reduce_i64, int64_t, uint64_t)
REDUCE_AS(reduce_u64, uint64_t, uint64_t)
REDUCE_AS(reduce_f32, float, float)
REDUCE_AS(reduce_f64, double, double)

static void reduce_small(ncclDataType_t type, ncclRedOp_t op, void *to, const void *const *from, int ranks, size_t count) {
	size_t width = gf1_type_size(type);
	for (size_t i = 0; i < count; i++) {
		float acc = load_small(type, (const char *)from[0] + i * width);
		for (int r = 1; r < ranks; r++) {
			float v = load_small(type, (const char *)from[r] + i * width);
			switch (op) {
			case ncclProd: acc *= v; break;
			case ncclMax: acc = v > acc ? v : acc; break;
			case ncclMin: acc = v < acc ? v : acc; break;
			default: acc += v;
			}
		}
		store_small(type, (char *)to + i * width, op == ncclAvg ? acc / (float)ranks : acc);
	}
}

void gf1_reduce(ncclDataType_t type, ncclRedOp_t op, void *to, const void *const *from, int ranks, size_t count) {
	static void (*const exact[])(ncclRedOp_t, void *, const void *const *, int, size_t) = {
		[ncclInt8] = reduce_i8, [ncclUint8] = reduce_u8, [ncclInt32] = reduce_i32, [ncclUint32] = reduce_u32,
		[ncclInt64] = reduce_i64, [ncclUint64] = reduce_u64, [ncclFloat32] = reduce_f32, [ncclFloat64] = reduce_f64,
		[ncclFloat8e5m2] = NULL,
	};
	if (exact[type] != NULL)
		exact[type](op, to, from, ranks, count);
	else
		reduce_small(type, op, to, from, ranks, count);
}
