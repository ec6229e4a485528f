package cuda_test

// kernels is PTX that a GPU compiles. The fake library runs functions of its own
// under these names.
const kernels = `
.version 6.4
.target sm_75
.address_size 64

.visible .entry gf1_fill_u32(.param .u64 to, .param .u64 count, .param .u32 value)
{
	.reg .pred %past;
	.reg .b32 %r<4>;
	.reg .b64 %d<4>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r0, %r0, %r1, %r2;
	cvt.u64.u32 %d0, %r0;
	ld.param.u64 %d1, [count];
	setp.ge.u64 %past, %d0, %d1;
	@%past bra end;
	ld.param.u64 %d2, [to];
	cvta.to.global.u64 %d2, %d2;
	shl.b64 %d3, %d0, 2;
	add.u64 %d2, %d2, %d3;
	ld.param.u32 %r3, [value];
	st.global.u32 [%d2], %r3;
end:
	ret;
}
`
