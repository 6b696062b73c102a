// SPDX-License-Identifier: Apache-2.0

// A process that locks with redsync and bsm/redislock as it is told: requests come as JSON lines on standard input,
// answers go as JSON lines to standard output, in whatever order they are done. It ends when its input ends.
//
// A request is {"id", "call", "handle", ...}: "open" with a new handle's number and what stands in openRequest, then
// "acquire", "extend", "release" and "ttl_ms" with that number. An answer is {"id", "ms", "result"}, or "error" and
// "message" in the place of the result.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

type request struct {
	ID      int    `json:"id"`
	Call    string `json:"call"`
	Handle  int    `json:"handle"`
	LeaseMs int64  `json:"lease_ms"`
	WaitMs  int64  `json:"wait_ms"`
	openRequest
}

type openRequest struct {
	Library string   `json:"library"`
	URLs    []string `json:"urls"`
	Name    string   `json:"name"`
}

// A handle is one lock of one library, which remembers its token. Its methods answer whether they were successful, or
// say why nobody knows.
type handle interface {
	acquire(wait, lease time.Duration) (bool, error)
	extend(lease time.Duration) (bool, error)
	release() (bool, error)
	ttl() (time.Duration, error)
}

type peer struct {
	handles  sync.Map
	printing sync.Mutex
	output   *json.Encoder
}

func (p *peer) print(answer map[string]any) {
	p.printing.Lock()
	defer p.printing.Unlock()
	if err := p.output.Encode(answer); err != nil {
		os.Exit(1)
	}
}

func (p *peer) serve(wanted request) {
	started := time.Now()
	result, err := p.carryOut(wanted)
	answer := map[string]any{"id": wanted.ID, "ms": float64(time.Since(started).Microseconds()) / 1000}
	if err != nil {
		answer["error"], answer["message"] = fmt.Sprintf("%T", err), err.Error()
	} else {
		answer["result"] = result
	}
	p.print(answer)
}

func (p *peer) carryOut(wanted request) (any, error) {
	if wanted.Call == "open" {
		opened, err := open(wanted.openRequest)
		if err == nil {
			p.handles.Store(wanted.Handle, opened)
		}
		return nil, err
	}
	found, known := p.handles.Load(wanted.Handle)
	if !known {
		return nil, fmt.Errorf("there is no handle %d; expected one that was opened", wanted.Handle)
	}
	opened := found.(handle)
	lease := time.Duration(wanted.LeaseMs) * time.Millisecond
	switch wanted.Call {
	case "acquire":
		return opened.acquire(time.Duration(wanted.WaitMs)*time.Millisecond, lease)
	case "extend":
		return opened.extend(lease)
	case "release":
		return opened.release()
	case "ttl_ms":
		left, err := opened.ttl()
		return left.Milliseconds(), err
	}
	return nil, fmt.Errorf("there is no call %q; expected open, acquire, extend, release or ttl_ms", wanted.Call)
}

func main() {
	p := &peer{output: json.NewEncoder(os.Stdout)}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var wanted request
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", lines.Text(), err)
			os.Exit(1)
		}
		go p.serve(wanted)
	}
}
