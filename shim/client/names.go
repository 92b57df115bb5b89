package client

import "sync"

// Texts that are kept beyond the number that is known to be in use.
const internedSlack = 4096

// interner keeps one string for each text, so that a name that comes again costs no allocation.
type interner struct {
	mu    sync.Mutex
	texts map[string]string
}

func (n *interner) lock() {
	n.mu.Lock()
	if n.texts == nil {
		n.texts = make(map[string]string)
	}
}

func (n *interner) unlock() { n.mu.Unlock() }

// get is the string of a text; the interner is locked.
func (n *interner) get(text []byte) string {
	if known, ok := n.texts[string(text)]; ok {
		return known
	}
	made := string(text)
	n.texts[made] = made
	return made
}

// limit forgets all where there is much more than `used`; it is locked.
func (n *interner) limit(used int) {
	if len(n.texts) > 2*used+internedSlack {
		clear(n.texts)
	}
}
