package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pollSlice: a sleep in poll looks so often whether the caller's context has ended.
const pollSlice = time.Millisecond

// socket is a connected stream, read and written without the runtime's poller, whose wake-ups cost more
// than a decision. One reader and one writer at a time, each holding it (hold, release); close wakes them.
type socket struct {
	fd    int
	users atomic.Int32
}

// dial connects within the context.
func dial(ctx context.Context, address Address) (*socket, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, address.Network, address.Path)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	raw, err := connection.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{fd: -1}
	s.users.Store(1)
	duplicate := func(fd uintptr) { s.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }
	if controlErr := raw.Control(duplicate); controlErr != nil {
		return nil, controlErr
	}
	return s, err
}

// hold keeps the descriptor open; only while the one who closes has not.
func (s *socket) hold() { s.users.Add(1) }

func (s *socket) release() {
	if s.users.Add(-1) == 0 {
		unix.Close(s.fd)
	}
}

// close ends the stream at once, and frees the descriptor when nobody holds it any more. Call it once.
func (s *socket) close() {
	unix.Shutdown(s.fd, unix.SHUT_RDWR)
	s.release()
}

// read takes what has arrived: 0 where that is nothing.
func (s *socket) read(room []byte) (int, error) {
	count, err := s.move(unix.SYS_READ, "read", room)
	if count == 0 && err == nil {
		return 0, errGone
	}
	if err == unix.EAGAIN {
		return 0, nil
	}
	return count, err
}

// write writes what there is room for.
func (s *socket) write(bytes []byte) (int, error) {
	count, err := s.move(unix.SYS_WRITE, "write", bytes)
	if err == unix.EAGAIN {
		return 0, nil
	}
	return count, err
}

// move reads or writes; EAGAIN where it would block. It does not block, so that the scheduler of goroutines
// need not hear of it.
func (s *socket) move(call uintptr, name string, bytes []byte) (int, error) {
	for {
		count, _, errno := unix.RawSyscall(call, uintptr(s.fd), uintptr(unsafe.Pointer(&bytes[0])), uintptr(len(bytes)))
		switch errno {
		case 0:
			return int(count), nil
		case unix.EAGAIN:
			return 0, unix.EAGAIN
		case unix.EINTR:
		case unix.ECONNRESET, unix.EPIPE:
			return 0, errGone
		default:
			return 0, fmt.Errorf("%s: %w", name, errno)
		}
	}
}

// ended: the server has closed its end, and nothing of it waits to be read.
func (s *socket) ended() bool {
	var one [1]byte
	count, _, err := unix.Recvfrom(s.fd, one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil {
		return err != unix.EAGAIN && err != unix.EINTR
	}
	return count == 0
}

// sleep waits until the socket is ready for the events, the stream ends, or the time has passed; at most
// pollSlice.
func (s *socket) sleep(events int16, atMost time.Duration) {
	milliseconds := int((min(atMost, pollSlice) + time.Millisecond - 1) / time.Millisecond)
	descriptors := [1]unix.PollFd{{Fd: int32(s.fd), Events: events}}
	// What went wrong shows in the next read or write.
	_, _ = unix.Poll(descriptors[:], milliseconds)
}

// writeAll writes until the deadline or the context's end. `some`: a part of the bytes went out.
func (s *socket) writeAll(ctx context.Context, bytes []byte, deadline time.Time) (some bool, err error) {
	for {
		count, err := s.write(bytes)
		if err != nil {
			return some, err
		}
		some = some || count > 0
		bytes = bytes[count:]
		if len(bytes) == 0 {
			return some, nil
		}
		if count > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return some, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return some, errors.New("the server does not read")
		}
		s.sleep(unix.POLLOUT, left)
	}
}
