//go:build !linux || !cgo

package crdmacm

// RSocket is an rsocket's descriptor; in this build none is ever made.
type RSocket int32

func OpenRSocket(*Sockaddr, int) (RSocket, error)                 { return -1, errBuild }
func (RSocket) Bind(*Sockaddr) error                              { return errBuild }
func (RSocket) Listen(int) error                                  { return errBuild }
func (RSocket) Accept() (RSocket, error)                          { return -1, errBuild }
func (RSocket) Connect(*Sockaddr) error                           { return errBuild }
func (RSocket) Connected() error                                  { return errBuild }
func (RSocket) Shutdown(int) error                                { return errBuild }
func (RSocket) Close() error                                      { return errBuild }
func (RSocket) Read([]byte) (int, error)                          { return 0, errBuild }
func (RSocket) Peek([]byte) (int, error)                          { return 0, errBuild }
func (RSocket) Write([]byte) (int, error)                         { return 0, errBuild }
func (RSocket) Writev([][]byte) (int, error)                      { return 0, errBuild }
func (RSocket) Send([]byte) (int, error)                          { return 0, errBuild }
func (RSocket) RecvFrom([]byte) (n int, from Sockaddr, err error) { return 0, from, errBuild }
func (RSocket) SendTo([]byte, *Sockaddr) (int, error)             { return 0, errBuild }
func (RSocket) LocalName() (Sockaddr, error)                      { return Sockaddr{}, errBuild }
func (RSocket) PeerName() (Sockaddr, error)                       { return Sockaddr{}, errBuild }
func (RSocket) SetOption(_, _, _ int) error                       { return errBuild }
func (RSocket) Option(_, _ int) (int, error)                      { return 0, errBuild }
func (RSocket) IOMap([]byte, int64) error                         { return errBuild }
func (RSocket) IOUnmap([]byte) error                              { return errBuild }
func (RSocket) IOWrite([]byte, int64) (int, error)                { return 0, errBuild }

// RPoller waits for rsockets.
type RPoller struct{}

func NewRPoller() (*RPoller, error)   { return nil, errBuild }
func (*RPoller) Own() (own [2]PollFD) { return own }
func (*RPoller) Wait([]PollFD) error  { return errBuild }
func (*RPoller) Wake()                {}
func (*RPoller) Alarm(int)            {}
func (*RPoller) Close()               {}
