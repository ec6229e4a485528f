package bootstrap

import (
	"fmt"
	"strings"
)

// inSlurmStep tells a task that srun started from the shell of a batch job or
// of salloc, which have SLURM_NTASKS and SLURM_PROCID=0 too. The shells count as
// steps with numbers from slurmSpecialStep.
func inSlurmStep(e environ) bool {
	if !e.has("SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS") {
		return false
	}
	n, err := parseHostNumber(e.first("", "SLURM_STEP_ID", "SLURM_STEPID"))
	return err != nil || n < slurmSpecialStep
}

// slurmSpecialStep is the first of the numbers with which Slurm marks what is no
// ordinary step.
const slurmSpecialStep = 0xfffffff0

func readSlurm(e environ, _ Options) (found launch, err error) {
	const rank, size = "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"
	found.rankFrom, found.sizeFrom = rank, size
	if found.rank, err = e.needed(rank, size); err != nil {
		return found, err
	}
	if found.size, err = e.needed(size, "SLURM_STEP_ID"); err != nil {
		return found, err
	}
	if found.localRank, err = e.optional("SLURM_LOCALID"); err != nil {
		return found, err
	}
	step := e.first("", "SLURM_STEP_ID", "SLURM_STEPID")
	if step == "" {
		return found, missing(e, "SLURM_STEP_ID", size)
	}
	job := e.first("", "SLURM_JOB_ID", "SLURM_JOBID")
	if job == "" {
		return found, missing(e, "SLURM_JOB_ID", size)
	}
	found.job = strings.Join([]string{"slurm", e["SLURM_CLUSTER_NAME"], job, step, e["SLURM_RESTART_COUNT"]}, ".")
	if found.localSize, err = slurmLocalSize(e); err != nil {
		return found, err
	}
	if list := e["SLURM_STEP_NODELIST"]; list != "" {
		if found.headHost, err = firstHost(list); err != nil {
			return found, envError("SLURM_STEP_NODELIST="+clip(list)+": "+err.Error(), "", "SLURM_STEP_NODELIST")
		}
	}
	found.ports, err = slurmPorts(e, found.job)
	return found, err
}

func slurmLocalSize(e environ) (int, error) {
	const name = "SLURM_STEP_TASKS_PER_NODE"
	node, ok, err := e.number("SLURM_NODEID")
	if err != nil || !ok || !e.has(name) {
		return 0, err
	}
	n, err := tasksOfNode(e[name], node)
	if err != nil {
		return 0, envError(fmt.Sprintf("%s: %v, and SLURM_NODEID=%d", name, err, node), "", name, "SLURM_NODEID")
	}
	return n, nil
}

// slurmPorts are the ports that Slurm reserved for the step on each of its
// nodes, if srun was asked to, or else ones that follow from the job's name.
func slurmPorts(e environ, job string) ([]int, error) {
	const name = "SLURM_STEP_RESV_PORTS"
	list := e[name]
	if list == "" {
		return derivedPorts(job), nil
	}
	malformed := envError(name+"="+clip(list)+": want ports such as 12000-12003", "", name)
	numbers, err := ExpandHostlist("[" + list + "]")
	if err != nil {
		return nil, malformed
	}
	var ports []int
	for _, number := range numbers[:min(len(numbers), portCandidates)] {
		port, err := parsePort(number)
		if err != nil {
			return nil, malformed
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// sameSlurmStep returns the Slurm step whose tasks are the ranks of another
// launcher's variables: that of srun --mpi=pmi2 or pmix. size 0 is any.
func sameSlurmStep(e environ, o Options, rank, size int) (launch, bool) {
	if !inSlurmStep(e) {
		return launch{}, false
	}
	step, err := readSlurm(e, o)
	return step, err == nil && step.rank == rank && (size == 0 || step.size == size)
}
