package nccl

import (
	"encoding/base64"
	"sync"
)

// UniqueID names a communicator that is about to be made. One rank makes it and
// hands it to the others by any means; it holds the address at which that
// process serves the others until all have come.
type UniqueID [128]byte

// NewUniqueID makes an id. The process must live until every rank has joined.
// NCCL listens on a port from then on: anybody who can reach it can disturb the
// start, so the network between the ranks must be trusted.
//
// Implements: ncclGetUniqueId.
func NewUniqueID() (UniqueID, error) {
	lib, err := load(LoadOptions{})
	if err != nil {
		return UniqueID{}, &OpError{Op: "NewUniqueID", Rank: -1, Device: -1, Err: err}
	}
	id, code, last := lib.UniqueID()
	if code != 0 {
		return UniqueID{}, &OpError{Op: "NewUniqueID", Rank: -1, Device: -1, Err: lib.failure(code, last)}
	}
	return id, nil
}

// MarshalBinary returns the 128 bytes.
func (id UniqueID) MarshalBinary() ([]byte, error) { return id[:], nil }

// UnmarshalBinary takes exactly 128 bytes.
func (id *UniqueID) UnmarshalBinary(data []byte) error {
	if len(data) != len(id) {
		return badArgument("a unique id has %d bytes, not %d", len(id), len(data))
	}
	copy(id[:], data)
	return nil
}

// MarshalText returns the id in base64, 172 characters.
func (id UniqueID) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, id[:]), nil
}

// UnmarshalText takes what MarshalText returned.
func (id *UniqueID) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return badArgument("a unique id is 172 characters of base64: %v", err)
	}
	return id.UnmarshalBinary(data)
}

// mostIDs bounds how many ids the process remembers as used.
const mostIDs = 4096

// usedIDs remembers which ranks this process has started with which id. A
// second start with the same id meets nobody, or the wrong ones, and hangs.
var usedIDs = struct {
	sync.Mutex
	ranks map[UniqueID]map[int]bool
	order []UniqueID
}{ranks: map[UniqueID]map[int]bool{}}

// claimID notes that rank starts with id, or refuses the second time.
func claimID(id UniqueID, rank int) error {
	usedIDs.Lock()
	defer usedIDs.Unlock()
	if usedIDs.ranks[id] == nil {
		if len(usedIDs.order) == mostIDs {
			delete(usedIDs.ranks, usedIDs.order[0])
			usedIDs.order = usedIDs.order[1:]
		}
		usedIDs.ranks[id] = map[int]bool{}
		usedIDs.order = append(usedIDs.order, id)
	}
	if usedIDs.ranks[id][rank] {
		return ErrIDUsed
	}
	usedIDs.ranks[id][rank] = true
	return nil
}
