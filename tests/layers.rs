//! The house rules of `src/README.md` that a compiler does not hold: who may import whom, where the outside crates and
//! `unsafe` live, how long a file is, and how it opens.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms by height: code may use its own room and every room of a smaller number.
const ROOMS: &[(&str, usize)] = &[
    ("dtype", 0),
    ("error", 1),
    ("shape", 2),
    ("array", 3),
    ("kernel", 4),
    ("graph", 5),
    ("ops", 6),
    ("engine", 7),
    ("transform", 8),
    ("bind", 9),
];

/// An outside crate, and the places (files, or folders with a slash) that may name it.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("pyo3", &["bind/"]),
    ("numpy", &["bind/"]),
    ("rayon", &["kernel/par.rs"]),
    ("ndarray", &["array/", "kernel/"]),
];

const UNSAFE: &[&str] = &[
    "kernel/",
    "array/",
    "bind/buffer.rs",
    "bind/convert.rs",
    "bind/dlpack.rs",
    "bind/entry.rs",
    "bind/site.rs",
];

const CEILING: usize = 400;

/// A source file of `src/`.
struct File {
    /// Its path below `src/`, with forward slashes.
    name: String,
    text: String,
    /// The text with the insides of comments and literals blanked, line by line.
    code: Vec<String>,
}

impl File {
    fn room(&self) -> &str {
        self.name.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// How many `super::` lead from the file's module to the root of the crate.
    fn depth(&self) -> usize {
        let parts = self.name.trim_end_matches(".rs").split('/').filter(|p| *p != "mod" && *p != "lib");
        parts.count()
    }

    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|p| if p.ends_with('/') { self.name.starts_with(p) } else { self.name == *p })
    }
}

fn below(folder: &str, ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, ending, found);
            } else if path.to_str().is_some_and(|p| p.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), ending, &mut found);
    found.sort();
    found
}

fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        File { code: blanked(&text).lines().map(str::to_owned).collect(), name, text }
    };
    below("src", ".rs").into_iter().map(file).collect()
}

/// The text with comments and the insides of literals as blanks, so that words in it are code.
fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while i < chars.len() {
        let rest = &chars[i..];
        let end = literal(rest).map_or(i + 1, |n| i + n);
        if end == i + 1 {
            out.push(chars[i]);
        } else {
            out.extend(chars[i..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
        }
        i = end;
    }
    out
}

/// The length of the comment, string or character that the text begins with.
fn literal(rest: &[char]) -> Option<usize> {
    let find = |from: usize, end: &str| {
        let end: Vec<char> = end.chars().collect();
        (from..rest.len()).find(|&i| rest[i..].starts_with(&end)).map_or(rest.len(), |i| i + end.len())
    };
    match rest {
        ['/', '/', ..] => Some(find(2, "\n") - 1),
        ['/', '*', ..] => Some(find(2, "*/")),
        ['r', '"' | '#', ..] => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            (rest.get(1 + hashes) == Some(&'"'))
                .then(|| find(2 + hashes, &format!("\"{}", "#".repeat(hashes))))
        }
        ['"', ..] => {
            let mut i = 1;
            while i < rest.len() && rest[i] != '"' {
                i += if rest[i] == '\\' { 2 } else { 1 };
            }
            Some((i + 1).min(rest.len()))
        }
        ['\'', '\\', ..] => Some(find(3, "'")),
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

/// The words of a line of code, each with what follows it.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = line.char_indices().filter(move |&(i, c)| is_word(c) && !line[..i].ends_with(is_word));
    starts.map(move |(i, _)| {
        let end = line[i..].find(|c| !is_word(c)).map_or(line.len(), |n| i + n);
        (&line[i..end], &line[end..])
    })
}

/// The names that a path reaches at the root of the crate: `crate::ops`, `super::super::ops`, `crate::{ops, graph}`.
fn reached(code: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut take = |rest: &str| {
        let first = |part: &str| words(part).next().map(|(w, _)| w.to_owned());
        let Some(rest) = rest.strip_prefix("::") else { return };
        if let Some(group) = rest.strip_prefix('{') {
            let mut level = 0;
            let mut start = 0;
            for (i, c) in group.char_indices() {
                match c {
                    '{' => level += 1,
                    '}' if level > 0 => level -= 1,
                    ',' | '}' if level == 0 => {
                        found.extend(first(&group[start..i]));
                        start = i + 1;
                        if c == '}' {
                            break;
                        }
                    }
                    _ => {}
                }
            }
        } else {
            found.extend(first(rest));
        }
    };
    for (word, rest) in words(code) {
        match word {
            "crate" => take(rest),
            "super" => {
                let ups = 1 + rest.split("::").skip(1).take_while(|w| *w == "super").count();
                if ups >= depth {
                    take(&rest["::super".len() * (ups - 1)..]);
                }
            }
            _ => {}
        }
    }
    found
}

fn height(room: &str) -> Option<usize> {
    ROOMS.iter().find(|r| r.0 == room).map(|r| r.1)
}

#[test]
fn imports_go_down() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|f| f.name != "lib.rs") {
        let Some(own) = height(file.room()) else {
            wrong.push(format!("src/{}: its room is not on the list", file.name));
            continue;
        };
        let inside_macro = |name: &str| name == "crate" || name == "self";
        for name in reached(&file.code.join("\n"), file.depth()) {
            match height(&name) {
                Some(h) if name == file.room() || h < own => {}
                Some(_) => wrong.push(format!("src/{} uses {name}", file.name)),
                None if inside_macro(&name) || name.chars().next().is_some_and(char::is_lowercase) => {}
                None => {
                    wrong.push(format!("src/{} uses crate::{name}: say which room it is from", file.name))
                }
            }
        }
    }
    assert!(wrong.is_empty(), "against the import rule of src/README.md:\n{}", wrong.join("\n"));
}

