// Filters: the needs of a pod against the headroom of a block's rows, and the codes of their
// classes.
#include "kernels/block.h"
#include "kernels/exact.h"

namespace headroom::HEADROOM_ISA {

namespace {

// Vectors that the filters take at once, to read each term's pointer and need less often.
constexpr std::uint32_t kFilterVectors = kPadNodes / kLanes;

// The codes of rows [i, i + kLanes) by class, 0 beyond the block.
Int class_codes(const Block& block, const Program& program, std::uint32_t i) {
  const std::uint32_t* classes = block.columns.node_class + block.first + i;
  if (i + kLanes <= block.count) {
    return look_up(program.class_code,
                   Int::load_unaligned(reinterpret_cast<const std::int32_t*>(classes)));
  }
  std::int32_t codes[kLanes] = {};
  for (std::uint32_t lane = 0; i + lane < block.count; ++lane) {
    codes[lane] = static_cast<std::int32_t>(program.class_code[classes[lane]]);
  }
  return Int::load_unaligned(codes);
}

struct Comparison {
  const float* headroom;
  Float need;
  Int bit;  // the term's, in every lane
};

}  // namespace

RowBits filter(const Block& block, const Program& program, BlockScores& out) {
  Comparison surely_short[kFilterTermsMax];
  const FilterTerm* maybe_short[kFilterTermsMax];
  std::uint32_t terms = 0, maybe_terms = 0;
  for (const FilterTerm& term : program.filter_terms) {
    const float* headroom = block.narrow(term.column);
    surely_short[terms++] = {headroom, Float(term.need_low), Int(1 << term.bit)};
    if (term.need_low != term.need_high) {
      maybe_short[maybe_terms++] = &term;
    }
  }
  RowBits feasible, doubtful;
  for (std::uint32_t i = 0; i < block.count; i += kFilterVectors * kLanes) {
    Int code[kFilterVectors];
    for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
      code[v] = class_codes(block, program, i + v * kLanes);
    }
    const Comparison* term = surely_short;
    for (const FilterPlugin& plugin : program.filter_plugins) {
      Int failed[kFilterVectors];
      std::fill_n(failed, kFilterVectors, Int(0));
      for (const Comparison* end = term + plugin.count; term != end; ++term) {
        for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
          const Float headroom = Float::load_unaligned(term->headroom + i + v * kLanes);
          failed[v] = xsimd::select(xsimd::bool_cast(headroom < term->need), failed[v] | term->bit,
                                    failed[v]);
        }
      }
      for (std::uint32_t v = 0; v < kFilterVectors; ++v) {
        Int mine = failed[v];
        if (plugin.first_only) {
          mine = mine & (Int(0) - mine);
        }
        code[v] = code[v] | xsimd::select(code[v] == Int(0), mine, Int(0));
      }
    }
    for (std::uint32_t v = 0; v < kFilterVectors && i + v * kLanes < block.count; ++v) {
      code[v].store_unaligned(reinterpret_cast<std::int32_t*>(out.code + i) + v * kLanes);
      feasible.set(i + v * kLanes, bits(code[v] == Int(0)));
    }
  }
  for (std::uint32_t t = 0; t < maybe_terms; ++t) {
    const float* column = block.narrow(maybe_short[t]->column);
    const Float low(maybe_short[t]->need_low), high(maybe_short[t]->need_high);
    for (std::uint32_t i = 0; i < block.count; i += kLanes) {
      const Float headroom = Float::load_unaligned(column + i);
      const std::uint32_t between = bits(headroom >= low && headroom < high);
      if (between != 0) {
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
          if ((between >> lane & 1) != 0 && i + lane < block.count) {
            doubtful.set_row(i + lane);
          }
        }
      }
    }
  }
  doubtful.for_each([&](std::uint32_t i) {
    if ((out.code[i] & kClassRejection) == 0) {
      out.code[i] = exact_code(program, block.truth(i));
      out.code[i] == 0 ? feasible.set_row(i) : feasible.clear_row(i);
    }
  });
  feasible.keep(block.count);
  return feasible;
}

}  // namespace headroom::HEADROOM_ISA
