//go:build !linux

package lab

import "syscall"

// endWithParent: only Linux has a parent-death signal. Elsewhere Lab.Close ends the children.
func endWithParent() *syscall.SysProcAttr { return nil }
