package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Group is how the ranks find each other: every rank but the first has a
// connection to rank 0, which gathers what all say and tells everybody.
type Group struct {
	rank, ranks int
	conns       []conn // rank 0: to the others, by rank-1; the others: to rank 0
	stop        func() bool
}

type conn struct {
	net.Conn
	*json.Encoder
	*json.Decoder
}

func newConn(c net.Conn) conn { return conn{c, json.NewEncoder(c), json.NewDecoder(c)} }

func newGroup(ctx context.Context, rank, ranks int, conns []conn) *Group {
	g := &Group{rank: rank, ranks: ranks, conns: conns}
	// Whoever reads from a peer that does not answer is woken by the context.
	g.stop = context.AfterFunc(ctx, g.close)
	return g
}

func (g *Group) close() {
	for _, c := range g.conns {
		c.Close()
	}
}

// Close leaves the group.
func (g *Group) Close() {
	g.stop()
	g.close()
}

// localGroups makes the groups of ranks that are goroutines of this process.
func localGroups(ctx context.Context, ranks int) []*Group {
	groups := make([]*Group, ranks)
	var root []conn
	for rank := 1; rank < ranks; rank++ {
		a, b := net.Pipe()
		root = append(root, newConn(a))
		groups[rank] = newGroup(ctx, rank, ranks, []conn{newConn(b)})
	}
	groups[0] = newGroup(ctx, 0, ranks, root)
	return groups
}

// joinGroup makes the group of ranks that are processes: rank 0 listens at the
// address, and the others dial it, in any order.
func joinGroup(ctx context.Context, rank, ranks int, addr string) (*Group, error) {
	if rank > 0 {
		c, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		g := newGroup(ctx, rank, ranks, []conn{newConn(c)})
		if err := g.conns[0].Encode(rank); err != nil {
			g.Close()
			return nil, err
		}
		return g, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	conns := make([]conn, ranks-1)
	for n := 1; n < ranks; n++ {
		peer, who, err := accept(ctx, l)
		if err == nil && (who < 1 || who >= ranks || conns[who-1].Conn != nil) {
			err = errors.Join(fmt.Errorf("%v says that it is rank %d of %d: start each rank once", peer.RemoteAddr(), who, ranks), peer.Close())
		}
		if err != nil {
			for _, c := range conns {
				if c.Conn != nil {
					c.Close()
				}
			}
			return nil, errors.Join(context.Cause(ctx), fmt.Errorf("%d of %d ranks came: %w", n, ranks, err))
		}
		conns[who-1] = peer
	}
	return newGroup(ctx, rank, ranks, conns), nil
}

// accept takes the next connection and asks who it is.
func accept(ctx context.Context, l net.Listener) (peer conn, who int, err error) {
	c, err := l.Accept()
	if err != nil {
		return peer, 0, err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	peer = newConn(c)
	if err := peer.Decode(&who); err != nil {
		return peer, 0, errors.Join(err, c.Close())
	}
	return peer, who, nil
}

func dial(ctx context.Context, addr string) (net.Conn, error) {
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(errors.New("rank 0 does not answer"), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// gather returns what each rank brought, by rank. It is a barrier too.
func gather[T any](g *Group, own T) ([]T, error) {
	all := make([]T, g.ranks)
	if g.rank > 0 {
		err := g.conns[0].Encode(own)
		if err == nil {
			err = g.conns[0].Decode(&all)
		}
		if err == nil && len(all) != g.ranks {
			err = fmt.Errorf("rank 0 was started for %d ranks, this one for %d", len(all), g.ranks)
		}
		return all, err
	}
	all[0] = own
	for i, c := range g.conns {
		if err := c.Decode(&all[i+1]); err != nil {
			return nil, fmt.Errorf("from rank %d: %w", i+1, err)
		}
	}
	for i, c := range g.conns {
		if err := c.Encode(all); err != nil {
			return nil, fmt.Errorf("to rank %d: %w", i+1, err)
		}
	}
	return all, nil
}

// Barrier waits until every rank is here.
func (g *Group) Barrier() error {
	_, err := gather(g, struct{}{})
	return err
}
