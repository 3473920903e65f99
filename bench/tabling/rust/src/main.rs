// SPDX-License-Identifier: MIT
//! Left-recursive transitive closure in ascent and datafrog, for `peers.py`:
//! `closure ascent|datafrog EDGES`, where a line of EDGES is two numbers.
//! Prints how many pairs there are.

use ascent::ascent;
use datafrog::{Iteration, Relation};

type Edge = (u32, u32);

ascent! {
    relation edge(u32, u32);
    relation path(u32, u32);
    path(x, z) <-- path(x, y), edge(y, z);
    path(x, z) <-- edge(x, z);
}

fn by_ascent(edges: Vec<Edge>) -> usize {
    let mut program = AscentProgram::default();
    program.edge = edges;
    program.run();
    program.path.len()
}

fn by_datafrog(edges: Vec<Edge>) -> usize {
    let relation: Relation<Edge> = edges.iter().copied().collect();
    let mut iteration = Iteration::new();
    let path = iteration.variable::<Edge>("path"); // end, start
    path.extend(edges.iter().map(|&(x, y)| (y, x)));
    while iteration.changed() {
        path.from_join(&path, &relation, |_, &x, &z| (z, x));
    }
    path.complete().len()
}

fn read_edges(path: &str) -> Vec<Edge> {
    let text = std::fs::read_to_string(path).expect("a file of edges");
    let mut numbers = text.split_whitespace().map(|n| n.parse().expect("a number"));
    let mut edges = Vec::new();
    while let (Some(x), Some(y)) = (numbers.next(), numbers.next()) {
        edges.push((x, y));
    }
    edges
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let pairs = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "ascent", path] => by_ascent(read_edges(path)),
        [_, "datafrog", path] => by_datafrog(read_edges(path)),
        _ => panic!("usage: closure ascent|datafrog EDGES"),
    };
    println!("{pairs}");
}
