#include "tests/support/colliding_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "workloads/random.h"

namespace headroom {

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t kBlocks = 14;
constexpr std::size_t kBlockBytes = 16;

// One step of hash_bytes: a bijection of the state, whatever the word.
std::uint64_t step(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0xFF51AFD7ED558CCD;
  return state ^ (state >> 32);
}

std::uint64_t word_of(std::string_view eight) {
  std::uint64_t word = 0;
  std::memcpy(&word, eight.data(), 8);
  return word;
}

// By the exclusive or of two letters: these; nullopt where no two give it.
using Pairs = std::array<std::optional<std::pair<char, char>>, 256>;

Pairs letter_pairs() {
  Pairs pairs;
  for (const char a : kLetters) {
    for (const char b : kLetters) {
      auto& pair = pairs[static_cast<unsigned char>(a ^ b)];
      if (!pair) pair = {a, b};
    }
  }
  return pairs;
}

// Two texts of 16 letters that take `state` to one state.
struct Block {
  std::string one, other;
};
std::optional<Block> find_block(std::uint64_t state, const Pairs& pairs, Random& random) {
  constexpr std::size_t kTried = 1500;
  std::vector<std::string> words(kTried, std::string(8, ' '));
  std::vector<std::uint64_t> states;
  for (std::string& word : words) {
    for (char& c : word) c = kLetters[random.below(kLetters.size())];
    states.push_back(step(state, word_of(word)));
  }
  for (std::size_t i = 0; i < kTried; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      // The next words have to differ where the states do.
      const std::uint64_t differ = states[i] ^ states[j];
      Block block{words[i], words[j]};
      std::size_t byte = 0;
      for (; byte < 8; ++byte) {
        if (!pairs[(differ >> (8 * byte)) & 0xFF]) break;
      }
      if (byte < 8 || differ == 0) continue;
      for (byte = 0; byte < 8; ++byte) {
        const auto& pair = *pairs[(differ >> (8 * byte)) & 0xFF];
        block.one += pair.first;
        block.other += pair.second;
      }
      return block;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> colliding_names(std::string_view prefix, std::size_t count) {
  const Pairs pairs = letter_pairs();
  Random random{3};
  const std::string fill((8 - prefix.size() % 8) % 8, 'a');
  const std::string start = std::string(prefix) + fill;
  std::uint64_t state = (start.size() + kBlocks * kBlockBytes) * 0x9E3779B97F4A7C15;
  for (std::size_t at = 0; at < start.size(); at += 8) {
    state = step(state, word_of(std::string_view(start).substr(at)));
  }
  std::vector<std::string> names = {fill};
  for (std::size_t b = 0; b < kBlocks; ++b) {
    std::optional<Block> block;
    while (!block) block = find_block(state, pairs, random);
    state = step(step(state, word_of(block->one)), word_of(std::string_view(block->one).substr(8)));
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      longer.push_back(name + block->one);
      if (names.size() * 2 <= count * 2) longer.push_back(name + block->other);
    }
    names = std::move(longer);
  }
  names.resize(std::min(count, names.size()));
  return names;
}

}  // namespace headroom
