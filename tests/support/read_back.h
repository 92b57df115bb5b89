// Objects as the wire has them: written as a client writes them, and read as headroomd reads them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "client/encode.h"
#include "server/requests/decode.h"

namespace headroom {

// The error of an object, or "ok"; into an object that held another before.
template <typename WireObject, typename Object>
std::string read_back(const Object& object, Object out) {
  Builder builder;
  builder.Finish(encode(builder, object));
  const auto done = decode(*flatbuffers::GetRoot<WireObject>(builder.GetBufferPointer()), out);
  if (!done) return fmt::format("{}: {}", to_string(done.error().code), done.error().message);
  EXPECT_EQ(out, object);
  return "ok";
}

// What `write` writes into the builder, which owns it, as its reader has it.
template <typename Body, typename Write>
const Body& written(Builder& builder, Write write) {
  builder.Clear();
  builder.Finish(write());
  return *flatbuffers::GetRoot<Body>(builder.GetBufferPointer());
}

}  // namespace headroom
