//! The rules of `src/README.md` that a compiler does not check: which room may import which, no import cycles inside a
//! room, where outside crates and `unsafe` may be used, and how a file opens.
//!
//! The house has several crates, whose rooms are told apart by the names of folders alone: `src/base/kernel/` is the room
//! `kernel`. The files are read with `syn`. Paths are found in items, in bodies and in the tokens of macros, and each is resolved
//! through imports and re-exports to the file that defines what it names.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// The rooms from the bottom up: code may use its own room and the rooms before it.
const ROOMS: &[&str] = &[
    "sync",
    "fork",
    "host",
    "memory",
    "dtype",
    "error",
    "stored",
    "shape",
    "array",
    "kernel",
    "linalg",
    "graph",
    "program",
    "ops",
    "engine",
    "transform",
    "nn",
    "optim",
    "io",
    "c",
    "bind",
];

/// The folder of the crate that has several rooms, whose names do not tell of it.
const BASE: &str = "base/";

/// What belongs to no room, among it the crate whose attribute writes paths into `ops`.
const APART: &[&str] = &["macros/", "base/lib.rs", "module/", "c/tests/"];

/// The crates of the house, as paths name them from outside.
const CRATES: &[&str] = &["ferrograd", "ferrograd_base", "ferrograd_linalg"];

/// An outside crate, and the places (files, or folders with a slash) that may name it.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("pyo3", &["bind/"]),
    ("numpy", &["bind/"]),
    ("faer", &["linalg/"]),
    ("rayon", &["kernel/par.rs"]),
    (
        "libc",
        &[
            "fork.rs",
            "memory.rs",
            "array/buffer.rs",
            "kernel/pointwise/machine/executable.rs",
            "bind/python/stack.rs",
        ],
    ),
    ("ndarray", &["array/", "kernel/", "lib.rs"]),
];

/// The places that may contain `unsafe`.
const UNSAFE: &[&str] = &[
    "fork.rs",
    "memory.rs",
    "dtype.rs",
    "kernel/",
    "linalg/",
    "array/",
    "c/",
    "bind/call/arguments.rs",
    "bind/call/shims.rs",
    "bind/convert/dlpack.rs",
    "bind/convert/numpy.rs",
    "bind/python/capi.rs",
    "bind/python/site.rs",
    "bind/python/stack.rs",
    "bind/tensor/buffer.rs",
];

/// A `SAFETY:` comment stands at most this many lines above its `unsafe`.
const SAFETY_LINES: usize = 6;

struct File {
    /// The path below `src/`, with forward slashes.
    path: String,
    /// The path without the folder [`BASE`], where the `lib.rs` of a room is its `mod.rs`.
    name: String,
    text: String,
    /// The names that patterns bind in the file: variables and parameters.
    variables: BTreeSet<String>,
}

impl File {
    fn room(&self) -> &str {
        self.name.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// The path of the file's module: `["ops", "index"]` for `ops/index/mod.rs`.
    fn module(&self) -> Vec<&str> {
        self.name.trim_end_matches(".rs").split('/').filter(|p| *p != "mod" && *p != "lib").collect()
    }

    /// The folder of a `mod.rs`, with a slash at its end.
    fn folder(&self) -> Option<&str> {
        self.name.strip_suffix("mod.rs")
    }

    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|p| if p.ends_with('/') { self.name.starts_with(p) } else { self.name == *p })
    }
}

/// A module: a file, or a `mod { … }` in one. Modules are named by their index in [`Library::modules`].
#[derive(Default)]
struct Module {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// The items and macros defined in it.
    items: BTreeSet<String>,
    /// The names that its `use` declarations bring in, and their paths. A glob import has the name `*`.
    imports: Vec<(String, Vec<String>)>,
}

/// What a mention is written as.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Import,
    /// An import with a visibility, `pub` or `pub(…)`.
    Export,
    Path,
}

/// One path in the code.
struct Mention {
    module: usize,
    line: usize,
    path: Vec<String>,
    form: Form,
    /// Whether it is in a `#[cfg(test)]` module.
    in_tests: bool,
}

/// What a path leads to.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    Module(usize),
    /// An item defined in this file.
    Item(usize),
}

#[derive(Default)]
struct Library {
    files: Vec<File>,
    /// The first is the root of the crate.
    modules: Vec<Module>,
    mentions: Vec<Mention>,
}

