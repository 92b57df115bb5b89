// Vectors as numpy arrays, without a copy: the array owns the vector. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace headroom::python {

template <typename T>
nanobind::object array_of(std::vector<T>&& values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  std::vector<T>* const vector = kept.get();
  const nanobind::capsule owner(
      vector, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  kept.release();
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(
      vector->data(), {vector->size()}, owner));
}

}  // namespace headroom::python
