// The minor release whose rules are followed, where they differ.
#pragma once

namespace oracle {

enum class Version { k135, k136, k137 };

}  // namespace oracle
