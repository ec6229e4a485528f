package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var settingChecks = []Check{
	{26, "gdr-level", "NCCL_NET_GDR_LEVEL is a word or number that NCCL knows", "NCCL_NET_GDR_LEVEL", Warning, examineGDRLevel},
	{36, "fabric-used", "no setting keeps NCCL off the fabric, and its interfaces are there", "NCCL_IB_DISABLE, NCCL_NET, NCCL_SOCKET_IFNAME, /sys/class/net", Critical, examineFabricUsed},
	{40, "nccl-conf", "NCCL reads its files and numbers as they were meant", "/etc/nccl.conf, ~/.nccl.conf, NCCL_CONF_FILE, environment", Warning, examineConf},
}

var gdrLevels = []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"}

func examineGDRLevel(x *exam) {
	v, set := x.conf.get("NCCL_NET_GDR_LEVEL")
	switch {
	case !set && !x.conf.known:
		x.unknown("", noEnvironment)
	case !set:
		x.notApplicable("NCCL_NET_GDR_LEVEL is not set")
	case slices.Contains(gdrLevels, v.value):
		x.pass("", "NCCL knows it", v.evidence())
	default:
		if n, err := strconv.Atoi(v.value); err == nil && n >= 0 {
			x.pass("", "NCCL knows it", v.evidence())
			return
		}
		x.fail(Warning, "", fault{
			strconv.Quote(v.value) + " is no level of NCCL's: the setting is ignored without a word", "a word of nvidia-smi (NODE), or lower case",
			"one of " + strings.Join(gdrLevels, " ") + ", or leave it out",
		}, v.evidence())
	}
}

func examineFabricUsed(x *exam) {
	usable := len(active(portsOf(x.hcas()))) > 0
	disable, off := x.conf.get("NCCL_IB_DISABLE")
	if off {
		n, _ := ncclInt(disable.value)
		off = n != 0
	}
	if off && usable {
		x.fail(Critical, "", fault{"NCCL_IB_DISABLE keeps NCCL off the fabric: it uses TCP", "set to get around a fault once", "unset it"}, disable.evidence())
	}
	if net, ok := x.conf.get("NCCL_NET"); ok && strings.EqualFold(net.value, "socket") && usable {
		x.fail(Critical, "", fault{"NCCL_NET=Socket keeps NCCL off the fabric: it uses TCP", "set to get around a fault once", "unset it, or NCCL_NET=IB"}, net.evidence())
	}
	if v, ok := x.conf.get("NCCL_SOCKET_IFNAME"); ok {
		x.examineInterfaces(v)
	}
	if len(x.findings) > 0 {
		return
	}
	switch {
	case !x.conf.known:
		x.unknown("", noEnvironment)
	case usable:
		x.pass("", "no setting keeps NCCL off the fabric", Evidence{"environment", "neither NCCL_IB_DISABLE nor NCCL_NET=Socket"})
	default:
		x.notApplicable("there is no active RDMA port, and NCCL_SOCKET_IFNAME is not set")
	}
}

func (x *exam) examineInterfaces(v setting) {
	s := parseSelector(v.value)
	here, there, err := x.read.Names(classNet)
	if !there || err != nil {
		for _, n := range x.System.Netdevs {
			here = append(here, n.Name)
		}
		if !x.files {
			x.unknown("", "the interfaces are not told", v.evidence())
			return
		}
	}
	for _, name := range here {
		x.read.Exists(classNet + "/" + name) // so that a capture keeps it
	}
	if s.exclude {
		x.pass("", "it leaves interfaces out", v.evidence())
		return
	}
	missing := 0
	for _, word := range s.words {
		if slices.ContainsFunc(here, func(name string) bool { return s.takes(word, name, 0) }) {
			x.pass(word, "the interface is there", v.evidence())
			continue
		}
		missing++
		x.fail(Critical, word, fault{
			"NCCL_SOCKET_IFNAME names an interface that is not here", "interfaces have other names on this machine, or in this container",
			"one of " + strings.Join(here[:min(len(here), 12)], ", "),
		}, v.evidence())
	}
	if missing > 0 && missing < len(s.words) {
		// The others will do.
		for i := range x.findings {
			if x.findings[i].Outcome == Fail && slices.Contains(s.words, x.findings[i].Device) {
				x.findings[i].Severity = Warning
			}
		}
	}
}

// numbers are variables that NCCL reads as numbers.
var numbers = []string{
	"NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_IB_MERGE_VFS", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT",
	"NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_QPS_PER_CONNECTION",
	"NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_CROSS_NIC",
	"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_NVLS_ENABLE", "NCCL_DMABUF_ENABLE", "NCCL_IGNORE_CPU_AFFINITY", "NCCL_BUFFSIZE",
	"NCCL_NTHREADS", "NCCL_CUMEM_ENABLE",
}

func examineConf(x *exam) {
	for _, w := range x.conf.wrong {
		x.fail(Warning, "", fault{"NCCL does not read this line as it was meant: " + w.why, "the files are no shell scripts", "NAME=VALUE, nothing else on the line"}, Evidence{w.from, w.line})
	}
	for _, name := range numbers {
		v, ok := x.conf.get(name)
		if !ok {
			continue
		}
		if n, exact := ncclInt(v.value); !exact {
			x.fail(Warning, name, fault{
				fmt.Sprintf("NCCL reads %s as the number %d", strconv.Quote(v.value), n), "NCCL knows numbers only: true is 0", "write a number: 1 for on, 0 for off",
			}, v.evidence())
		}
	}
	var evidence []Evidence
	for _, s := range x.conf.files {
		e := s.evidence()
		if used := x.conf.values[s.name]; used.from != s.from {
			e.Value += " (hidden: " + used.from + " has " + used.value + ")"
		}
		evidence = append(evidence, e)
	}
	switch {
	case len(x.findings) > 0:
		if len(evidence) > 0 {
			x.pass("", "settings from files: "+strings.Join(x.conf.seen, ", "), evidence...)
		}
	case len(evidence) > 0:
		x.pass("", fmt.Sprintf("%s from files, which no environment shows", plural(len(evidence), "setting")), evidence...)
	case x.conf.known && len(x.ncclNames()) > 0:
		x.pass("", fmt.Sprintf("%s from the environment, no file", plural(len(x.ncclNames()), "setting")))
	case !x.conf.known && !x.files:
		x.unknown("", noEnvironment+", nor NCCL's files")
	default:
		x.notApplicable("neither a file nor the environment has settings of NCCL")
	}
}

func (x *exam) ncclNames() []string {
	var list []string
	for name := range x.Env {
		if strings.HasPrefix(name, "NCCL_") {
			list = append(list, name)
		}
	}
	return list
}
