// main.go: go-redsync/redsync behind picklock's adapter protocol (docs/ADAPTERS.md).
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"log"
	"os"
	"time"
)

type request struct {
	Op, Resource        string
	Id                  int
	Nodes               []string
	Options             map[string]float64
	Ttl_ms, Deadline_ms float64
}
type answer map[string]any

var start, held = time.Now(), map[string]*redsync.Mutex{}
var asked map[string]float64
var library *redsync.Redsync

func monotonic() float64 { return float64(time.Since(start)) / 1e6 }

func begin(r request) answer {
	pools := []redis.Pool{}
	for _, url := range r.Nodes {
		options, _ := goredislib.ParseURL(url)
		pools = append(pools, goredis.NewPool(goredislib.NewClient(options)))
	}
	asked, library = r.Options, redsync.New(pools...)
	return answer{"type": "ok", "library": "redsync 4.18.1", "owner": "object", "nodes": "N", "drift_factor": 0.01,
		"features": []string{"validity", "extend", "deadline", "several", "clock"}}
}

// outcome: what is surely not so is a fail; what the library could not find out is unknown.
func outcome(lock *redsync.Mutex, done bool, err error) answer {
	if done {
		said := answer{"type": "ok", "value": lock.Value(), "at_ms": monotonic()}
		said["validity_ms"] = float64(time.Until(lock.Until())) / 1e6
		return said
	}
	sure := errors.As(err, new(*redsync.ErrTaken)) || errors.Is(err, redsync.ErrLockAlreadyExpired)
	return answer{"type": map[bool]string{true: "fail", false: "info"}[sure], "error": fmt.Sprint(err)}
}

func serve(r request) answer {
	deadline := time.Duration(cmp.Or(r.Deadline_ms, 3.6e6) * 1e6)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	lock, done, err := held[r.Resource], false, errors.New("not held")
	switch {
	case r.Op == "init":
		return begin(r)
	case r.Op == "clock":
		return answer{"type": "ok", "mono_ms": monotonic(), "wall_ms": float64(time.Now().UnixNano()) / 1e6}
	case r.Op == "acquire":
		delay := redsync.WithRetryDelay(time.Duration(1e6 * (asked["retry_delay_ms"] + asked["retry_jitter_ms"]/2)))
		tries := redsync.WithTries(int(asked["retry_count"]) + 1)
		lock = library.NewMutex(r.Resource, redsync.WithExpiry(time.Duration(r.Ttl_ms*1e6)), tries, delay)
		if err = lock.LockContext(ctx); err != nil {
			return answer{"type": "fail", "error": err.Error()}
		}
		held[r.Resource], done = lock, true
	case lock != nil && r.Op == "extend":
		done, err = lock.ExtendContext(ctx)
	case lock != nil:
		delete(held, r.Resource)
		done, err = lock.UnlockContext(ctx)
	}
	return outcome(lock, done, err)
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		r := request{}
		json.Unmarshal(lines.Bytes(), &r)
		if r.Op == "shutdown" {
			return
		}
		go func() { // one request is open at a time, but for clock
			said := serve(r)
			said["id"] = r.Id
			line, _ := json.Marshal(said)
			log.New(os.Stdout, "", 0).Printf("%s", line) // one write
		}()
	}
}
