// An etcd server of the newest release, as its own command starts it: `picklock run --server etcd=build/adapters/etcd`.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
