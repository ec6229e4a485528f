package doctor_test

import (
	"fmt"
	"log"

	"github.com/gofabric/gofabric/topo/doctor"
)

func ExampleDiagnose() {
	m, err := doctor.Live(doctor.LiveOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range doctor.Diagnose(m).Problems() {
		fmt.Println(p.Finding.Severity, p.Check.Name, p.Finding.Device, p.Finding.Text)
		fmt.Println(p.Finding.Cause, p.Finding.Fix, p.Finding.Evidence)
	}
}

func ExampleOpen() {
	m, err := doctor.Open([]byte(`gofabric topology capture 1
-- files.tree --
[sys/class/infiniband/mlx5_0/ports/1]
state = 2: INIT
phys_state = 5: LinkUp
link_layer = InfiniBand
`))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range doctor.Diagnose(m).Problems() {
		fmt.Println(p.Finding.Severity, p.Check.Name, p.Finding.Device+":", p.Finding.Text)
	}
	// Output: critical subnet-manager mlx5_0: the link is up and nobody has configured the port
}
