// adapter.go: a template: put a lock library in Go behind picklock (docs/ADAPTERS.md).
//
//	go build -o /tmp/adapter adapters/templates/adapter.go
//	picklock run --adapter /tmp/adapter
//
// Replace library by calls of yours, and say in declares what it does.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

type message map[string]any

var declares = message{
	"library":  "template 1",
	"features": []string{"validity", "extend", "clock"}, // all that it does: see docs/ADAPTERS.md
	"owner":    "object",
	"nodes":    1, // or "N", for a majority of several
}

const compare = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call("
const remove = compare + "'del',KEYS[1]) end return 0"
const expire = compare + "'pexpire',KEYS[1],ARGV[2]) end return 0"

// library is SET NX PX on one node, by hand: yours goes here.
type library struct {
	address string
	node    net.Conn
	lines   *bufio.Reader
}

func (l *library) connect() (err error) {
	if l.node, err = net.Dial("tcp", l.address); err == nil {
		l.lines = bufio.NewReader(l.node)
	}
	return err
}

// ask fails where nobody knows what became of it; the next one connects again.
func (l *library) ask(words ...string) (line string, err error) {
	if l.node == nil {
		if err = l.connect(); err != nil {
			return "", err
		}
	}
	if line, err = l.exchange(words); err != nil {
		l.node = nil
	} else if strings.HasPrefix(line, "-") {
		err = fmt.Errorf("refused: %s", line)
	}
	return line, err
}

func (l *library) exchange(words []string) (string, error) {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := l.node.Write([]byte(text)); err != nil {
		return "", err
	}
	line, err := l.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

func validity(ttl float64, begun time.Time) float64 {
	return ttl*0.99 - 2 - float64(time.Since(begun))/1e6
}

var start = time.Now()
var held = map[string]string{}
var locks *library

func mono() float64 { return float64(time.Since(start)) / 1e6 }

// promise says when it was computed, on our own monotonic clock: so that it counts from there.
func promise(validity float64) message {
	return message{"type": "ok", "validity_ms": validity, "at_ms": mono()}
}

func serve(op, resource string, ttl float64, asked message) (message, error) {
	px := fmt.Sprintf("%d", int64(ttl))
	begun := time.Now()
	switch op {
	case "init":
		locks = &library{address: strings.TrimPrefix(asked["nodes"].([]any)[0].(string), "redis://")}
		err := locks.connect()
		answer := message{"type": "ok"}
		for name, value := range declares {
			answer[name] = value
		}
		return answer, err
	case "clock":
		return message{"type": "ok", "mono_ms": mono(), "wall_ms": float64(time.Now().UnixNano()) / 1e6}, nil
	case "acquire":
		bytes := make([]byte, 20)
		_, _ = rand.Read(bytes)
		value := hex.EncodeToString(bytes)
		said, err := locks.ask("SET", resource, value, "NX", "PX", px)
		if said != "+OK" {
			return message{"type": "fail", "error": said}, err // surely not held
		}
		left := validity(ttl, begun)
		if left <= 0 { // too late: nobody could use it
			_, err = locks.ask("EVAL", remove, "1", resource, value)
			return message{"type": "fail", "error": "spent"}, err
		}
		held[resource] = value
		answer := promise(left)
		answer["value"] = value
		return answer, err
	case "extend":
		said, err := locks.ask("EVAL", expire, "1", resource, held[resource], px)
		left := validity(ttl, begun)
		if said != ":1" || left <= 0 {
			return message{"type": "fail", "error": "lost"}, err
		}
		return promise(left), err
	}
	said, err := locks.ask("EVAL", remove, "1", resource, held[resource])
	if said != ":1" {
		return message{"type": "fail", "error": "lost"}, err
	}
	return message{"type": "ok"}, err
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked message
		if json.Unmarshal(lines.Bytes(), &asked) != nil || asked["op"] == "shutdown" {
			return
		}
		resource, _ := asked["resource"].(string)
		ttl, _ := asked["ttl_ms"].(float64)
		answer, err := serve(asked["op"].(string), resource, ttl, asked)
		if err != nil {
			answer = message{"type": "info", "error": err.Error()} // nobody knows whether it happened
		}
		answer["id"] = asked["id"]
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
