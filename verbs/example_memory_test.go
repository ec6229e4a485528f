//go:build linux && cgo

package verbs_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/verbs"
)

// A window gives a peer a key to 16 bytes of a region for as long as the owner
// likes. Binding and invalidating are requests like any other, and cost what a
// request does. The region stays open while a window is bound to it.
func ExampleMW() {
	r := connected()
	defer r.dev.CloseAll()
	pd := r.b.PD()
	region := must(pd.AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessMWBind}))
	window := must(pd.AllocMW(verbs.MWType2))

	owner := r.b.SendBatch()
	owner.BindMW(1, window, verbs.Binding{MR: region, Off: 100, Len: 16, Access: verbs.AccessRemoteWrite})
	must(owner.Post())
	wait(r.received)

	copy(r.mr.Bytes(), "through a window")
	peer := r.a.SendBatch()
	peer.Write(2, window.Remote(), r.mr.SGE(0, 16))
	must(peer.Post())
	wait(r.sent)
	fmt.Printf("%s\n", region.Bytes()[100:116])
	fmt.Println("busy:", errors.Is(region.Close(), verbs.ErrBusy))

	owner.LocalInv(3, window.RKey())
	must(owner.Post())
	wait(r.received)
	fmt.Println("taken back:", window.Invalidated(window.RKey()), region.Close())
	// Output:
	// through a window
	// busy: true
	// taken back: true <nil>
}

// Memory of the device is read and written by the host through calls, and by
// requests as any other region.
func ExampleDevice_AllocDM() {
	r := connected()
	defer r.dev.CloseAll()
	dm, err := r.dev.AllocDM(64, verbs.DMOptions{})
	if errors.Is(err, verbs.ErrNotSupported) {
		fmt.Println("this device has none")
		return
	}
	check(err)
	check(dm.WriteAt([]byte("near the wire"), 0))
	region := must(r.b.PD().RegisterDM(dm, 0, 64, verbs.AccessLocalWrite|verbs.AccessRemoteRead))

	batch := r.a.SendBatch()
	batch.Read(1, region.Remote().At(0, 13), r.mr.SGE(0, 13))
	must(batch.Post())
	wait(r.sent)
	fmt.Printf("%s\n", r.mr.Bytes()[:13])
	// Output: near the wire
}

// What a device can do beyond the basics is asked for once.
func ExampleDevice_AttributesEx() {
	dev := must(verbs.Open("loop0"))
	defer dev.CloseAll()
	attr := must(dev.AttributesEx())
	fmt.Println("device memory:", attr.MaxDM, "bytes")
	fmt.Println("on-demand paging:", attr.ODP.Supported)
	// Output:
	// device memory: 1048576 bytes
	// on-demand paging: true
}

// wait takes the next completion, which has to be a success.
func wait(cq *verbs.CQ) {
	done := make([]verbs.Completion, 1)
	must(cq.Wait(context.Background(), done))
	check(done[0].Err())
}
