// Package bootstrap brings the processes of a job together before they have a
// communicator. It finds out which rank this process is, whoever launched it, and
// carries the few bytes that all must have, such as NCCL's unique id. It knows
// nothing of NCCL, and links no launcher's library.
//
// # A first program
//
// Started by mpirun, srun, torchrun or a Kubernetes job, or by nothing:
//
//	world, err := bootstrap.FromEnvironment(bootstrap.Options{})
//	if err != nil {
//		return err
//	}
//	session, err := bootstrap.Connect(ctx, world, bootstrap.Options{})
//	if err != nil {
//		return err // says which ranks did not come
//	}
//	defer session.Close()
//	var id []byte
//	if session.Rank() == 0 {
//		id = newID()
//	}
//	id, err = session.Broadcast(ctx, 0, id)
//
// session.LocalRank picks the GPU. The example of this package runs four ranks in
// one process.
//
// # Who this process is
//
// FromEnvironment asks the launchers in this order, and believes the first whose
// variables are there. Launchers nest, and the inner one is meant.
//
//	env         RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE: torchrun, PyTorchJob, by hand
//	openmpi     OMPI_COMM_WORLD_RANK and its like
//	pmix        PMIX_RANK; the size from the Slurm step, the program or WORLD_SIZE
//	pmi         PMI_RANK PMI_SIZE: MPICH, Intel MPI, PALS, srun --mpi=pmi2
//	slurm       SLURM_PROCID SLURM_STEP_NUM_TASKS, and only inside a step
//	lws         LWS_WORKER_INDEX LWS_GROUP_SIZE LWS_LEADER_ADDRESS
//	kubernetes  JOB_COMPLETION_INDEX; the size from the program or WORLD_SIZE
//
// GOFABRIC_LAUNCHER names the one to believe where leftovers of several stand.
// A variable that is set and empty counts as not set.
//
// # Where the ranks meet
//
// The first of these that is given decides:
//
//  1. Options.ExchangeDir or GOFABRIC_EXCHANGE_DIR: files alone, in that folder.
//  2. Options.Address: rank 0 listens there.
//  3. Options.RendezvousDir or GOFABRIC_RENDEZVOUS_DIR: rank 0 listens on a free
//     port and writes its addresses to a file there.
//  4. MASTER_ADDR and MASTER_PORT. Below a torchrun whose agent listens on
//     MASTER_PORT itself, rank 0 takes one of the eight ports after it. In
//     Kubernetes the port may be left out: it is 29500. With a launcher that names
//     its runs it may be left out too: it follows from the name.
//  5. All ranks on one machine, by the launcher's word: a rendezvous file in
//     TMPDIR, in a folder of this user.
//  6. The leader's address of a LeaderWorkerSet; the first host of the node list
//     of a Slurm step, at a port that Slurm reserved for the step (srun
//     --resv-ports) or that follows from the step's number. Where a port is in
//     use, rank 0 takes the next of eight, and the others look there.
//
// NCCL_COMM_ID makes NCCL connect its ranks by itself: World.CommID has it, and
// [World.NeedsExchange] says that no session is needed. Every rank then calls for a
// unique id itself, and gets the same one.
//
// # Rank 0's addresses
//
// Rank 0 listens on all addresses of its machine if its own was given: the name
// that others use for it may mean another address there. For a rendezvous file it
// listens on, and writes down, those of [HeadAddresses]; the others try each of
// them, and the key in the file tells rank 0 from whatever else answers. If all
// ranks are on one machine, that is loopback only. GOFABRIC_SOCKET_IFNAME, or
// NCCL_SOCKET_IFNAME, limits the interfaces.
//
// # What goes over the wire
//
// The ranks other than 0 hold a TCP connection to rank 0, which collects what all
// give to an operation and sends everybody the result: enough for ids and
// addresses, not meant for data. Frames carry a version and a length that is
// checked before anything is read. Who joins names its job and rank, and proves in
// an exchange of nonces (HMAC-SHA256, compared in constant time) that it knows
// the secret, if there is one, and the rendezvous file's key, if there is one;
// rank 0 proves the same. Nothing is encrypted, and an attacker who can change
// what others send can change what a session carries: on a network that is not
// trusted, use a tunnel.
//
// By files alone a rank that dies is noticed only when its time is up, since it
// has no connection that breaks; every rank reads every file, which suits tens of
// ranks; and the folder must show a new file to all machines soon, which a network
// file system does by its own rules.
package bootstrap
