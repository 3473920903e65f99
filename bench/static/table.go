// SPDX-License-Identifier: MIT
// A hash table with chains: table NODES LOOKS.
package main

import (
	"fmt"
	"os"
	"strconv"
)

const buckets = 1 << 20

type node struct {
	next  *node
	key   uint64
	value [5]uint64
}

func main() {
	nodes, _ := strconv.Atoi(os.Args[1])
	looks, _ := strconv.Atoi(os.Args[2])
	state := uint64(1)
	random := func() uint64 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return state
	}
	table := make([]*node, buckets)
	for i := 0; i < nodes; i++ {
		key := random()
		table[key%buckets] = &node{table[key%buckets], key, [5]uint64{key}}
	}
	found := uint64(0)
	for i := 0; i < looks; i++ {
		for n := table[random()%buckets]; n != nil; n = n.next {
			found += n.key & 1
		}
	}
	fmt.Println(found)
}
