#include "engine/applications/row_change.h"

#include <algorithm>

namespace headroom {

bool RowChange::is_gone(PodId id) const {
  return std::find(gone.begin(), gone.end(), id) != gone.end();
}

void RowChange::shift(const std::vector<Feed>* feeds, int sign) {
  for (std::size_t f = 0; feeds != nullptr && f < feeds->size(); ++f) {
    const Feed& feed = (*feeds)[f];
    deltas.resize(std::max<std::size_t>(deltas.size(), feed.counter + 1));
    deltas[feed.counter] += sign * feed.given_back;
  }
}

void RowChange::take(PodId id, const std::vector<Feed>* feeds) {
  gone.push_back(id);
  shift(feeds, -1);
}

void RowChange::put_back(PodId id, const std::vector<Feed>* feeds) {
  std::erase(gone, id);
  shift(feeds, 1);
}

void RowChange::add(PodId id, const std::vector<Feed>* feeds) {
  come.push_back(id);
  shift(feeds, 1);
}

void RowChange::clear() {
  gone.clear();
  come.clear();
  deltas.clear();
  elsewhere.clear();
}

}  // namespace headroom
