package topo

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/internal/testutil"
)

// bindChild makes the test binary bind itself to what Affinity the variable names
// and print what the kernel says of it, for what holds for a whole process.
const bindChild = "TOPO_TEST_BIND"

func TestMain(m *testing.M) {
	if node := os.Getenv(bindChild); node != "" {
		os.Exit(bindAsChild(node))
	}
	os.Exit(testutil.Main(m))
}

// lines of /proc/…/status about what may be used.
func status(t testing.TB, file, key string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("%s has no %s", file, key)
	return ""
}

const (
	ownThread = "/proc/thread-self/status"
	cpuList   = "Cpus_allowed_list"
)

// TestBindThread binds a goroutine's thread to one CPU: what it starts inherits
// that, other threads do not, and Restore gives all of it back.
func TestBindThread(t *testing.T) {
	before := status(t, ownThread, cpuList)
	one := cpus(t, before)[:1]
	b, err := BindThread(Affinity{CPUs: one}, BindOptions{})
	require.NoError(t, err)
	assert.Equal(t, one, b.Bound().CPUs)
	assert.Nil(t, b.Bound().Node)
	assert.Equal(t, one.String(), status(t, ownThread, cpuList))
	out, err := exec.Command("cat", "/proc/self/status").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), cpuList+":\t"+one.String()+"\n")

	done := make(chan error)
	go func() { done <- b.Restore() }()
	var wrong *BindError
	require.ErrorAs(t, <-done, &wrong, "Restore on another goroutine")
	require.NoError(t, b.Restore())
	assert.Equal(t, before, status(t, ownThread, cpuList))
}

// CPUs that nobody has are refused, and nothing changes.
func TestBindThreadNotAllowed(t *testing.T) {
	before := status(t, ownThread, cpuList)
	_, err := BindThread(Affinity{CPUs: CPUSet{maxCPUs - 1}}, BindOptions{})
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorIs(t, err, errNotAllowedCPU)
	node := nodeBits - 1
	_, err = BindThread(Affinity{CPUs: cpus(t, before)[:1], Node: &node}, BindOptions{})
	var refused *BindError
	require.ErrorAs(t, err, &refused)
	assert.ErrorIs(t, err, errNotAllowedNode)
	assert.Contains(t, refused.Hint, "start the job or the container with node 1023")
	assert.Equal(t, before, status(t, ownThread, cpuList))
	require.ErrorIs(t, BindMemory(make([]byte, 1<<20), Affinity{Node: &node}, BindOptions{}), errNotAllowedNode)
	_, err = BindProcess(Affinity{Node: &node}, BindOptions{})
	require.ErrorIs(t, err, errNotAllowedNode)
}

// bindAsChild binds this process and prints the CPUs and the memory policy of each
// of its threads.
func bindAsChild(what string) int {
	var a Affinity
	var o BindOptions
	if node, ok := strings.CutPrefix(what, "node"); ok {
		o.Strict = strings.HasSuffix(node, "!")
		id := int(node[0] - '0')
		a.Node = &id
	} else {
		list, err := ParseCPUList(what)
		if err != nil {
			panic(err)
		}
		a.CPUs = list
	}
	// Several threads that exist already, each busy at being locked.
	stay, ready := make(chan struct{}), make(chan struct{})
	defer close(stay)
	for range 3 {
		go func() {
			runtime.LockOSThread()
			ready <- struct{}{}
			<-stay
		}()
		<-ready
	}
	b, err := BindProcess(a, o)
	if err != nil {
		fmt.Println("refused:", err)
		return 0
	}
	fmt.Println("bound:", b)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	for _, task := range tasks {
		s, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(s)) {
			if value, ok := strings.CutPrefix(line, cpuList+":"); ok {
				fmt.Println("thread:", strings.TrimSpace(value))
			}
		}
		// The first mapping without a policy of its own shows the thread's.
		maps, err := os.ReadFile("/proc/self/task/" + task.Name() + "/numa_maps")
		if line, _, _ := strings.Cut(string(maps), "\n"); err == nil {
			fmt.Println("policy:", strings.Fields(line)[1])
		}
	}
	return 0
}

// boundChild runs the child and returns what it printed, by kind.
func boundChild(t *testing.T, what string) map[string][]string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), bindChild+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	said := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		said[kind] = append(said[kind], value)
	}
	return said
}

func TestBindProcess(t *testing.T) {
	one := cpus(t, status(t, ownThread, cpuList))[:1].String()
	said := boundChild(t, one)
	assert.Equal(t, []string{"CPUs " + one + ", memory of the node of each CPU"}, said["bound"])
	assert.Greater(t, len(said["thread"]), 3)
	for _, got := range said["thread"] {
		assert.Equal(t, one, got)
	}
}

// numaMap is the line of /proc/self/numa_maps for the mapping of a buffer.
func numaMap(t *testing.T, buffer []byte) string {
	t.Helper()
	f, err := os.Open("/proc/thread-self/numa_maps")
	require.NoError(t, err)
	defer f.Close()
	start := fmt.Sprintf("%08x ", uintptr(unsafe.Pointer(&buffer[0])))
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), start) {
			return s.Text()
		}
	}
	t.Fatalf("no mapping begins at %s", start)
	return ""
}

// mapped is anonymous memory of so many pages, which nobody has touched.
func mapped(t *testing.T, pages int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	// A mapping that is merged with its neighbour has no line of its own.
	require.NoError(t, unix.Madvise(b, unix.MADV_DONTFORK))
	t.Cleanup(func() { assert.NoError(t, unix.Munmap(b)) })
	return b
}

func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
}
