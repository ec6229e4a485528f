package bootstrap

import "fmt"

// readEnv reads the variables of PyTorch's launchers.
func readEnv(e environ, _ Options) (found launch, err error) {
	found.rankFrom, found.sizeFrom = "RANK", "WORLD_SIZE"
	if found.rank, err = e.needed("RANK", "WORLD_SIZE"); err != nil {
		return found, err
	}
	if found.size, err = e.needed("WORLD_SIZE", "RANK"); err != nil {
		return found, err
	}
	if found.localRank, err = e.optional("LOCAL_RANK"); err != nil {
		return found, err
	}
	if found.localSize, err = localSize(e, "LOCAL_WORLD_SIZE"); err != nil {
		return found, err
	}
	switch {
	case found.localSize > found.size:
		return found, envError(fmt.Sprintf("LOCAL_WORLD_SIZE=%d and WORLD_SIZE=%d contradict each other", found.localSize, found.size), "", "LOCAL_WORLD_SIZE", "WORLD_SIZE")
	case found.localRank != nil && found.localSize > 0 && *found.localRank >= found.localSize:
		return found, envError(fmt.Sprintf("LOCAL_RANK=%d and LOCAL_WORLD_SIZE=%d contradict each other", *found.localRank, found.localSize), "", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
	case found.localRank != nil && *found.localRank >= found.size:
		return found, envError(fmt.Sprintf("LOCAL_RANK=%d and WORLD_SIZE=%d contradict each other", *found.localRank, found.size), "", "LOCAL_RANK", "WORLD_SIZE")
	}
	// torchrun says "none" where it was given no id.
	if id := e["TORCHELASTIC_RUN_ID"]; id != "" && id != "none" {
		found.job = "torchrun." + id + "." + e["TORCHELASTIC_RESTART_COUNT"]
	}
	return found, nil
}

// localSize reads a count that cannot be zero.
func localSize(e environ, name string) (int, error) {
	n, ok, err := e.number(name)
	if err == nil && ok && n == 0 {
		err = envError(name+"=0: want at least 1", "", name)
	}
	return n, err
}

// readOpenMPI reads what mpirun of Open MPI sets.
func readOpenMPI(e environ, _ Options) (found launch, err error) {
	const rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
	found.rankFrom, found.sizeFrom = rank, size
	if found.rank, err = e.needed(rank, size); err != nil {
		return found, err
	}
	if found.size, err = e.needed(size, rank); err != nil {
		return found, err
	}
	if found.localRank, err = e.optional("OMPI_COMM_WORLD_LOCAL_RANK"); err != nil {
		return found, err
	}
	if found.localSize, err = localSize(e, "OMPI_COMM_WORLD_LOCAL_SIZE"); err != nil {
		return found, err
	}
	if id := e.first("", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"); id != "" {
		found.job = "openmpi." + id
	}
	return found, nil
}

// readPMIx reads what a PMIx server sets: a rank, and no size.
func readPMIx(e environ, o Options) (found launch, err error) {
	const rank = "PMIX_RANK"
	found.rankFrom = rank
	if found.rank, err = e.needed(rank, rank); err != nil {
		return found, err
	}
	if id := e["PMIX_NAMESPACE"]; id != "" {
		found.job = "pmix." + id
	}
	if step, ok := sameSlurmStep(e, o, found.rank, 0); ok {
		found.size, found.sizeFrom = step.size, step.sizeFrom
		found.takeFrom(step)
		return found, nil
	}
	if found.size, found.sizeFrom, err = givenSize(e, o, rank); err != nil {
		return found, err
	}
	return found, nil
}

// givenSize is the size for a launcher that tells none.
func givenSize(e environ, o Options, rank string) (size int, from string, err error) {
	if o.Size > 0 {
		return o.Size, "the program", nil
	}
	size, ok, err := e.number("WORLD_SIZE")
	if err == nil && !ok {
		err = envError(fmt.Sprintf("%s=%s is set, and nothing says how many ranks there are", rank, e[rank]), "set WORLD_SIZE to the number of ranks", rank, "WORLD_SIZE")
	}
	return size, "WORLD_SIZE", err
}

// readPMI reads what the process managers of MPICH, Intel MPI, Cray and Slurm
// set.
func readPMI(e environ, o Options) (found launch, err error) {
	const rank, size = "PMI_RANK", "PMI_SIZE"
	found.rankFrom, found.sizeFrom = rank, size
	if found.rank, err = e.needed(rank, size); err != nil {
		return found, err
	}
	if found.size, err = e.needed(size, rank); err != nil {
		return found, err
	}
	for _, names := range [][2]string{{"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"}, {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}} {
		if found.localRank == nil {
			if found.localRank, err = e.optional(names[0]); err != nil {
				return found, err
			}
		}
		if found.localSize == 0 {
			if found.localSize, err = localSize(e, names[1]); err != nil {
				return found, err
			}
		}
	}
	if id := e.first("", "PALS_APID", "PMI_JOBID"); id != "" {
		found.job = "pmi." + id
	}
	if step, ok := sameSlurmStep(e, o, found.rank, found.size); ok {
		found.takeFrom(step)
	}
	if found.job == "" {
		found.job = hydraProxy()
	}
	return found, nil
}

// takeFrom fills in what this launcher does not tell from the Slurm step that
// its processes are the tasks of.
func (l *launch) takeFrom(step launch) {
	if l.localRank == nil {
		l.localRank = step.localRank
	}
	if l.localSize == 0 {
		l.localSize = step.localSize
	}
	if l.job == "" {
		l.job = step.job
	}
	l.headHost, l.ports = step.headHost, step.ports
}

// readLWS reads what the LeaderWorkerSet controller sets.
func readLWS(e environ, _ Options) (found launch, err error) {
	const rank, size, leader = "LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"
	found.rankFrom, found.sizeFrom = rank, size
	if !e.has(rank) && e.has(leader) {
		err := envError(leader+"="+clip(e[leader])+" is set and "+rank+" is not",
			"LeaderWorkerSet sets it from version 0.6 on: with an older one set it from the label leaderworkerset.sigs.k8s.io/worker-index", leader, rank)
		return found, err
	}
	if found.rank, err = e.needed(rank, size); err != nil {
		return found, err
	}
	if found.size, err = e.needed(size, rank); err != nil {
		return found, err
	}
	found.headHost = e[leader]
	if found.headHost == "" {
		return found, missing(e, leader, rank)
	}
	if err := checkHost(found.headHost); err != nil {
		return found, envError(leader+"="+clip(found.headHost)+": "+err.Error(), "", leader)
	}
	found.ports = []int{podPort}
	return found, nil
}

// readKubernetes reads what an indexed Job sets: the index, and nothing else.
func readKubernetes(e environ, o Options) (found launch, err error) {
	const rank = "JOB_COMPLETION_INDEX"
	found.rankFrom = rank
	if found.rank, err = e.needed(rank, rank); err != nil {
		return found, err
	}
	found.size, found.sizeFrom, err = givenSize(e, o, rank)
	found.ports = []int{podPort}
	return found, err
}
