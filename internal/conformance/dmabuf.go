package conformance

import (
	"os"
	"path/filepath"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var dmaBufCases = []Case{
	{"DMABuf", dmaBuf},
	{"DMABufPieces", dmaBufPieces},
}

// file makes a file and maps it. It stands for a dma-buf on the in-process
// device and is none anywhere else.
func (r *Rig) file(size int) (fd int, data []byte) {
	fd, err := unix.Open(filepath.Join(r.TempDir(), "memory"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, unix.Close(fd)) })
	require.NoError(r, unix.Ftruncate(fd, int64(size)))
	data, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, unix.Munmap(data)) })
	return fd, data
}

// dmaBuf: what lies behind a descriptor is reached by offset and addressed by
// iova; a device without such memory says so.
func dmaBuf(r *Rig) {
	page := uint64(os.Getpagesize())
	fd, data := r.file(int(3 * page))
	mr, err := r.PD.RegisterDMABuf(fd, page+16, page, 7*page+16, allRights)
	if !r.inProcess() {
		r.refuses(err, "ibv_reg_dmabuf_mr")
		return
	}
	r.covers("ibv_reg_dmabuf_mr")
	require.NoError(r, err)
	require.Nil(r, mr.Bytes())
	require.Equal(r, int(page), mr.Len())
	require.Equal(r, verbs.RemoteBuffer{Addr: 7*page + 16, RKey: mr.RKey(), Len: page}, mr.Remote())
	a, _ := r.pair(pairOptions{})
	src := r.memory(int(page))
	want := r.random(src)
	a.QP.SendBatch().Write(1, mr.Remote(), src.SGE(0, int(page)))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	require.Equal(r, want, data[page+16:2*page+16])
	requireZero(r, data[:page+16])
	require.NoError(r, mr.Close())
}

// dmaBufPieces: a piece that no device can register is refused before it is
// asked.
func dmaBufPieces(r *Rig) {
	page := uint64(os.Getpagesize())
	fd, _ := r.file(int(page))
	for _, bad := range []struct {
		fd                   int
		offset, length, iova uint64
		says                 string
	}{
		{-1, 0, page, 0, "not a file descriptor"},
		{fd, 0, 0, 0, "at least one"},
		{fd, 8, 8, 16, "different places within a page"},
		{fd, 0, 1 << 63, 0, "do not fit"},
		{fd, -page, page + 1, 0, "do not fit"},
		{fd, 0, page + 1, -page, "do not fit"},
	} {
		_, err := r.PD.RegisterDMABuf(bad.fd, bad.offset, bad.length, bad.iova, 0)
		require.ErrorContains(r, err, bad.says)
	}
	_, err := r.PD.RegisterDMABuf(fd, page, page, 0, 0)
	require.Error(r, err, "beyond the end")
}
