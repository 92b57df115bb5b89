package lab

import "syscall"

// endWithParent has the kernel kill the child when this program ends, however it ends.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
