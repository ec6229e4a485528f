//go:build !linux

package lab

import "context"

func lock(context.Context, string, string) (func(), error) { return nil, ErrNotSupported }
