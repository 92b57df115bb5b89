// The few operations that xsimd 8 lacks, one overload per instruction set.
#pragma once

#include <immintrin.h>

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
#else
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_cvttpd_epi32(value));
#endif
}

}  // namespace headroom::HEADROOM_ISA
