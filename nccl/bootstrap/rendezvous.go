package bootstrap

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// rendezvousLimit bounds a rendezvous file.
const rendezvousLimit = 64 << 10

// rendezvous is what rank 0 writes for the others to find it.
type rendezvous struct {
	session   [16]byte
	key       [32]byte
	addresses []string
	host      string
	pid       int
}

// rendezvousText is its form in the file.
type rendezvousText struct {
	Version   int      `json:"gofabric_rendezvous"`
	Session   string   `json:"session"`
	Key       string   `json:"key"`
	Addresses []string `json:"addresses"`
	Host      string   `json:"host"`
	PID       int      `json:"pid"`
}

func (r rendezvous) encode() []byte {
	text, err := json.Marshal(rendezvousText{
		Version: protoVersion, Session: hex.EncodeToString(r.session[:]), Key: hex.EncodeToString(r.key[:]),
		Addresses: r.addresses, Host: r.host, PID: r.pid,
	})
	if err != nil {
		return nil // strings and numbers always marshal
	}
	return append(text, '\n')
}

var errRendezvous = errors.New("it is no rendezvous file")

func parseRendezvous(data []byte) (r rendezvous, err error) {
	var text rendezvousText
	if err := json.Unmarshal(data, &text); err != nil {
		return r, errRendezvous
	}
	if text.Version != protoVersion {
		return r, fmt.Errorf("%w of version %d", errRendezvous, protoVersion)
	}
	session, err1 := hex.DecodeString(text.Session)
	key, err2 := hex.DecodeString(text.Key)
	if err1 != nil || err2 != nil || len(session) != len(r.session) || len(key) != len(r.key) ||
		len(text.Addresses) == 0 || len(text.Addresses) > maxOffered {
		return r, errRendezvous
	}
	for _, address := range text.Addresses {
		if _, _, err := splitAddress(address); err != nil {
			return r, errRendezvous
		}
	}
	copy(r.session[:], session)
	copy(r.key[:], key)
	r.addresses, r.host, r.pid = text.Addresses, printable(text.Host, hostLimit), text.PID
	return r, nil
}

// writeRendezvous puts the file in place at once and whole.
func writeRendezvous(path string, r rendezvous) error {
	if _, err := readRendezvous(path); errors.Is(err, errRendezvous) {
		return &FileError{Path: path, Err: err, Hint: "it is left alone: name another file"}
	}
	for attempt := 0; ; attempt++ {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		// Another run's rank 0 may just have removed the folder that both use.
		err := writeWhole(path, r.encode())
		if attempt == 3 || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// writeWhole writes a file that nobody else may read, under another name first.
func writeWhole(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".gofabric-*")
	if err != nil {
		return &FileError{Path: path, Err: err}
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync() // other machines may look
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return &FileError{Path: path, Err: err}
	}
	return nil
}

// readRendezvous reads the file, if it is there and this user's.
func readRendezvous(path string) (rendezvous, error) {
	data, err := readOwn(path, rendezvousLimit)
	if err != nil {
		return rendezvous{}, err
	}
	r, err := parseRendezvous(data)
	if err != nil {
		return r, &FileError{Path: path, Err: err}
	}
	return r, nil
}

// readOwn reads a file of this user, up to a length.
func readOwn(path string, most int64) ([]byte, error) {
	file, err := openOwn(path)
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is %w: %d bytes is the most", ErrTooLarge, most)
	}
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	return data, nil
}

// removeOwn removes the rendezvous file if it is still this session's.
func removeOwn(path string, session [16]byte) {
	if r, err := readRendezvous(path); err == nil && r.session == session {
		_ = os.Remove(path)
		// The folder too, if it is ours alone and nobody else uses it.
		if filepath.Base(filepath.Dir(path)) == filepath.Base(userFolder(nil)) {
			_ = os.Remove(filepath.Dir(path))
		}
	}
}

// replaced is an error if another rank 0 has put its file in this one's place.
func replaced(path string, w World, session [16]byte) error {
	r, err := readRendezvous(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{Path: path, Err: errors.New("somebody removed it while ranks were awaited")}
	case err == nil && r.session != session:
		return &RefusedError{Rank: w.Rank, Err: ErrDuplicateRank, Detail: fmt.Sprintf("process %d on %s is rank 0 too, and wrote %s", r.pid, r.host, path)}
	}
	return nil
}
