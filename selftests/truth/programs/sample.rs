// SPDX-License-Identifier: GPL-2.0
// Never ends. Recursion, sorting with closures, panics that are caught, threads, maps, formatting.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::panic;

fn depth(n: u32, leaf: &dyn Fn() -> usize) -> usize {
    if n == 0 { leaf() } else { 1 + depth(n - 1, leaf) }
}

fn nested(n: u32) -> i32 {
    let mut list = vec![5, 3, 8, 1, 9, 2];
    list.sort_by(|a, b| {
        if n > 0 && *a == 5 {
            nested(n - 1);
        }
        a.cmp(b)
    });
    list[0]
}

struct Guard(u32);

impl Drop for Guard {
    fn drop(&mut self) {
        std::hint::black_box(depth(self.0 % 3, &|| 1));
    }
}

fn fail(n: u32) -> u32 {
    let _guard = Guard(n);
    if n == 0 { panic!("bottom") } else { fail(n - 1) + 1 }
}

fn turn(maps: &mut (HashMap<String, usize>, BTreeMap<usize, String>)) {
    let mut text = String::new();
    std::hint::black_box(depth(40, &|| 3));
    std::hint::black_box(nested(3));
    let _ = panic::catch_unwind(|| fail(6));
    for i in 0..100usize {
        write!(text, "{} {:?} {:.3}", i, Some(i), i as f64 / 7.0).unwrap();
        maps.0.insert(format!("{}", i * 7919 % 101), text.len());
        maps.1.insert(i * 7919 % 101, text.clone());
    }
    std::hint::black_box(maps.1.values().map(|s| s.chars().filter(|c| c.is_alphabetic()).count()).sum::<usize>());
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    std::thread::spawn(|| {
        let mut maps = Default::default();
        loop { turn(&mut maps); }
    });
    let mut maps = Default::default();
    loop {
        turn(&mut maps);
    }
}
