//go:build !linux || !cgo

package crdmacm

import (
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// errBuild is what every function answers in a build that cannot reach librdmacm.
var errBuild = fmt.Errorf("this program was built without cgo for linux: %w", errors.ErrUnsupported)

// Handles of C objects; in this build none is ever made.
type (
	// Channel is an event channel.
	Channel struct{}
	// ID is a communication identifier.
	ID struct{}

	rawEvent struct{}
)

func LibraryPath() (string, error)                             { return "", errBuild }
func EventString(int32) (string, error)                        { return "", errBuild }
func Devices() ([]string, error)                               { return nil, errBuild }
func CreateChannel() (Channel, error)                          { return Channel{}, errBuild }
func (Channel) FD() int                                        { return -1 }
func (Channel) Destroy()                                       {}
func (Channel) Next() (Event, error)                           { return Event{}, errBuild }
func (Event) Ack() error                                       { return errBuild }
func (Channel) CreateID(int) (ID, error)                       { return ID{}, errBuild }
func (ID) Destroy() error                                      { return errBuild }
func (ID) Migrate(Channel) error                               { return errBuild }
func (ID) Device() string                                      { return "" }
func (ID) Port() int                                           { return 0 }
func (ID) GIDs() (source, destination [16]byte, pkey uint16)   { return }
func (ID) Addresses() (source, destination Sockaddr)           { return }
func (ID) Ports() (source, destination uint16)                 { return }
func (ID) Paths() []Path                                       { return nil }
func (ID) Bind(*Sockaddr) error                                { return errBuild }
func (ID) ResolveAddr(*Sockaddr, *Sockaddr, int) error         { return errBuild }
func (ID) ResolveRoute(int) error                              { return errBuild }
func (ID) SetOption(int, int, []byte) error                    { return errBuild }
func (ID) InitQPAttr(int32) (cverbs.QPAttr, uint32, error)     { return cverbs.QPAttr{}, 0, errBuild }
func (ID) SetECE(ECE) error                                    { return errBuild }
func (ID) RemoteECE() (ECE, error)                             { return ECE{}, errBuild }
func (ID) WriteEvent(int, uint64) error                        { return errBuild }
func (ID) Connect(ConnParam) error                             { return errBuild }
func (ID) Accept(ConnParam) error                              { return errBuild }
func (ID) Establish() error                                    { return errBuild }
func (ID) Listen(int) error                                    { return errBuild }
func (ID) Reject([]byte, bool) error                           { return errBuild }
func (ID) Notify(int32) error                                  { return errBuild }
func (ID) Disconnect() error                                   { return errBuild }
func (ID) Join(*Sockaddr, uint64) error                        { return errBuild }
func (ID) JoinEx(*Sockaddr, uint32, uint64) error              { return errBuild }
func (ID) Leave(*Sockaddr) error                               { return errBuild }
func GetAddrInfo(string, string, AddrInfo) ([]AddrInfo, error) { return nil, errBuild }
func CreateEP(AddrInfo) (ID, error)                            { return ID{}, errBuild }
func (ID) DestroyEP()                                          {}
