package bootstrap_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofabric/gofabric/nccl/bootstrap"
)

// Four ranks share an id. Here they are goroutines with worlds made by hand; a
// program under a launcher calls FromEnvironment instead of run's first lines.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	run := func(rank int) error {
		world := bootstrap.World{Rank: rank, Size: 4, Job: "example", RendezvousFile: filepath.Join(dir, "meet")}
		ctx := context.Background()
		session, err := bootstrap.Connect(ctx, world, bootstrap.Options{})
		if err != nil {
			return err
		}
		defer session.Close()

		var id []byte
		if session.Rank() == 0 {
			id = []byte("the id")
		}
		if id, err = session.Broadcast(ctx, 0, id); err != nil {
			return err
		}
		all, err := session.AllGather(ctx, fmt.Appendf(nil, "rank %d has %s", session.Rank(), id))
		if err != nil {
			return err
		}
		if session.Rank() == 0 {
			for _, line := range all {
				fmt.Printf("%s\n", line)
			}
		}
		return session.Barrier(ctx)
	}

	var ranks sync.WaitGroup
	for rank := range 4 {
		ranks.Add(1)
		go func() {
			defer ranks.Done()
			if err := run(rank); err != nil {
				log.Print(err)
			}
		}()
	}
	ranks.Wait()
	// Output:
	// rank 0 has the id
	// rank 1 has the id
	// rank 2 has the id
	// rank 3 has the id
}

func ExampleFromEnvironment() {
	world, err := bootstrap.FromEnvironment(bootstrap.Options{Environ: []string{
		"SLURM_JOB_ID=48213", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=16", "SLURM_PROCID=11",
		"SLURM_STEP_NODELIST=gpu[003,007]", "SLURM_STEP_RESV_PORTS=12000-12003",
	}})
	fmt.Println(world.Rank, world.Size, world.Launcher, world.Address, err)

	_, err = bootstrap.FromEnvironment(bootstrap.Options{Environ: []string{"RANK=1", "MASTER_ADDR=gpu003"}})
	fmt.Println(err)
	// Output:
	// 11 16 slurm gpu003:12000 <nil>
	// bootstrap: RANK=1 is set and WORLD_SIZE is not: set it, or unset RANK
}
