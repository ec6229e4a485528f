//go:build linux && cgo

package loopdev

// #include "gf1l.h"
import "C"

import "github.com/gofabric/gofabric/internal/gpumem"

func init() {
	gpumem.OnProvide(func(f gpumem.Functions) {
		given := C.struct_gf1l_gpu_functions{
			find:         (*[0]byte)(f.Find),
			find_dma_buf: (*[0]byte)(f.FindDMABuf),
			move:         (*[0]byte)(f.Move),
		}
		C.gf1l_provide_gpu(&given)
	})
}