/// The importing and the imported file, and the lines of the first that import the second.
type Imports = BTreeMap<(usize, usize), BTreeSet<(usize, String)>>;

impl Library {
    /// The crate made of these files: names below `src/`, and texts.
    fn new(sources: impl IntoIterator<Item = (String, String)>) -> Library {
        let mut library = Library { modules: vec![Module::default()], ..Library::default() };
        for (path, text) in sources {
            let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("src/{path}: {e}"));
            let name = path.strip_prefix(BASE).unwrap_or(&path).replace("/lib.rs", "/mod.rs");
            let file = library.files.len();
            library.files.push(File { path, name, text, variables: BTreeSet::new() });
            let path: Vec<String> = library.files[file].module().into_iter().map(str::to_owned).collect();
            let module = path.iter().fold(0, |parent, name| library.child(parent, name));
            library.modules[module].file = file;
            Reader { library: &mut library, module, in_tests: false }.visit_file(&syntax);
        }
        library
    }

    fn here() -> Library {
        let root = root().join("src");
        let sources = below("src", ".rs").into_iter().map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            (name, fs::read_to_string(&path).unwrap())
        });
        let is_apart = |path: &str| APART.iter().any(|apart| path.starts_with(apart));
        Library::new(sources.filter(|(path, _)| !is_apart(path)))
    }

    /// The child of a module, made where it is not known yet.
    fn child(&mut self, parent: usize, name: &str) -> usize {
        let next = self.modules.len();
        let child = *self.modules[parent].children.entry(name.to_owned()).or_insert(next);
        if child == next {
            self.modules.push(Module { file: self.modules[parent].file, parent, ..Module::default() });
        }
        child
    }

    fn file_of(&self, mention: &Mention) -> &File {
        &self.files[self.modules[mention.module].file]
    }

    fn place(&self, mention: &Mention) -> String {
        format!("src/{}:{}", self.file_of(mention).path, mention.line)
    }

    /// What the path leads to from a module, one target for each kind of thing (type, value, macro) that has the name.
    /// Nothing for a path into another crate.
    fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.walk(module, path, true, &mut Vec::new())
    }

    /// `seen` holds the names being looked up, so that a name which is imported from itself ends.
    fn walk(
        &self,
        module: usize,
        path: &[String],
        first: bool,
        seen: &mut Vec<(usize, String)>,
    ) -> Vec<Target> {
        let Some((name, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        match name.as_str() {
            "crate" => return self.walk(0, rest, false, seen),
            name if first && CRATES.contains(&name) => return self.walk(0, rest, false, seen),
            "self" => return self.walk(module, rest, false, seen),
            "super" => return self.walk(self.modules[module].parent, rest, false, seen),
            _ => {}
        }
        let mut found = Vec::new();
        for target in self.look_up(module, name, seen) {
            match target {
                Target::Module(m) => found.extend(self.walk(m, rest, false, seen)),
                Target::Item(_) => found.push(target),
            }
        }
        if found.is_empty() && !first {
            // An item that a macro makes.
            found.push(Target::Item(self.modules[module].file));
        }
        found
    }

    fn look_up(&self, module: usize, name: &str, seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let this = (module, name.to_owned());
        if seen.contains(&this) {
            return Vec::new();
        }
        seen.push(this);
        let Module { file, children, items, imports, .. } = &self.modules[module];
        let mut found: Vec<Target> = children.get(name).map(|&m| Target::Module(m)).into_iter().collect();
        if items.contains(name) {
            found.push(Target::Item(*file));
        }
        for (_, path) in imports.iter().filter(|i| i.0 == name) {
            found.extend(self.walk(module, path, true, seen));
        }
        if found.is_empty() {
            for (_, path) in imports.iter().filter(|i| i.0 == "*") {
                for target in self.walk(module, path, true, seen) {
                    if let Target::Module(m) = target {
                        found.extend(self.look_up(m, name, seen));
                    }
                }
            }
        }
        seen.pop();
        found
    }

    /// The first name below the root of the crate in a path that begins with `crate`, `self` or `super`.
    fn first_below_root<'a>(&'a self, mention: &'a Mention) -> Option<&'a str> {
        let mut module = mention.module;
        for (i, name) in mention.path.iter().enumerate() {
            match name.as_str() {
                "crate" => module = 0,
                name if i == 0 && CRATES.contains(&name) => module = 0,
                "self" => {}
                "super" => module = self.modules[module].parent,
                _ if i == 0 => return None,
                _ if module == 0 => return Some(name),
                _ => break,
            }
        }
        None
    }

    /// Which file imports which inside a room. Tests do not count, nor does a `mod.rs` that only re-exports what lies in
    /// its folder: whoever uses the re-export imports the file that defines the item.
    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for mention in self.mentions.iter().filter(|m| !m.in_tests) {
            let from = self.modules[mention.module].file;
            let file = &self.files[from];
            let alone = mention.form == Form::Path && mention.path.len() == 1;
            if alone && file.variables.contains(&mention.path[0]) {
                continue;
            }
            let (path, glob) = match mention.path.split_last() {
                Some((last, path)) if last == "*" => (path, true),
                _ => (&mention.path[..], false),
            };
            for target in self.resolve(mention.module, path) {
                let to = match target {
                    Target::Item(file) => file,
                    Target::Module(module) if glob => self.modules[module].file,
                    Target::Module(_) => continue,
                };
                let other = &self.files[to];
                let re_export =
                    mention.form == Form::Export && file.folder().is_some_and(|f| other.name.starts_with(f));
                if to != from && other.room() == file.room() && !re_export {
                    let path = mention.path.join("::");
                    let code = if mention.form == Form::Path { path } else { format!("use {path}") };
                    imports.entry((from, to)).or_default().insert((mention.line, code));
                }
            }
        }
        // Where there is a `use`, the paths that begin with its name say nothing new.
        for lines in imports.values_mut() {
            if lines.iter().any(|l| l.1.starts_with("use ")) {
                lines.retain(|l| l.1.starts_with("use "));
            }
        }
        imports
    }

    /// The import cycles of each room that has some: sets of files that all reach each other, with the lines between them.
    fn cycles(&self) -> BTreeMap<&str, String> {
        let imports = self.imports();
        let reach = |start: usize| {
            let mut reached = BTreeSet::new();
            let mut next = vec![start];
            while let Some(file) = next.pop() {
                let targets = imports.range((file, 0)..(file + 1, 0)).map(|(i, _)| i.1);
                next.extend(targets.filter(|&t| reached.insert(t)));
            }
            reached
        };
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len()).map(reach).collect();
        let mut cycles: BTreeMap<&str, String> = BTreeMap::new();
        for start in 0..self.files.len() {
            let cycle: BTreeSet<usize> =
                reached[start].iter().copied().filter(|&f| reached[f].contains(&start)).collect();
            if cycle.first() != Some(&start) {
                continue;
            }
            let names: Vec<&str> = cycle.iter().map(|&f| self.files[f].name.as_str()).collect();
            let text = cycles.entry(self.files[start].room()).or_default();
            writeln!(text, "a cycle of {} files: {}", names.len(), names.join(", ")).unwrap();
            for ((from, to), lines) in &imports {
                if cycle.contains(from) && cycle.contains(to) {
                    let both = if imports.contains_key(&(*to, *from)) { " (and back)" } else { "" };
                    writeln!(text, "  {} -> {}{both}", self.files[*from].name, self.files[*to].name).unwrap();
                    for (line, code) in lines {
                        writeln!(text, "      {line}: {code}").unwrap();
                    }
                }
            }
        }
        cycles
    }

    fn imports_that_go_up(&self) -> Vec<String> {
        let height = |room: &str| ROOMS.iter().position(|r| *r == room);
        let inside = self.mentions.iter().filter(|m| self.file_of(m).name != "lib.rs");
        let wrong = inside.filter_map(|mention| {
            let room = self.file_of(mention).room();
            let Some(own) = height(room) else {
                return Some(format!("{}: `{room}` is not on the list of rooms", self.place(mention)));
            };
            let name = self.first_below_root(mention)?;
            match height(name) {
                Some(h) if h <= own => None,
                Some(_) => Some(format!("{}: {room} uses {name}", self.place(mention))),
                None => Some(format!("{}: crate::{name}: say which room it is from", self.place(mention))),
            }
        });
        wrong.collect()
    }

    fn outside_crates_out_of_place(&self) -> Vec<String> {
        let wrong = self.mentions.iter().filter_map(|mention| {
            let (name, places) = OUTSIDE.iter().find(|o| o.0 == mention.path[0])?;
            let alone = mention.form == Form::Path && mention.path.len() == 1;
            let ours = alone || !self.resolve(mention.module, &mention.path[..1]).is_empty();
            (!ours && !self.file_of(mention).is_in(places))
                .then(|| format!("{} names {name}", self.place(mention)))
        });
        wrong.collect()
    }

    fn unsafe_out_of_place(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for file in &self.files {
            let lines: Vec<&str> = file.text.lines().collect();
            for (line, needs_reason) in unsafe_words(file.text.parse().unwrap()) {
                if !file.is_in(UNSAFE) {
                    wrong.push(format!("src/{}:{line}: unsafe outside its places", file.path));
                }
                let above = &lines[line.saturating_sub(SAFETY_LINES + 1)..line];
                if needs_reason && !above.iter().any(|l| l.contains("SAFETY:")) {
                    wrong.push(format!("src/{}:{line}: unsafe without a SAFETY line", file.path));
                }
            }
        }
        wrong
    }
}

