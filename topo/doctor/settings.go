package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

// setting is a variable of NCCL with the place that it came from.
type setting struct {
	name, value, from string
}

func (s setting) evidence() Evidence { return Evidence{s.from, s.name + "=" + s.value} }

// confProblem is a line of a file that NCCL does not read as it was meant.
type confProblem struct {
	from, line, why string
}

// settings are NCCL's variables as the library would see them: the environment
// first, then the user's file, then /etc/nccl.conf.
type settings struct {
	known  bool // the environment was told
	values map[string]setting
	files  []setting // those that stand in files, also where the environment hides them
	wrong  []confProblem
	seen   []string // files that are there
}

func (x *exam) settings() *settings {
	s := &settings{known: x.Env != nil, values: map[string]setting{}}
	for name, value := range x.Env {
		s.values[name] = setting{name, value, "environment"}
	}
	if named := x.Env["NCCL_CONF_FILE"]; named != "" {
		if text, ok := x.text(strings.TrimPrefix(named, "/")); ok {
			s.file(named, text)
		}
	} else if x.Facts.UserConf != nil {
		s.file("~/.nccl.conf", *x.Facts.UserConf)
	}
	if text, ok := x.text("etc/nccl.conf"); ok {
		s.file("/etc/nccl.conf", text)
	}
	return s
}

// file reads a file as NCCL does: the name is everything before the first "=", and
// what is set already stays.
func (s *settings) file(name, text string) {
	s.seen = append(s.seen, name)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		from := fmt.Sprintf("%s:%d", name, number)
		if len(s.files)+len(s.wrong) > 500 {
			return
		}
		key, value, ok := strings.Cut(line, "=")
		switch trimmed := strings.TrimSpace(key); {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case !ok:
			s.wrong = append(s.wrong, confProblem{from, line, "it has no = and is skipped"})
		case strings.HasPrefix(trimmed, "export "):
			s.wrong = append(s.wrong, confProblem{from, line, "it sets a variable named " + strconv.Quote(key) + ": leave out export"})
		case trimmed != key:
			s.wrong = append(s.wrong, confProblem{from, line, "it sets a variable named " + strconv.Quote(key) + ": no blanks around the ="})
		default:
			set := setting{key, value, from}
			s.files = append(s.files, set)
			if _, taken := s.values[key]; !taken {
				s.values[key] = set
			}
		}
	}
}

// get returns a variable that is set to something.
func (s *settings) get(name string) (setting, bool) {
	v, ok := s.values[name]
	return v, ok && v.value != ""
}

// ncclInt reads a number as NCCL does, by strtoll: what does not begin with one is
// 0. exact is false where something else was meant, perhaps.
func ncclInt(text string) (v int64, exact bool) {
	text = strings.TrimSpace(text)
	if v, err := strconv.ParseInt(text, 0, 64); err == nil && !strings.ContainsAny(text, "_oObB") {
		return v, true
	}
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[end] == '-' || text[end] == '+')) {
		end++
	}
	v, _ = strconv.ParseInt(text[:end], 10, 64)
	return v, false
}

// selector is NCCL_IB_HCA or NCCL_SOCKET_IFNAME: [^][=]name[:port],...
type selector struct {
	exclude, exact bool
	words          []string
}

func parseSelector(value string) selector {
	var s selector
	value, s.exclude = strings.CutPrefix(value, "^")
	value, s.exact = strings.CutPrefix(value, "=")
	for _, word := range strings.Split(value, ",") {
		if word != "" {
			s.words = append(s.words, word)
		}
	}
	return s
}

// names reports whether a word takes a device, and a port where it names one.
func (s selector) takes(word, device string, number int) bool {
	name, text, withPort := strings.Cut(word, ":")
	if withPort && number > 0 {
		if n, err := strconv.Atoi(text); err == nil && n != number && n >= 0 {
			return false
		}
	}
	if s.exact {
		return name == device
	}
	return strings.HasPrefix(device, name)
}

// matches reports whether the selection holds a device.
func (s selector) matches(device string, number int) bool {
	if len(s.words) == 0 {
		return true
	}
	found := slices.ContainsFunc(s.words, func(w string) bool { return s.takes(w, device, number) })
	return found != s.exclude
}

// selected are the ports that NCCL may use: active ones that NCCL_IB_HCA leaves.
func (x *exam) selected() []port {
	list := active(portsOf(x.hcas()))
	if v, ok := x.conf.get("NCCL_IB_HCA"); ok {
		s := parseSelector(v.value)
		list = slices.DeleteFunc(list, func(p port) bool { return !s.matches(p.HCA.Name, p.Number) })
	}
	return list
}

// namedPort reports whether a setting names the port: then somebody wants it.
func (x *exam) namedPort(p port) (setting, bool) {
	v, ok := x.conf.get("NCCL_IB_HCA")
	if !ok {
		return v, false
	}
	s := parseSelector(v.value)
	if s.exclude {
		return v, false
	}
	return v, slices.ContainsFunc(s.words, func(w string) bool {
		name, _, _ := strings.Cut(w, ":")
		return name == p.HCA.Name && s.takes(w, p.HCA.Name, p.Number)
	})
}

// visible are the GPUs that CUDA_VISIBLE_DEVICES leaves. A value that is not
// understood leaves all.
func (x *exam) visible() []*topo.GPU {
	all := x.System.GPUs
	v, ok := x.Env["CUDA_VISIBLE_DEVICES"]
	if !ok {
		return all
	}
	var list []*topo.GPU
	for _, word := range strings.Split(v, ",") {
		word = strings.TrimSpace(word)
		i := slices.IndexFunc(all, func(g *topo.GPU) bool {
			return word == strconv.Itoa(g.Index) || strings.HasPrefix(word, "GPU-") && strings.HasPrefix(g.UUID, word)
		})
		if i < 0 {
			return all
		}
		list = append(list, all[i])
	}
	slices.SortFunc(list, func(a, b *topo.GPU) int { return cmp.Compare(a.Index, b.Index) })
	return slices.Compact(list)
}
