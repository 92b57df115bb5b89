package client

// mark names an object that changed or went away.
type mark struct {
	kind Kind
	key  string
}

// marks are the objects that are to be sent, each once, first in first out. The feeder's lock guards them.
type marks struct {
	set   map[mark]struct{}
	queue []mark
	begin int
}

func (m *marks) add(kind Kind, key string) {
	added := mark{kind, key}
	if _, ok := m.set[added]; ok {
		return
	}
	if m.set == nil {
		m.set = make(map[mark]struct{})
	}
	m.set[added] = struct{}{}
	m.queue = append(m.queue, added)
}

// take moves up to `most` marks out, behind those of `out`.
func (m *marks) take(out []mark, most int) []mark {
	for ; most > 0 && m.begin < len(m.queue); most-- {
		taken := m.queue[m.begin]
		m.queue[m.begin] = mark{}
		m.begin++
		delete(m.set, taken)
		out = append(out, taken)
	}
	if m.begin == len(m.queue) {
		m.queue, m.begin = m.queue[:0], 0
	} else if 2*m.begin > len(m.queue) {
		m.queue = m.queue[:copy(m.queue, m.queue[m.begin:])]
		m.begin = 0
	}
	return out
}

func (m *marks) clear() { *m = marks{} }
