// Writes the objects that nodes and pods refer to as the JSON that object_reader.h reads, in
// kubectl's form and on one line.
//
// Reading it gives an equal object where the object could have been read: a volumeMode, the pool of
// an RBD image are stated; a ReplicationController's selector has In requirements of one value.
// Thread safety: plain functions. Cost: appends to the text.
#pragma once

#include <string>

#include "objects/objects.h"

namespace headroom {

void append_json(std::string& text, const ReferredObject& object);
std::string to_json(const ReferredObject& object);

}  // namespace headroom
