//go:build !linux || !cgo

package loopdev

import (
	"errors"
	"fmt"
	"time"
)

var errBuild = fmt.Errorf("this program was built without cgo for linux: it has no in-process device: %w", errors.ErrUnsupported)

func AddDevice(DeviceOptions) error                     { return errBuild }
func RemoveDevice(string) error                         { return errBuild }
func Devices() []string                                 { return nil }
func DropMessages(string, uint32, int) error            { return errBuild }
func DelayMessages(string, uint32, time.Duration) error { return errBuild }
func StormRNR(string, uint32, int) error                { return errBuild }
func FailPosts(string, uint32, int) error               { return errBuild }
func SpuriousEvents(string, uint32, int) error          { return errBuild }
func FailAllocations(string, int) error                 { return errBuild }
func LateEvents(string, time.Duration) error            { return errBuild }
func SetPort(string, int, bool) error                   { return errBuild }
