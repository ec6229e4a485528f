package cuda

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/cudahook"
	"github.com/gofabric/gofabric/internal/life"
)

func init() {
	cudahook.Install(cudahook.Hooks{
		Device: func(device any) *life.Object {
			d, ok := device.(*Device)
			if !ok || d == nil {
				return nil
			}
			return &d.obj
		},
		Begin: func(stream any) error {
			s, _ := stream.(*Stream)
			if err := s.use(); err != nil {
				return err
			}
			if !s.inside.TryRLock() {
				s.life.Done()
				return fmt.Errorf("%w: the stream is being closed", ErrBusy)
			}
			s.work.RLock()
			return nil
		},
		End: func(stream any) {
			s := stream.(*Stream)
			s.work.RUnlock()
			s.inside.RUnlock()
			s.life.Done()
		},
		Keep:   func(stream any) { stream.(*Stream).work.RLock() },
		Unkeep: func(stream any) { stream.(*Stream).work.RUnlock() },
		Serial: func(stream any) uint64 {
			s, ok := stream.(*Stream)
			if !ok || s == nil {
				return 0
			}
			return s.serial
		},
		HoldCapture: func(stream any, user *life.Object) error {
			s, ok := stream.(*Stream)
			if !ok {
				return nil
			}
			return holdCapture(s, user)
		},
	})
}
