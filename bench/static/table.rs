// SPDX-License-Identifier: MIT
// A hash table with chains: table NODES LOOKS.
const BUCKETS: u64 = 1 << 20;

struct Node {
    next: Option<Box<Node>>,
    key: u64,
    value: [u64; 5],
}

fn main() {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let mut state: u64 = 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut table: Vec<Option<Box<Node>>> = (0..BUCKETS).map(|_| None).collect();
    for _ in 0..words[0] {
        let key = random();
        let head = &mut table[(key % BUCKETS) as usize];
        let next = head.take();
        *head = Some(Box::new(Node {
            next,
            key,
            value: [key; 5],
        }));
    }
    let mut found = 0u64;
    for _ in 0..words[1] {
        let mut at = &table[(random() % BUCKETS) as usize];
        while let Some(node) = at {
            found = found.wrapping_add(node.key & 1 | (node.value[0] ^ node.key));
            at = &node.next;
        }
    }
    println!("{}", found);
    std::process::exit(0);
}
