package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"headroom.dev/shim/lab"
)

// perfResult has processor times in milliseconds a measured pod.
type perfResult struct {
	podsPerSecond float64 // from the first request to create one to the last binding
	sampled       float64 // upstream's SchedulingThroughput; 0: it took no sample
	schedulerCPU  float64 // of samples with code of the scheduler or the plugin on the stack
	processCPU    float64 // of all samples: API server, clients and garbage collection too
	headroomdCPU  float64
	left          int // cycles that headroomd did not decide, those of the first pods too
}

// Whose functions are the scheduler's work.
var schedulerPackages = []string{"k8s.io/kubernetes/pkg/scheduler", "headroom.dev/shim/"}

// logFile of a run, in its directory.
const logFile = "log"

// run is one run of the workload, in a process of its own.
func (b *perfBench) run(ctx context.Context, w *perfWorkload, headroom bool) (result perfResult, err error) {
	b.runs++
	directory := filepath.Join(b.lab.Directory, fmt.Sprintf("run-%d", b.runs))
	if err := os.Mkdir(directory, 0o700); err != nil {
		return result, err
	}
	configuration := filepath.Join(directory, "configuration.yaml")
	usage, scheduler := &usageOverTime{}, ""
	if headroom {
		daemon, err := b.lab.StartHeadroomd(ctx, b.chart.Headroomd)
		if err != nil {
			return result, err
		}
		defer b.lab.Forget(daemon.Process)
		scheduler = filepath.Join(directory, "scheduler.yaml")
		profiles := []lab.SchedulerProfile{b.chart.SchedulerFor(daemon.Address)}
		text, err := lab.SchedulerConfig{Profiles: profiles}.Text("")
		if err != nil {
			return result, err
		}
		if err := os.WriteFile(scheduler, text, 0o600); err != nil {
			return result, err
		}
		usage = watchUsage(ctx, daemon.Process)
	}
	if err := w.write(configuration, scheduler); err != nil {
		return result, err
	}
	figures, err := b.child(ctx, w, directory, configuration, headroom)
	if err != nil {
		return result, err
	}
	if err := usage.stop(); err != nil {
		return result, err
	}
	result.sampled = figures["SchedulingThroughput/Average"]
	result.left = int(figures["Headroom/left"])
	return result, result.readProfile(directory, usage, float64(w.pods))
}

// child runs upstream's benchmark, where its paths start from, and gives its figures by their units.
func (b *perfBench) child(ctx context.Context, w *perfWorkload, directory, configuration string, headroom bool) (map[string]float64, error) {
	bench := "^BenchmarkPerfScheduling$"
	for _, part := range strings.Split(w.test+"/"+w.name, "/") {
		bench += "/^" + part + "$"
	}
	command := exec.CommandContext(ctx, b.program, "-test.run=^$", "-test.bench="+bench, "-test.benchtime=1x",
		"-test.timeout=0", "-perf-scheduling-label-filter=", "-perf-cpuprofile", tellBindings, "-data-items-dir="+directory,
		"-configuration="+configuration, fmt.Sprintf("-headroom=%t", headroom))
	command.Dir = filepath.Join(b.sources, w.topic)
	// TEST_SRCDIR and TEST_WORKSPACE are how the test's API server finds its files in a program without paths.
	command.Env = append(os.Environ(), "PATH="+b.path+":"+os.Getenv("PATH"), "TMPDIR="+b.lab.Data,
		"TEST_SRCDIR="+b.modules, "TEST_WORKSPACE=.")
	var out bytes.Buffer
	log, err := os.Create(filepath.Join(directory, logFile))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = &out, log
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tail(out.String()))
	}
	return benchmarkFigures(out.String()), nil
}

// tail of a text, for an error.
func tail(text string) string {
	const most = 4_000
	return text[max(0, len(text)-most):]
}

// readProfile takes the processor times from the profile that upstream wrote while pods were measured, and from the log
// how many were bound since it began.
func (r *perfResult) readProfile(directory string, headroomd *usageOverTime, pods float64) error {
	files, err := filepath.Glob(filepath.Join(directory, "*-cpu.prof"))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("upstream wrote %d profiles of the processor", len(files))
	}
	file, err := os.Open(files[0])
	if err != nil {
		return err
	}
	defer file.Close()
	parsed, err := profile.Parse(file)
	if err != nil {
		return err
	}
	// The second value of a sample is its processor time; the first counts.
	const nanoseconds = 1
	var all, scheduler int64
	for _, sample := range parsed.Sample {
		all += sample.Value[nanoseconds]
		if ofScheduler(sample) {
			scheduler += sample.Value[nanoseconds]
		}
	}
	begin := time.Unix(0, parsed.TimeNanos)
	r.processCPU = milliseconds(time.Duration(all)) / pods
	r.schedulerCPU = milliseconds(time.Duration(scheduler)) / pods
	r.headroomdCPU = milliseconds(headroomd.between(begin, begin.Add(time.Duration(parsed.DurationNanos)))) / pods
	log, err := os.ReadFile(filepath.Join(directory, logFile))
	if err != nil {
		return err
	}
	r.podsPerSecond, err = boundPerSecond(log, begin)
	return err
}

func ofScheduler(sample *profile.Sample) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			for _, prefix := range schedulerPackages {
				if strings.HasPrefix(line.Function.Name, prefix) {
					return true
				}
			}
		}
	}
	return false
}

// benchmarkFigures are those that Go's benchmarks print, by their units.
func benchmarkFigures(out string) map[string]float64 {
	figures := map[string]float64{}
	for _, found := range benchmarkFigure.FindAllStringSubmatch(out, -1) {
		if value, err := strconv.ParseFloat(found[1], 64); err == nil {
			figures[found[2]] = value
		}
	}
	return figures
}

var benchmarkFigure = regexp.MustCompile(`([0-9.]+) ([a-zA-Z0-9/-]+)`)

// goSays runs go in the shim's module.
func goSays(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", command.Args, err, problems.String())
	}
	return strings.TrimSpace(string(out)), nil
}
