//go:build !linux || !cgo

package cverbs

// Handles of extended queues; in this build none is ever made.
type (
	// CQEx is an extended completion queue.
	CQEx struct{}
	// QPEx is a queue pair with work request builders.
	QPEx struct{}
	// XRCD is an XRC domain.
	XRCD struct{}
	// WQ is a work queue.
	WQ struct{}
	// IndTable is a table of work queues.
	IndTable struct{}
	// Flow is a steering rule.
	Flow struct{}
)

func (Context) CreateCQEx(CQInit) (CQEx, error)                { return CQEx{}, errBuild }
func (CQEx) CQ() CQ                                            { return CQ{} }
func (CQEx) Poll(*WCEx, int, uint32, uint32) (int, error)      { return 0, errBuild }
func (CQEx) Spin(*WCEx, int, uint32, uint32, int) (int, error) { return 0, errBuild }
func (CQEx) Start(uint32) Current                              { return Current{} }
func (CQEx) Next(uint32) Current                               { return Current{} }
func (CQEx) End()                                              {}
func (CQEx) Read(WCField) uint64                               { return 0 }
func (CQEx) ReadTMInfo() TMInfo                                { return TMInfo{} }
func (Context) CreateQPEx(*QPInit) (QP, error)                 { return QP{}, errBuild }
func (QP) Ex() (QPEx, error)                                   { return QPEx{}, errBuild }
func (QPEx) PostSend(*SendWR, int, uint32) Posted              { return Posted{} }
func (QPEx) Abort(*SendWR, int, uint32) error                  { return errBuild }
func (Context) OpenQP(XRCD, uint32, int32) (QP, error)         { return QP{}, errBuild }
func (QP) SetECE(ECE) error                                    { return errBuild }
func (QP) QueryECE() (ECE, error)                              { return ECE{}, errBuild }
func (QP) DataInOrder(int32, uint32) (int, error)              { return 0, errBuild }
func (QP) ModifyRateLimit(RateLimit) error                     { return errBuild }
func (Context) OpenXRCD(int, int) (XRCD, error)                { return XRCD{}, errBuild }
func (XRCD) Close() error                                      { return errBuild }
func (Context) CreateSRQEx(*SRQInit) (SRQ, error)              { return SRQ{}, errBuild }
func (SRQ) Number() (uint32, error)                            { return 0, errBuild }
func (SRQ) PostTagOp(*TagOp) error                             { return errBuild }
func (Context) CreateWQ(WQInit) (WQ, error)                    { return WQ{}, errBuild }
func (WQ) Num() uint32                                         { return 0 }
func (WQ) State() int32                                        { return 0 }
func (WQ) Modify(*WQAttr) error                                { return errBuild }
func (WQ) Destroy() error                                      { return errBuild }
func (WQ) PostRecv(*RecvWR, int) Posted                        { return Posted{} }
func (Context) CreateIndTable(int, []WQ) (IndTable, error)     { return IndTable{}, errBuild }
func (IndTable) Destroy() error                                { return errBuild }
func (QP) CreateFlow([]byte) (Flow, error)                     { return Flow{}, errBuild }
func (Flow) Destroy() error                                    { return errBuild }
func NewPassingQueue() (*Queue, error)                         { return nil, errBuild }
