package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"headroom.dev/shim/lab"
)

// services plays systemd on the installed units: a lab has none. Sockets are left out, so that headroomd listens on
// what its configuration names.
type services struct {
	reader  *reader
	running map[string]*lab.Process
}

// systemctl is daemon-reload, enable --now, restart, reload and disable --now.
func (s *services) systemctl(arguments []string) error {
	verb, units := arguments[0], arguments[1:]
	if len(units) > 0 && units[0] == "--now" {
		units = units[1:]
	}
	for _, unit := range units {
		if strings.HasSuffix(unit, ".socket") {
			if _, err := s.unit(unit); err != nil {
				return err
			}
			continue
		}
		process := s.running[unit]
		if process == nil && verb != "enable" {
			return fmt.Errorf("%s does not run", unit)
		}
		var err error
		switch verb {
		case "enable":
			err = s.start(unit)
		case "restart":
			err = errors.Join(process.Stop(), s.start(unit))
		case "reload":
			err = syscall.Kill(process.Pid(), syscall.SIGHUP)
		case "disable":
			err = process.Stop()
		default:
			err = fmt.Errorf("systemctl %s is not played", verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unit is the text of an installed unit, with the reader's places.
func (s *services) unit(name string) (string, error) {
	text, err := os.ReadFile(s.reader.substitute.Replace("/etc/systemd/system/" + name))
	return s.reader.substitute.Replace(string(text)), err
}

var setting = regexp.MustCompile(`(?m)^(\w+)=(.*)$`)

func (s *services) start(name string) error {
	text, err := s.unit(name + ".service")
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, line := range setting.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
		settings[line[1]] = line[2]
	}
	credentials := s.reader.substitute.Replace("/run/credentials/" + name + ".service")
	if id, from, found := strings.Cut(settings["LoadCredential"], ":"); found {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(credentials, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(credentials, id), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if directory := settings["RuntimeDirectory"]; directory != "" {
		if err := os.MkdirAll(s.reader.substitute.Replace("/run/"+directory), 0o700); err != nil {
			return err
		}
	}
	words := strings.Fields(strings.ReplaceAll(settings["ExecStart"], "${CREDENTIALS_DIRECTORY}", credentials))
	s.running[name], err = s.reader.lab.StartProgram(s.reader.ctx, name, words[0], words[1:], nil)
	return err
}

// sysusers: the file is where it was installed. What it says, TestSystemdKnowsTheUnits asks systemd.
func (s *services) sysusers(arguments []string) error {
	for _, file := range arguments {
		if _, err := os.Stat(s.reader.substitute.Replace(file)); err != nil {
			return err
		}
	}
	return nil
}
