//go:build !linux || !cgo

package cverbs

func (CQ) Resize(int) error                                        { return errBuild }
func (CQ) Moderate(uint16, uint16) error                           { return errBuild }
func (PD) CreateQPOn(SRQ, CQ, CQ, int32, *QPCap, bool) (QP, error) { return QP{}, errBuild }
func (PD) CreateSRQ(*SRQAttr) (SRQ, error)                         { return SRQ{}, errBuild }
func (SRQ) Modify(*SRQAttr, uint32) error                          { return errBuild }
func (SRQ) Query() (SRQAttr, error)                                { return SRQAttr{}, errBuild }
func (SRQ) Destroy() error                                         { return errBuild }
func (SRQ) PostRecv(*RecvWR, int) Posted                           { return Posted{} }
func (PD) CreateAH(*AHAttr) (AH, error)                            { return AH{}, errBuild }
func (AH) Destroy() error                                          { return errBuild }
func (Context) AHFromWC(uint8, *WC, *GRH) (AHAttr, error)          { return AHAttr{}, errBuild }
func (*SendWR) SetUD(AH, uint32, uint32)                           {}
func (QP) AttachMcast([16]byte, uint16) error                      { return errBuild }
func (QP) DetachMcast([16]byte, uint16) error                      { return errBuild }
func (Context) AsyncFD() int                                       { return -1 }
func (Context) NextAsyncEvent() (AsyncEvent, error)                { return AsyncEvent{}, errBuild }
func (AsyncEvent) Ack() error                                      { return errBuild }
func (AsyncEvent) Type() int32                                     { return 0 }
func (AsyncEvent) Port() int                                       { return 0 }
func (AsyncEvent) CQ() CQ                                          { return CQ{} }
func (AsyncEvent) QP() QP                                          { return QP{} }
func (AsyncEvent) SRQ() SRQ                                        { return SRQ{} }
func NewSharedQueue(int) (*Queue, error)                           { return nil, errBuild }
