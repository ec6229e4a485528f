//go:build linux && cgo

package cnccl

// #include "gf1_nccl_run.h"
import "C"

import "unsafe"

// Each line fails to compile if the two sides differ: an array's length cannot
// be negative.
var (
	_ [unsafe.Sizeof(Op{}) - C.sizeof_struct_gf1_nccl_op]struct{}
	_ [C.sizeof_struct_gf1_nccl_op - unsafe.Sizeof(Op{})]struct{}
	_ [unsafe.Sizeof(Member{}) - C.sizeof_struct_gf1_nccl_member]struct{}
	_ [C.sizeof_struct_gf1_nccl_member - unsafe.Sizeof(Member{})]struct{}
	_ [unsafe.Sizeof(Wait{}) - C.sizeof_struct_gf1_nccl_wait]struct{}
	_ [C.sizeof_struct_gf1_nccl_wait - unsafe.Sizeof(Wait{})]struct{}

	_ [0]struct{} = [unsafe.Offsetof(Op{}.Slot) - unsafe.Offsetof(C.struct_gf1_nccl_op{}.slot)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Op{}.Function) - unsafe.Offsetof(C.struct_gf1_nccl_op{}.function)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Op{}.Peer) - unsafe.Offsetof(C.struct_gf1_nccl_op{}.peer)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Op{}.Waits) - unsafe.Offsetof(C.struct_gf1_nccl_op{}.waits)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Op{}.Code) - unsafe.Offsetof(C.struct_gf1_nccl_op{}.code)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Member{}.Code) - unsafe.Offsetof(C.struct_gf1_nccl_member{}.code)]struct{}{}

	_ [FnCount - C.GF1_NCCL_FUNCTION_COUNT]struct{}
	_ [C.GF1_NCCL_FUNCTION_COUNT - FnCount]struct{}
	_ [0]struct{} = [FnCommGrow - C.GF1_NCCL_CommGrow]struct{}{}
	_ [0]struct{} = [FnSend - C.GF1_NCCL_Send]struct{}{}
	_ [0]struct{} = [FnParamDumpAll - C.GF1_NCCL_ParamDumpAll]struct{}{}

	_ [0]struct{} = [Missing - C.GF1_NCCL_MISSING]struct{}{}
	_ [0]struct{} = [NotCalled - C.GF1_NCCL_NOT_CALLED]struct{}{}
	_ [0]struct{} = [Simulate - C.GF1_NCCL_SIMULATE]struct{}{}
)
