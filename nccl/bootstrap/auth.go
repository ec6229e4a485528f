package bootstrap

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// jobToken stands for a job's name on the wire.
func jobToken(job string) (token [16]byte) {
	sum := sha256.Sum256([]byte("gofabric bootstrap job\x00" + job))
	copy(token[:], sum[:])
	return token
}

// authKey is what a rank must know to join: the shared secret, if any, and the
// key of the rendezvous file, if there is one. Without either anybody knows it.
func authKey(secret, fileKey []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("gofabric bootstrap key\x00"))
	mac.Write(fileKey)
	return mac.Sum(nil)
}

// The two sides prove different things, so that neither can send back what it
// was sent.
const (
	rankProof = "gofabric bootstrap rank\x00"
	headProof = "gofabric bootstrap head\x00"
)

// proof shows that its maker knows the key, freshly: the hello holds the rank's
// nonce, and the challenge the head's.
func proof(key []byte, who string, hello, challenge []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(who))
	mac.Write(hello)
	mac.Write(challenge)
	return mac.Sum(nil)
}

// proves compares in constant time.
func proves(key []byte, who string, hello, challenge, claimed []byte) bool {
	return hmac.Equal(proof(key, who, hello, challenge), claimed)
}

// fill makes random bytes. Since Go 1.24 this cannot fail.
func fill(b []byte) { _, _ = rand.Read(b) }