/// The lines with the word `unsafe`, and whether it begins a block or an `impl`, which need a reason.
fn unsafe_words(tokens: TokenStream) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => found.extend(unsafe_words(group.stream())),
            TokenTree::Ident(word) if word == "unsafe" => {
                let needs_reason = match tokens.peek() {
                    Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
                    Some(TokenTree::Ident(next)) => next == "impl",
                    _ => false,
                };
                found.push((word.span().start().line, needs_reason));
            }
            _ => {}
        }
    }
    found
}

/// The crate in `src/`.
static HERE: LazyLock<Library> = LazyLock::new(Library::here);

/// Reads one file into a [`Library`].
struct Reader<'a> {
    library: &'a mut Library,
    module: usize,
    in_tests: bool,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        &mut self.library.modules[self.module]
    }

    fn mention(&mut self, line: usize, path: Vec<String>, form: Form) {
        let Reader { module, in_tests, .. } = *self;
        self.library.mentions.push(Mention { module, line, path, form, in_tests });
    }

    /// Every path of a `use` tree below a prefix.
    fn read_use(&mut self, tree: &syn::UseTree, prefix: &[String], form: Form) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        let (line, name, path) = match tree {
            syn::UseTree::Path(tree) => return self.read_use(&tree.tree, &with(&tree.ident), form),
            syn::UseTree::Group(tree) => {
                return tree.items.iter().for_each(|tree| self.read_use(tree, prefix, form));
            }
            syn::UseTree::Glob(tree) => {
                let line = tree.star_token.spans[0].start().line;
                self.module().imports.push(("*".to_owned(), prefix.to_vec()));
                return self.mention(line, [prefix, &["*".to_owned()]].concat(), form);
            }
            syn::UseTree::Name(tree) if tree.ident == "self" => {
                let name = prefix.last().cloned().unwrap_or_default();
                (tree.ident.span().start().line, name, prefix.to_vec())
            }
            syn::UseTree::Name(tree) => {
                (tree.ident.span().start().line, tree.ident.to_string(), with(&tree.ident))
            }
            syn::UseTree::Rename(tree) => {
                (tree.ident.span().start().line, tree.rename.to_string(), with(&tree.ident))
            }
        };
        self.module().imports.push((name, path.clone()));
        self.mention(line, path, form);
    }

    /// The paths in the tokens of a macro: all of two names or more, and types (a single name may be a variable).
    fn read_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let punct =
            |i: usize, c: char| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
        let ident = |i: usize| match tokens.get(i) {
            Some(TokenTree::Ident(word)) => Some(word),
            _ => None,
        };
        let mut i = 0;
        while i < tokens.len() {
            let start = i;
            i += 1;
            if let TokenTree::Group(group) = &tokens[start] {
                self.read_tokens(group.stream());
                continue;
            }
            let Some(word) = ident(start) else { continue };
            if word == "use" {
                let end = (start..tokens.len()).find(|&end| punct(end, ';'));
                let item = end.map(|end| tokens[start..=end].iter().cloned().collect());
                if let Some(Ok(item)) = item.map(syn::parse2::<syn::ItemUse>) {
                    self.visit_item_use(&item);
                    i = end.unwrap() + 1;
                }
                continue;
            }
            let mut path = vec![word.to_string()];
            while let (true, true, Some(next)) = (punct(i, ':'), punct(i + 1, ':'), ident(i + 2)) {
                path.push(next.to_string());
                i += 3;
            }
            let before = |n: usize, c: char| start >= n && punct(start - n, c);
            let goes_on = before(1, ':')
                && before(2, ':')
                && start >= 3
                && (ident(start - 3).is_some() || punct(start - 3, '>'));
            let is_field = before(1, '.') && !before(2, '.');
            let is_parameter = before(1, '$') && path[0] != "crate";
            let is_type = path[0].starts_with(char::is_uppercase);
            let is_lifetime = before(1, '\'');
            if !(goes_on || is_field || is_parameter || is_lifetime) && (path.len() > 1 || is_type) {
                self.mention(word.span().start().line, path, Form::Path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(name) = name {
            self.module().items.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = |a: &syn::Attribute| {
            a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|p| p.is_ident("test"))
        };
        if let Some((_, items)) = &item.content {
            let (module, in_tests) = (self.module, self.in_tests);
            self.module = self.library.child(module, &item.ident.to_string());
            self.in_tests |= item.attrs.iter().any(is_test);
            items.iter().for_each(|item| self.visit_item(item));
            (self.module, self.in_tests) = (module, in_tests);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let form = if matches!(item.vis, syn::Visibility::Inherited) { Form::Import } else { Form::Export };
        self.read_use(&item.tree, &[], form);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            let names = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.mention(first.ident.span().start().line, names, Form::Path);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        visit::visit_macro(self, invoked);
        self.read_tokens(invoked.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        self.visit_path(attribute.path());
        if let syn::Meta::List(list) = &attribute.meta {
            self.read_tokens(list.tokens.clone());
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let file = self.module().file;
        self.library.files[file].variables.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

/// Finds loops over registers that are left to the standard library: a build may compile those of its functions that are not
/// marked `#[inline]` apart, for the weakest processor, and then every step of the loop calls one.
struct Registers {
    /// Whether the function that is read has a parameter of the trait `Vector`, or is one of its implementations.
    inside: bool,
    /// The lines, and what stands there.
    found: Vec<(usize, &'static str)>,
}

impl Registers {
    fn of(text: &str) -> Vec<(usize, &'static str)> {
        let mut reader = Registers { inside: false, found: Vec::new() };
        reader.visit_file(&syn::parse_file(text).unwrap());
        reader.found
    }

    fn read(&mut self, inside: bool, visit: impl FnOnce(&mut Registers)) {
        let before = self.inside;
        self.inside |= inside;
        visit(self);
        self.inside = before;
    }

    fn is_over_registers(generics: &syn::Generics) -> bool {
        let is_vector = |bound: &syn::TypeParamBound| match bound {
            syn::TypeParamBound::Trait(bound) => {
                bound.path.segments.last().is_some_and(|s| s.ident == "Vector")
            }
            _ => false,
        };
        generics.type_params().any(|parameter| parameter.bounds.iter().any(is_vector))
    }
}

impl<'ast> Visit<'ast> for Registers {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let inside = Registers::is_over_registers(&item.sig.generics);
        self.read(inside, |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_vector = |path: &syn::Path| path.segments.last().is_some_and(|s| s.ident == "Vector");
        let inside = item.trait_.as_ref().is_some_and(|(path, _)| is_vector(path));
        self.read(inside, |reader| visit::visit_item_impl(reader, item));
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.inside && call.method == "zip" {
            self.found.push((call.method.span().start().line, ".zip"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(last) = path.segments.last().filter(|last| self.inside && last.ident == "from_fn") {
            self.found.push((last.ident.span().start().line, "from_fn"));
        }
        visit::visit_path(self, path);
    }
}

/// The folder of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files with this ending below a folder of the project, sorted.
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
    walk(&root().join(folder), ending, &mut found);
    found.sort();
    found
}

#[test]
fn imports_go_down() {
    let wrong = HERE.imports_that_go_up();
    assert!(wrong.is_empty(), "against the import rule of src/README.md:\n{}", wrong.join("\n"));
}

#[test]
fn rooms_have_no_import_cycles() {
    let cycles = HERE.cycles();
    assert!(cycles.is_empty(), "{}", cycles.into_values().collect::<String>());
}

#[test]
fn outside_crates_have_their_places() {
    let wrong = HERE.outside_crates_out_of_place();
    assert!(wrong.is_empty(), "outside its place:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_has_its_places_and_its_reasons() {
    let wrong = HERE.unsafe_out_of_place();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn loops_over_registers_count() {
    let wrong: Vec<String> = HERE
        .files
        .iter()
        .flat_map(|file| Registers::of(&file.text).into_iter().map(|(line, what)| (&file.path, line, what)))
        .map(|(path, line, what)| format!("src/{path}:{line}: {what} in a function over registers"))
        .collect();
    assert!(wrong.is_empty(), "write a loop by index:\n{}", wrong.join("\n"));
}

#[test]
fn files_open_with_a_sentence() {
    let folders = ["src", "tests", "benches", "examples"];
    let files = folders.iter().flat_map(|f| below(f, ".rs"));
    let wrong: Vec<String> = files
        .filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            !text.starts_with("//! ") && !text.starts_with("#![doc = include_str!")
        })
        .map(|path| path.display().to_string())
        .collect();
    assert!(wrong.is_empty(), "not opened with a sentence (//!):\n{}", wrong.join("\n"));
}

/// Small crates on which the rules above are shown to fail.
mod rules_can_fail {
    use super::{Library, Registers};

    fn library(sources: &[(&str, &str)]) -> Library {
        Library::new(sources.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())))
    }

    /// The first line of the text on the first cycle.
    fn cycle(sources: &[(&str, &str)]) -> Option<String> {
        let library = library(sources);
        let cycles = library.cycles();
        cycles.into_values().next().map(|text| text.lines().next().unwrap().to_owned())
    }

    #[test]
    fn an_import_that_goes_up() {
        let up = |text: &str| library(&[("ops/a.rs", text)]).imports_that_go_up();
        assert!(up("use crate::{graph::{Op, Tensor}, ops::b};").is_empty());
        assert!(up("// crate::bind\nconst A: &str = r#\"crate::bind\"#;").is_empty());
        assert_eq!(up("\nuse crate::{ops::{a, b}, bind};"), ["src/ops/a.rs:2: ops uses bind"]);
        assert_eq!(up("fn f() { super::super::engine::run(super::x) }"), ["src/ops/a.rs:1: ops uses engine"]);
        assert_eq!(up("rows! { x => [1, crate::engine::run(x)]; }"), ["src/ops/a.rs:1: ops uses engine"]);
        assert_eq!(up("m! { use crate::{graph, engine}; }"), ["src/ops/a.rs:1: ops uses engine"]);
        assert_eq!(
            up("macro_rules! m { ($x:expr) => { $crate::bind::f($x) } }"),
            ["src/ops/a.rs:1: ops uses bind"]
        );
        assert_eq!(up("mod inner { use super::super::super::bind; }"), ["src/ops/a.rs:1: ops uses bind"]);
        assert_eq!(up("use crate::Array;"), ["src/ops/a.rs:1: crate::Array: say which room it is from"]);
        let lost = library(&[("attic/a.rs", "use std::fs;")]).imports_that_go_up();
        assert_eq!(lost, ["src/attic/a.rs:1: `attic` is not on the list of rooms"]);
    }

    #[test]
    fn a_cycle_of_two_files() {
        let found = cycle(&[
            ("ops/a.rs", "use super::b::f;\npub fn g() { f() }"),
            ("ops/b.rs", "pub fn f() { crate::ops::a::g() }"),
        ]);
        assert_eq!(found.unwrap(), "a cycle of 2 files: ops/a.rs, ops/b.rs");
    }

    #[test]
    fn a_cycle_through_re_exports_names_the_files_that_define() {
        let sources = [
            ("ops/mod.rs", "mod a; mod b; mod c; pub use a::A; pub use b::*; pub(crate) use c::C as D;"),
            ("ops/a.rs", "use super::B; pub struct A(B);"),
            ("ops/b.rs", "use super::D; pub struct B(D);"),
            ("ops/c.rs", "pub struct C(Box<super::A>);"),
        ];
        assert_eq!(cycle(&sources).unwrap(), "a cycle of 3 files: ops/a.rs, ops/b.rs, ops/c.rs");
        let sources = [sources[0], sources[1], sources[2], ("ops/c.rs", "pub struct C;")];
        assert_eq!(cycle(&sources), None);
    }

    #[test]
    fn a_cycle_with_a_mod_file_that_defines() {
        let own = "mod a; pub struct X; pub const ALL: &[X] = a::ALL;";
        let child = "use super::X; pub const ALL: &[X] = &[];";
        let found = cycle(&[("ops/a.rs", child), ("ops/mod.rs", own)]);
        assert_eq!(found.unwrap(), "a cycle of 2 files: ops/a.rs, ops/mod.rs");
        let own = "mod a; pub struct X; pub use a::ALL; pub fn f(ALL: X) -> X { ALL }";
        assert_eq!(cycle(&[("ops/mod.rs", own), ("ops/a.rs", child)]), None);
    }

    #[test]
    fn a_cycle_through_macros() {
        let found = cycle(&[
            ("ops/a.rs", "macro_rules! rows { () => { $crate::ops::b::f() } }\npub(super) use rows;"),
            ("ops/b.rs", "use super::a::rows; pub fn f() { rows!() }"),
        ]);
        assert_eq!(found.unwrap(), "a cycle of 2 files: ops/a.rs, ops/b.rs");
        let found = cycle(&[
            ("ops/a.rs", "use super::b; rows! { sin [b::cos] }"),
            ("ops/b.rs", "use super::a; fn f() { rows!(vec![a::sin(1)]) }"),
        ]);
        assert_eq!(found.unwrap(), "a cycle of 2 files: ops/a.rs, ops/b.rs");
    }

    #[test]
    fn tests_and_modules_alone_make_no_cycle() {
        let found = cycle(&[
            ("ops/a.rs", "use super::b::f; pub fn g() {}"),
            ("ops/b.rs", "pub fn f() {} #[cfg(test)] mod tests { use super::super::a::g; }"),
        ]);
        assert_eq!(found, None);
        let found =
            cycle(&[("ops/a.rs", "use super::b; pub fn g() { b::f() }"), ("ops/b.rs", "use super::a;")]);
        assert_eq!(found, None);
    }

    #[test]
    fn an_outside_crate_out_of_place() {
        let named = |text: &str| library(&[("ops/a.rs", text)]).outside_crates_out_of_place();
        assert!(named("/// numpy::array\nfn f(numpy: u8) -> u8 { numpy }").is_empty());
        assert!(named("mod numpy { pub fn f() {} } fn g() { numpy::f() }").is_empty());
        assert_eq!(named("\nuse rayon::prelude::*;"), ["src/ops/a.rs:2 names rayon"]);
        assert_eq!(named("use {std::fs, pyo3 as p};"), ["src/ops/a.rs:1 names pyo3"]);
        assert_eq!(named("m! { ::numpy::f() }"), ["src/ops/a.rs:1 names numpy"]);
        assert_eq!(named("#[ndarray::attribute] fn f() {}"), ["src/ops/a.rs:1 names ndarray"]);
    }

    #[test]
    fn a_loop_over_registers_that_does_not_count() {
        let text = "fn f<V: simd::Vector>(x: [V; 4]) {\n    g(|| x.iter().zip(y));\n    std::array::from_fn(|i| x[i]);\n}";
        assert_eq!(Registers::of(text), [(2, ".zip"), (3, "from_fn")]);
        assert_eq!(Registers::of("impl Vector for X { fn f() { from_fn(g); } }"), [(1, "from_fn")]);
        assert!(Registers::of("fn f<V: Field>(x: &[V]) { x.iter().zip(x); }").is_empty());
    }

    #[test]
    fn an_unsafe_out_of_place_or_without_a_reason() {
        let complaints = |name: &str, text: &str| library(&[(name, text)]).unsafe_out_of_place();
        assert!(complaints("array/a.rs", "// SAFETY: sound.\nunsafe impl Send for A {}").is_empty());
        assert!(complaints("ops/a.rs", "/// unsafe {}\nconst A: &str = \"unsafe\";").is_empty());
        assert_eq!(
            complaints("ops/a.rs", "pub unsafe fn f() {}"),
            ["src/ops/a.rs:1: unsafe outside its places"]
        );
        assert_eq!(
            complaints("array/a.rs", "m! {\n    unsafe { f() }\n}"),
            ["src/array/a.rs:2: unsafe without a SAFETY line"]
        );
    }
}
