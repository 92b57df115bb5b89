// The few operations that xsimd 8 lacks, one overload per instruction set.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace headroom::HEADROOM_ISA {

using Arch = HEADROOM_ARCH;
using Float = xsimd::batch<float, Arch>;
using FloatMask = xsimd::batch_bool<float, Arch>;
using Int = xsimd::batch<std::int32_t, Arch>;
using IntMask = xsimd::batch_bool<std::int32_t, Arch>;
using Double = xsimd::batch<double, Arch>;
using DoubleMask = xsimd::batch_bool<double, Arch>;
using Long = xsimd::batch<std::int64_t, Arch>;
inline constexpr std::uint32_t kLanes = Float::size;
inline constexpr std::uint32_t kDoubleLanes = Double::size;
// What bits() has where every lane is set.
inline constexpr std::uint32_t kAllLanes = (std::uint32_t{1} << kLanes) - 1;

// Bit i is set where lane i is.
#if defined(__AVX512F__)
inline std::uint32_t bits(FloatMask mask) { return mask.data; }
inline std::uint32_t bits(IntMask mask) { return mask.data; }
inline std::uint32_t bits(DoubleMask mask) { return mask.data; }
#elif defined(__AVX2__)
inline std::uint32_t bits(FloatMask mask) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(mask));
}
inline std::uint32_t bits(IntMask mask) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}
inline std::uint32_t bits(DoubleMask mask) {
  return static_cast<std::uint32_t>(_mm256_movemask_pd(mask));
}
#elif defined(__aarch64__)
inline std::uint32_t bits(IntMask mask) {
  constexpr uint32x4_t kBits = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask, kBits));
}
inline std::uint32_t bits(FloatMask mask) { return bits(IntMask(mask.data)); }
inline std::uint32_t bits(DoubleMask mask) {
  constexpr uint64x2_t kBits = {1, 2};
  return static_cast<std::uint32_t>(vaddvq_u64(vandq_u64(mask, kBits)));
}
#else
inline std::uint32_t bits(FloatMask mask) {
  return static_cast<std::uint32_t>(_mm_movemask_ps(mask));
}
inline std::uint32_t bits(IntMask mask) {
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(mask)));
}
inline std::uint32_t bits(DoubleMask mask) {
  return static_cast<std::uint32_t>(_mm_movemask_pd(mask));
}
#endif

// a * b + c and c - a * b, fused where the machine can: xsimd 8 does not for AVX-512.
inline Float fma(Float a, Float b, Float c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#else
  return xsimd::fma(a, b, c);
#endif
}
inline Float fnma(Float a, Float b, Float c) {
#if defined(__AVX512F__)
  return _mm512_fnmadd_ps(a, b, c);
#else
  return xsimd::fnma(a, b, c);
#endif
}

// a / b and the square root, rounded once, and the smaller and the greater of two, b where a is
// NaN: of float32 xsimd 8 approximates the former with NEON, and takes the NaN.
#if defined(__aarch64__)
inline Float divide(Float a, Float b) { return vdivq_f32(a, b); }
inline Float square_root(Float a) { return vsqrtq_f32(a); }
inline Float min(Float a, Float b) { return vminnmq_f32(a, b); }
inline Float max(Float a, Float b) { return vmaxnmq_f32(a, b); }
#else
inline Float divide(Float a, Float b) { return a / b; }
inline Float square_root(Float a) { return xsimd::sqrt(a); }
inline Float min(Float a, Float b) { return xsimd::min(a, b); }
inline Float max(Float a, Float b) { return xsimd::max(a, b); }
#endif

// Not a == b, and not a >= b: set where one is NaN, too. xsimd 8 negates AVX2's masks in halves.
#if defined(__AVX512F__)
inline FloatMask differ(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
inline FloatMask not_at_least(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_NGE_UQ); }
#elif defined(__AVX2__)
inline FloatMask differ(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
inline FloatMask not_at_least(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_NGE_UQ); }
#else
inline FloatMask differ(Float a, Float b) { return !(a == b); }
inline FloatMask not_at_least(Float a, Float b) { return !(a >= b); }
#endif

// Over all lanes.
inline std::int32_t least(Int values) {
  std::int32_t lanes[kLanes];
  values.store_unaligned(lanes);
  return *std::min_element(lanes, lanes + kLanes);
}
inline std::int32_t most(Int values) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_epi32(values);
#elif defined(__aarch64__)
  return vmaxvq_s32(values);
#else
#if defined(__AVX2__)
  __m128i most = _mm_max_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
#else
  __m128i most = values;
#endif
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0b01001110));
  most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0b10110001));
  return _mm_cvtsi128_si32(most);
#endif
}
// table[index] by lane; indices below 2^31.
inline Int look_up(const std::uint32_t* table, Int index) {
  const auto* values = reinterpret_cast<const std::int32_t*>(table);
#if defined(__AVX512F__)
  return _mm512_i32gather_epi32(index, values, sizeof(*values));
#elif defined(__AVX2__)
  return _mm256_i32gather_epi32(values, index, sizeof(*values));
#else
  std::int32_t lanes[kLanes];
  index.store_unaligned(lanes);
  for (std::int32_t& lane : lanes) {
    lane = values[lane];
  }
  return Int::load_unaligned(lanes);
#endif
}

// Whole numbers of |value| < 2^51 as doubles: adds 2^52 + 2^51 in the bits and takes it off again.
inline Double to_double(Long value) {
  const Long magic(0x4338000000000000);
  return xsimd::bitwise_cast<Double>(value + magic) - Double(6755399441055744.0);
}

// Doubles in int32's range, truncated, stored one after the other.
inline void store_truncated(Double value, std::int32_t* out) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvttpd_epi32(value));
#elif defined(__AVX2__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvttpd_epi32(value));
#elif defined(__aarch64__)
  vst1_s32(out, vmovn_s64(vcvtq_s64_f64(value)));
#else
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_cvttpd_epi32(value));
#endif
}

// The sum of the products of each lane's two 16-bit halves.
inline Int multiply_pairs(Int a, Int b) {
#if defined(__AVX512F__)
  return _mm512_madd_epi16(a, b);
#elif defined(__AVX2__)
  return _mm256_madd_epi16(a, b);
#elif defined(__aarch64__)
  const int16x8_t left = vreinterpretq_s16_s32(a), right = vreinterpretq_s16_s32(b);
  return vpaddq_s32(vmull_s16(vget_low_s16(left), vget_low_s16(right)),
                    vmull_high_s16(left, right));
#else
  return _mm_madd_epi16(a, b);
#endif
}

}  // namespace headroom::HEADROOM_ISA
