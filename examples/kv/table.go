package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
)

// The table is memory that clients read by themselves. It consists of buckets of
// four slots, of 256 bytes each; a key can be in any slot of its bucket. A slot is
//
//	checksum 4 | length of the key 1, from 1; 0 is empty | of the value 1 | key | value
//
// The server changes a slot while clients may be reading it. The checksum tells
// them: whoever sees a half-written slot reads again.
const (
	slotSize   = 256
	slotHead   = 6
	perBucket  = 4
	bucketSize = perBucket * slotSize
	maxKey     = 64
	maxValue   = slotSize - slotHead - maxKey
)

var errTorn = errors.New("the slot is being changed")

// bucketOf returns where a key's bucket begins in a table of so many bytes.
func bucketOf(key string, table uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key)) // a hash cannot fail
	return h.Sum64() % (table / bucketSize) * bucketSize
}

// putSlot fills a slot; an empty key clears it.
func putSlot(slot []byte, key string, value []byte) {
	slot[4], slot[5] = byte(len(key)), byte(len(value))
	n := slotHead + copy(slot[slotHead:], key)
	n += copy(slot[n:], value)
	clear(slot[n:])
	binary.BigEndian.PutUint32(slot, crc32.ChecksumIEEE(slot[4:]))
}

// readSlot returns what is in a slot; an empty one has no key.
func readSlot(slot []byte) (key string, value []byte, err error) {
	nk, nv := int(slot[4]), int(slot[5])
	if binary.BigEndian.Uint32(slot) != crc32.ChecksumIEEE(slot[4:]) || nk > maxKey || slotHead+nk+nv > slotSize {
		return "", nil, errTorn
	}
	return string(slot[slotHead : slotHead+nk]), slot[slotHead+nk : slotHead+nk+nv], nil
}

// lookUp finds a key in a copy of its bucket.
func lookUp(bucket []byte, key string) (value []byte, ok bool, err error) {
	for i := range perBucket {
		k, v, err := readSlot(bucket[i*slotSize : (i+1)*slotSize])
		if err != nil {
			return nil, false, err
		}
		if k == key {
			return bytes.Clone(v), true, nil
		}
	}
	return nil, false, nil
}

// A change is asked for by a message: what to do, the length of the key, the key,
// the value. The answer is empty, or says what is wrong.
const (
	opPut = 'P'
	opDel = 'D'
)

func makeRequest(op byte, key string, value []byte) []byte {
	return append(append([]byte{op, byte(len(key))}, key...), value...)
}

var errRequest = errors.New("this is no request")

func parseRequest(b []byte) (op byte, key string, value []byte, err error) {
	if len(b) < 2 || b[0] != opPut && b[0] != opDel || b[1] == 0 || b[1] > maxKey || len(b) < 2+int(b[1]) {
		return 0, "", nil, errRequest
	}
	n := 2 + int(b[1])
	if op, key, value = b[0], string(b[2:n]), b[n:]; len(value) > maxValue {
		return 0, "", nil, errRequest
	}
	return op, key, value, nil
}
