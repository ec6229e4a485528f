//go:build !linux || !cgo

package cverbs

func (Context) QueryDeviceEx() (DeviceAttrEx, error)       { return DeviceAttrEx{}, errBuild }
func (Context) QueryRTValues() (int64, int64, bool, error) { return 0, 0, false, errBuild }
func (Context) FD() int                                    { return -1 }
func (Context) Name() (string, error)                      { return "", errBuild }
func (Context) GUID() ([8]byte, error)                     { return [8]byte{}, errBuild }
func (Context) Index() (int, error)                        { return 0, errBuild }
func (Context) PKey(uint8, int) (uint16, error)            { return 0, errBuild }
func (Context) PKeyIndex(uint8, uint16) (int, error)       { return 0, errBuild }
func (Context) GID(uint8, int) ([16]byte, error)           { return [16]byte{}, errBuild }
func (Context) GIDEntry(uint32, uint32) (GIDEntry, error)  { return GIDEntry{}, errBuild }
func (Context) PortSpeed(uint32) (uint64, error)           { return 0, errBuild }
func (Context) ResolveL2(*AHAttr) ([6]byte, uint16, error) { return [6]byte{}, 0, errBuild }
func (Context) AllocTD() (TD, error)                       { return TD{}, errBuild }
func (TD) Dealloc() error                                  { return errBuild }
func (PD) AllocParentDomain(TD) (PD, error)                { return PD{}, errBuild }
func (Context) CreateCounters() (Counters, error)          { return Counters{}, errBuild }
func (Counters) Attach(int32, uint32, Flow) error          { return errBuild }
func (Counters) Read([]uint64, uint32) error               { return errBuild }
func (Counters) Destroy() error                            { return errBuild }
func ForkInit() error                                      { return errBuild }
func ForkStatus() (int32, error)                           { return 0, errBuild }
func ImportDevice(int) (Context, error)                    { return Context{}, errBuild }
func NodeTypeText(int32) (string, error)                   { return "", errBuild }
func PortStateText(int32) (string, error)                  { return "", errBuild }
func EventTypeText(int32) (string, error)                  { return "", errBuild }
func WCStatusText(int32) (string, error)                   { return "", errBuild }
func WROpcodeText(int32) (string, error)                   { return "", errBuild }
func RateToMult(int32) (int32, error)                      { return 0, errBuild }
func MultToRate(int32) (int32, error)                      { return 0, errBuild }
func RateToMbps(int32) (int32, error)                      { return 0, errBuild }
func MbpsToRate(int32) (int32, error)                      { return 0, errBuild }

func Lacks(string) (string, bool) { return "", false }
