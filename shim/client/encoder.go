package client

import (
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"headroom.dev/shim/wire"
)

// encoder builds frames in memory that is used again. One goroutine at a time.
type encoder struct {
	b        *flatbuffers.Builder
	offsets  []flatbuffers.UOffsetT // a stack: of the lists that are being built
	text     []byte
	quantity resource.Quantity
}

func newEncoder() encoder { return encoder{b: flatbuffers.NewBuilder(roomBytesMin)} }

// reset forgets what was built; memory of a large frame goes.
func (e *encoder) reset() {
	if cap(e.b.Bytes) > keptBytesMax {
		e.b = flatbuffers.NewBuilder(roomBytesMin)
	}
	e.b.Reset()
	e.offsets = e.offsets[:0]
}

// frame finishes what was built; valid until reset.
func (e *encoder) frame(id uint64, bodyType wire.Body, body flatbuffers.UOffsetT) []byte {
	wire.FrameStart(e.b)
	wire.FrameAddId(e.b, id)
	wire.FrameAddBody(e.b, body)
	wire.FrameAddBodyType(e.b, bodyType)
	e.b.FinishSizePrefixedWithFileIdentifier(wire.FrameEnd(e.b), identifier)
	return e.b.FinishedBytes()
}

func (e *encoder) string(text string) flatbuffers.UOffsetT { return e.b.CreateString(text) }

// optional is absent where empty.
func (e *encoder) optional(text string) flatbuffers.UOffsetT {
	if text == "" {
		return 0
	}
	return e.b.CreateString(text)
}

// A list: mark its beginning, push each item when it is built, then make the vector. Lists may nest.
func (e *encoder) mark() int                      { return len(e.offsets) }
func (e *encoder) push(item flatbuffers.UOffsetT) { e.offsets = append(e.offsets, item) }

func (e *encoder) vector(mark int) flatbuffers.UOffsetT {
	items := e.offsets[mark:]
	e.b.StartVector(flatbuffers.SizeUOffsetT, len(items), flatbuffers.SizeUOffsetT)
	for i := len(items) - 1; i >= 0; i-- {
		e.b.PrependUOffsetT(items[i])
	}
	e.offsets = e.offsets[:mark]
	return e.b.EndVector(len(items))
}

func (e *encoder) strings(list []string) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	mark := e.mark()
	for _, item := range list {
		e.push(e.string(item))
	}
	return e.vector(mark)
}

func (e *encoder) keyValue(key, value string) flatbuffers.UOffsetT {
	k := e.string(key)
	v := e.optional(value)
	wire.KeyValueStart(e.b)
	wire.KeyValueAddKey(e.b, k)
	wire.KeyValueAddValue(e.b, v)
	return wire.KeyValueEnd(e.b)
}

func (e *encoder) stringMap(entries map[string]string) flatbuffers.UOffsetT {
	if len(entries) == 0 {
		return 0
	}
	mark := e.mark()
	for key, value := range entries {
		e.push(e.keyValue(key, value))
	}
	return e.vector(mark)
}

// annotations are those that the engine reads.
func (e *encoder) annotations(entries map[string]string, read []string) flatbuffers.UOffsetT {
	if len(entries) == 0 {
		return 0
	}
	mark := e.mark()
	for _, key := range read {
		if value, ok := entries[key]; ok {
			e.push(e.keyValue(key, value))
		}
	}
	if e.mark() == mark {
		return 0
	}
	return e.vector(mark)
}

func (e *encoder) resource(name, quantity flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	wire.ResourceStart(e.b)
	wire.ResourceAddName(e.b, name)
	wire.ResourceAddQuantity(e.b, quantity)
	return wire.ResourceEnd(e.b)
}

// resources are absent where there are none.
func (e *encoder) resources(list v1.ResourceList) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	return e.presentResources(list)
}

func (e *encoder) presentResources(list v1.ResourceList) flatbuffers.UOffsetT {
	mark := e.mark()
	for name, quantity := range list {
		n := e.string(string(name))
		e.push(e.resource(n, e.quantityText(quantity)))
	}
	return e.vector(mark)
}

// Suffixes of 10^-9, 10^-6, ... 10^18.
var decimalSuffixes = [...]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}

// quantityText writes the exact value. The quantity is a copy, because Quantity.String would write to the
// object, which others read at the same time.
func (e *encoder) quantityText(quantity resource.Quantity) flatbuffers.UOffsetT {
	e.quantity = quantity
	if whole, ok := e.quantity.AsInt64(); ok {
		e.text = strconv.AppendInt(e.text[:0], whole, 10)
		return e.b.CreateByteString(e.text)
	}
	digits, exponent := e.quantity.AsCanonicalBytes(e.text[:0])
	e.text = digits
	if place := int(exponent)/3 + 3; exponent%3 == 0 && place >= 0 && place < len(decimalSuffixes) {
		e.text = append(e.text, decimalSuffixes[place]...)
	} else {
		e.text = append(e.text, 'e')
		e.text = strconv.AppendInt(e.text, int64(exponent), 10)
	}
	return e.b.CreateByteString(e.text)
}