#[test]
fn the_import_rule_can_fail() {
    assert_eq!(reached("use crate::{ops::{a, b}, bind};", 2), ["ops", "bind"]);
    assert_eq!(reached("super::super::engine::run(super::x)", 2), ["engine"]);
    assert_eq!(reached("use super::engine;", 1), ["engine"]);
    assert!(
        blanked("a // crate::bind\n\"crate::bind\" 'x' r#\"crate::b\"# '\\n'").split("bind").count() == 1
    );
}

#[test]
fn outside_crates_have_their_places() {
    let mut wrong = Vec::new();
    for file in files() {
        for (n, line) in file.code.iter().enumerate() {
            for (word, rest) in words(line) {
                let Some((name, places)) = OUTSIDE.iter().find(|o| o.0 == word) else { continue };
                if rest.starts_with("::") && !line.contains(&format!("::{name}::")) && !file.is_in(places) {
                    wrong.push(format!("src/{}:{} names {name}", file.name, n + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "outside its place:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_has_its_places_and_its_reasons() {
    let mut wrong = Vec::new();
    for file in files() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (n, line) in file.code.iter().enumerate() {
            let Some((_, rest)) = words(line).find(|w| w.0 == "unsafe") else { continue };
            if !file.is_in(UNSAFE) {
                wrong.push(format!("src/{}:{}: unsafe outside its rooms", file.name, n + 1));
            }
            let block = rest.trim_start().starts_with('{') || rest.trim_start().starts_with("impl");
            let before = &lines[n.saturating_sub(6)..=n];
            if block && !before.iter().any(|l| l.contains("SAFETY:")) {
                wrong.push(format!("src/{}:{}: unsafe without a SAFETY line", file.name, n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_rooms() {
    let mut wrong = Vec::new();
    let folders = ["src", "python", "tests", "benches", "examples"];
    for path in folders.iter().flat_map(|f| below(f, ".rs").into_iter().chain(below(f, ".py"))) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        if lines > CEILING {
            wrong.push(format!("{}: {lines} lines", path.display()));
        }
        let opens = text.starts_with("//! ") || text.starts_with("#![doc = include_str!");
        if path.extension().is_some_and(|e| e == "rs") && !opens {
            wrong.push(format!("{}: does not open with a sentence (//!)", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
