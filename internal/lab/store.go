package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stamp is what a cached folder remembers about its content. A folder without
// one is not complete and never used: folders appear by one rename.
type stamp struct {
	// Package is the package that gave the folder its version.
	Package string `json:"package"`
	Version string `json:"version"`
	Suite   string `json:"suite"`
}

const stampFile = "lab.json"

func readStamp(dir string) (stamp, bool, error) {
	var s stamp
	text, err := os.ReadFile(filepath.Join(dir, stampFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("lab: cache: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, false, fmt.Errorf("lab: cache: %s is damaged, remove that folder: %w", dir, err)
	}
	return s, true, nil
}

// store makes the folder cache/kind/name if it is not there, by calling fill
// with an empty folder. Runs in other processes wait for the one that fills.
func store(ctx context.Context, c Config, kind, name string, fill func(dir string) (stamp, error)) (string, stamp, error) {
	final := filepath.Join(c.Cache, kind, name)
	if !c.Refresh {
		if s, ok, err := readStamp(final); ok || err != nil {
			return final, s, err
		}
	}
	release, err := lock(ctx, c.Cache, kind+"-"+name)
	if err != nil {
		return "", stamp{}, err
	}
	defer release()
	if !c.Refresh {
		if s, ok, err := readStamp(final); ok || err != nil {
			return final, s, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	// What an interrupted run left under this lock is rubbish.
	temp := final + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := os.Mkdir(temp, 0o755); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	s, err := fill(temp)
	if err != nil {
		return "", stamp{}, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	if err := os.WriteFile(filepath.Join(temp, stampFile), text, 0o644); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	if err := os.RemoveAll(final); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	if err := os.Rename(temp, final); err != nil {
		return "", stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	return final, s, nil
}
