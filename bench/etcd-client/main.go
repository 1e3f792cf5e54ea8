// main.go: one cycle of an etcd lock without our driver, for comparison: over etcd's own client for Go, or over Go's
// plain HTTP client and the gateway that our driver asks as well.
//
//	etcd-client grpc|http ADDRESS CYCLES    for each line read: so many cycles; prints microseconds a cycle
//
// A cycle is what client/v3/concurrency sends for a lock without a rival: a lease granted, its key put if it is not
// there and the oldest read, the lease revoked.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd-client:", err)
		os.Exit(3)
	}
}

func overGRPC(address string) func() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 10 * time.Second})
	must(err)
	return func() {
		lease, err := client.Grant(ctx, 10)
		must(err)
		key := fmt.Sprintf("plain/%x", lease.ID)
		oldest := clientv3.OpGet("plain/", clientv3.WithFirstCreate()...)
		_, err = client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, "", clientv3.WithLease(lease.ID)), oldest).
			Else(clientv3.OpGet(key), oldest).Commit()
		must(err)
		_, err = client.Revoke(ctx, lease.ID)
		must(err)
	}
}

type object map[string]any

func overHTTP(address string) func() {
	post := func(path string, body object) object {
		asked, err := json.Marshal(body)
		must(err)
		answer, err := http.Post("http://"+address+path, "application/json", bytes.NewReader(asked))
		must(err)
		defer answer.Body.Close()
		said := object{}
		must(json.NewDecoder(answer.Body).Decode(&said))
		_, err = io.Copy(io.Discard, answer.Body)
		must(err)
		return said
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return func() {
		lease := post("/v3/lease/grant", object{"TTL": "10"})["ID"]
		key := encode(fmt.Sprintf("plain/%v", lease))
		oldest := object{"request_range": object{"key": encode("plain/"), "range_end": encode("plain0"),
			"sort_order": "ASCEND", "sort_target": "CREATE", "limit": "1"}}
		post("/v3/kv/txn", object{
			"compare": []object{{"key": key, "target": "CREATE", "create_revision": "0"}},
			"success": []object{{"request_put": object{"key": key, "lease": lease}}, oldest},
			"failure": []object{{"request_range": object{"key": key}}, oldest}})
		post("/v3/lease/revoke", object{"ID": lease})
	}
}

func main() {
	over := map[string]func(string) func(){"grpc": overGRPC, "http": overHTTP}[os.Args[1]]
	cycles, err := strconv.Atoi(os.Args[3])
	must(err)
	cycle := over(os.Args[2])
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		start := time.Now()
		for i := 0; i < cycles; i++ {
			cycle()
		}
		fmt.Printf("%.1f\n", float64(time.Since(start).Nanoseconds())/1e3/float64(cycles))
	}
}
