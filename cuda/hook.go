package cuda

import (
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
		Stream: func(stream any) *life.Object {
			s, ok := stream.(*Stream)
			if !ok || s == nil {
				return nil
			}
			return s.life
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
