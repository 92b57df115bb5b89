package client

import (
	"encoding/binary"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"headroom.dev/shim/wire"
)

const (
	prefixBytes = flatbuffers.SizeUint32
	// Prefix, root offset and identifier: what is shorter is no frame.
	frameBytesMin = prefixBytes + flatbuffers.SizeUOffsetT + 4
	// Of a frame without its prefix, until the greeting says what the server has as kFrameBytesMax.
	defaultFrameBytesMax = 8 << 20
	// Room that is read into.
	roomBytesMin = 64 << 10
	// Memory that a buffer may keep after a large frame.
	keptBytesMax = 1 << 20
)

var identifier = []byte("HDRM")

// frameBuffer collects received bytes and gives out the frames among them.
type frameBuffer struct {
	bytes      []byte
	begin, end int
	max        int // of a frame's bytes; 0: defaultFrameBytesMax
}

// room is where the next bytes go; at least roomBytesMin. It invalidates what next returned.
func (f *frameBuffer) room() []byte {
	if f.begin == f.end {
		f.begin, f.end = 0, 0
		if len(f.bytes) > keptBytesMax {
			f.bytes = nil
		}
	}
	if len(f.bytes)-f.end < roomBytesMin && f.begin > 0 {
		f.end = copy(f.bytes, f.bytes[f.begin:f.end])
		f.begin = 0
	}
	if len(f.bytes)-f.end < roomBytesMin {
		larger := make([]byte, max(2*f.end, 2*roomBytesMin))
		copy(larger, f.bytes[:f.end])
		f.bytes = larger
	}
	return f.bytes[f.end:]
}

func (f *frameBuffer) received(count int) { f.end += count }

// next is the next whole frame with its prefix, or nil; valid until room is called.
func (f *frameBuffer) next() ([]byte, error) {
	if f.end-f.begin < prefixBytes {
		return nil, nil
	}
	most := f.max
	if most == 0 {
		most = defaultFrameBytesMax
	}
	size := binary.LittleEndian.Uint32(f.bytes[f.begin:])
	if uint64(size) > uint64(most) {
		return nil, fmt.Errorf("frame of %d bytes: kFrameBytesMax is %d", size, most)
	}
	whole := prefixBytes + int(size)
	if f.end-f.begin < whole {
		return nil, nil
	}
	// The capacity ends with the frame: a wrong length inside it cannot reach what follows.
	frame := f.bytes[f.begin : f.begin+whole : f.begin+whole]
	f.begin += whole
	if whole < frameBytesMin || string(frame[8:12]) != string(identifier) {
		return nil, fmt.Errorf("frame of %d bytes: not a Frame of the HDRM schema", size)
	}
	return frame, nil
}

// openFrame reads a frame's root. It panics where the frame is malformed, as all of FlatBuffers' readers do.
func openFrame(frame []byte, root *wire.Frame, body *flatbuffers.Table) (wire.Body, error) {
	root.Init(frame, flatbuffers.GetUOffsetT(frame[prefixBytes:])+prefixBytes)
	bodyType := root.BodyType()
	if !root.Body(body) {
		return bodyType, fmt.Errorf("a frame without a body")
	}
	return bodyType, nil
}

// recoverMalformed makes an error of a panic: the library cannot verify a frame, so that a malformed one is
// found by reading beyond its end.
func recoverMalformed(err *error) {
	if panicked := recover(); panicked != nil {
		*err = &malformedError{panicked}
	}
}

// malformedError: a frame that is not of the schema.
type malformedError struct{ panicked any }

func (m *malformedError) Error() string { return fmt.Sprintf("malformed frame: %v", m.panicked) }

// readError reads the body of an Error frame.
func readError(body *flatbuffers.Table) *ServerError {
	var failure wire.Error
	failure.Init(body.Bytes, body.Pos)
	return &ServerError{Code: failure.Code(), Message: string(failure.Message())}
}
