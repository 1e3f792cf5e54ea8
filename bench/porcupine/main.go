// main.go: judges a history of picklock's with Porcupine, for comparison: prints verdict and seconds.
//
//	porcupine HISTORY.jsonl SECONDS
//
// The model is the best deterministic one: an unknown acquire takes a free lock, else it does
// nothing; an unknown release frees the lock if its value holds it. Resources are partitions.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

type event struct {
	Time     int64  `json:"time"`
	Process  int    `json:"process"`
	Type     string `json:"type"`
	F        string `json:"f"`
	Resource string `json:"resource"`
	Value    string `json:"value"`
}

type input struct {
	acquire bool
	unknown bool
	value   string
	lock    string
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byLock := map[string][]porcupine.Operation{}
		for _, op := range history {
			lock := op.Input.(input).lock
			byLock[lock] = append(byLock[lock], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byLock {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() interface{} { return "" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		holder, op := state.(string), in.(input)
		if op.acquire {
			if holder == "" {
				return true, op.value
			}
			return op.unknown, holder
		}
		if holder == op.value {
			return true, ""
		}
		return op.unknown, holder
	},
}

func read(path string) ([]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	open := map[int]event{}
	var history []porcupine.Operation
	add := func(invoke event, end int64, unknown bool) {
		in := input{invoke.F == "acquire", unknown, invoke.Value, invoke.Resource}
		history = append(history, porcupine.Operation{
			ClientId: invoke.Process, Input: in, Call: invoke.Time, Return: end})
	}
	lines := bufio.NewScanner(file)
	lines.Scan() // the header
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		switch e.Type {
		case "invoke":
			open[e.Process] = e
		case "ok":
			add(open[e.Process], e.Time, false)
		case "info":
			add(open[e.Process], math.MaxInt64, true)
		}
		if e.Type != "invoke" {
			delete(open, e.Process)
		}
	}
	for _, invoke := range open {
		add(invoke, math.MaxInt64, true)
	}
	return history, lines.Err()
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: porcupine HISTORY.jsonl SECONDS")
		os.Exit(4)
	}
	history, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	seconds, _ := strconv.Atoi(os.Args[2])
	start := time.Now()
	result := porcupine.CheckOperationsTimeout(model, history, time.Duration(seconds)*time.Second)
	fmt.Printf("%s %.4f\n", result, time.Since(start).Seconds())
}
