package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// errNoPayload is returned for kernel images that have to boot as they are.
var errNoPayload = errors.New("no payload that can be unpacked")

// bootable returns the file that QEMU boots. An emulated CPU takes six seconds
// to unpack a kernel image, so the host does it once, and QEMU enters the
// kernel proper at its PVH entry point. Kernels that cannot be unpacked or
// have no such entry boot as they are.
func (im *Image) bootable(ctx context.Context) (string, error) {
	key := tree{}
	if err := key.putFile("/vmlinuz", im.kernel.vmlinuz); err != nil {
		return "", err
	}
	file := filepath.Join(im.cfg.Cache, "archives", "vmlinux_"+im.cfg.Kernel+"_"+key.hash())
	now := time.Now()
	if os.Chtimes(file, now, now) == nil {
		return file, nil
	}
	image, err := os.ReadFile(im.kernel.vmlinuz)
	if err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	var kernel []byte
	payload, size, err := bzImagePayload(image)
	if err == nil {
		kernel, err = decompress(ctx, payload)
	}
	if err == nil && (uint32(len(kernel)) != size || !hasPVH(kernel)) {
		err = errNoPayload
	}
	if errors.Is(err, errNoPayload) {
		return im.kernel.vmlinuz, nil
	}
	if err != nil {
		return "", err
	}
	return file, writeCached(file, func(w io.Writer) error {
		_, err := w.Write(kernel)
		return err
	})
}

// bzImagePayload returns the compressed kernel inside a bzImage and its
// unpacked size (Documentation/arch/x86/boot.rst).
func bzImagePayload(image []byte) (payload []byte, size uint32, err error) {
	const (
		setupSectors = 0x1f1
		magic        = 0x202
		version      = 0x206
		payloadAt    = 0x248
		payloadLen   = 0x24c
		headerEnd    = 0x250
		sector       = 512
		sizeBytes    = 4
	)
	if len(image) < headerEnd || string(image[magic:magic+4]) != "HdrS" ||
		binary.LittleEndian.Uint16(image[version:]) < 0x208 {
		return nil, 0, errNoPayload
	}
	sectors := uint64(image[setupSectors])
	if sectors == 0 {
		sectors = 4
	}
	at := (sectors+1)*sector + uint64(binary.LittleEndian.Uint32(image[payloadAt:]))
	n := uint64(binary.LittleEndian.Uint32(image[payloadLen:]))
	if n <= sizeBytes || at+n > uint64(len(image)) {
		return nil, 0, errNoPayload
	}
	payload = image[at : at+n]
	// The build appends the unpacked size; gzip ends with it anyway.
	size = binary.LittleEndian.Uint32(payload[n-sizeBytes:])
	if !bytes.HasPrefix(payload, gzipMagic) {
		payload = payload[:n-sizeBytes]
	}
	return payload, size, nil
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	xzMagic   = []byte("\xfd7zXZ\x00")
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

func decompress(ctx context.Context, p []byte) ([]byte, error) {
	tool := ""
	switch {
	case bytes.HasPrefix(p, gzipMagic):
		z, err := gzip.NewReader(bytes.NewReader(p))
		if err != nil {
			return nil, errNoPayload
		}
		out, err := io.ReadAll(z)
		if err != nil {
			return nil, errNoPayload
		}
		return out, nil
	case bytes.HasPrefix(p, xzMagic):
		tool = "xz"
	case bytes.HasPrefix(p, zstdMagic):
		tool = "zstd"
	default:
		return nil, errNoPayload
	}
	cmd := exec.CommandContext(ctx, tool, "-dc")
	cmd.Stdin = bytes.NewReader(p)
	out, err := output(cmd)
	return []byte(out), err
}

// hasPVH says whether an ELF kernel has the note that QEMU boots by.
func hasPVH(kernel []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(kernel))
	if err != nil {
		return false
	}
	const physEntry = 18 // XEN_ELFNOTE_PHYS32_ENTRY
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > uint64(len(kernel)) {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			return false
		}
		if hasNote(notes, "Xen\x00", physEntry) {
			return true
		}
	}
	return false
}

// hasNote looks through ELF notes: three words (name size, content size, kind),
// then both, padded to words.
func hasNote(notes []byte, name string, kind uint32) bool {
	const head, word = 12, 4
	pad := func(n uint32) uint64 { return (uint64(n) + word - 1) &^ (word - 1) }
	for len(notes) >= head {
		names, desc := binary.LittleEndian.Uint32(notes), binary.LittleEndian.Uint32(notes[4:])
		skip := head + pad(names) + pad(desc)
		if skip > uint64(len(notes)) {
			return false
		}
		if binary.LittleEndian.Uint32(notes[8:]) == kind && string(notes[head:head+uint64(names)]) == name {
			return true
		}
		notes = notes[skip:]
	}
	return false
}
