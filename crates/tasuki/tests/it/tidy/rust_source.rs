//! A Rust file split into its code and its string literals, so that a rule about code is not
//! fooled by a comment and a rule about text is not fooled by code. It is a scanner, not a parser:
//! it knows comments, strings, characters and braces, and no grammar beyond them.

/// The longest prefix in front of a quote is the two letters of `br"` and `cr"`.
const PREFIX_MAX: usize = 2;

pub(super) struct RustSource {
    /// The file with comments and the insides of literals blanked: same lines, same columns.
    pub(super) code: String,
    pub(super) literals: Vec<Literal>,
    /// The first line of the inline test module, or a line that no file reaches.
    pub(super) tests_from: usize,
}

pub(super) struct Literal {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) last_line: usize,
    /// Where its opening quote is in the code.
    pub(super) at: usize,
    pub(super) is_raw: bool,
}

pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) last_line: usize,
}

impl RustSource {
    pub(super) fn new(text: &str) -> RustSource {
        let mut scan = Scan {
            rest: text,
            code: String::with_capacity(text.len()),
            literals: Vec::new(),
            line: 1,
        };
        scan.run();
        let tests_from = tests_from(&scan.code);
        RustSource { code: scan.code, literals: scan.literals, tests_from }
    }

    /// The code in front of a literal, which says what the literal is for.
    pub(super) fn before(&self, literal: &Literal) -> &str {
        self.code[..literal.at].trim_end()
    }

    pub(super) fn is_inside_raw_literal(&self, line: usize) -> bool {
        let spans = |literal: &Literal| {
            literal.is_raw
                && literal.line < literal.last_line
                && (literal.line..=literal.last_line).contains(&line)
        };
        self.literals.iter().any(spans)
    }

    /// Every function that has a body, in the order in which the bodies end.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        let mut open: Vec<(usize, Function)> = Vec::new();
        let mut signature: Option<Function> = None;
        let (mut line, mut depth, mut nesting) = (1, 0_usize, 0_usize);
        for (at, character) in self.code.char_indices() {
            match character {
                '\n' => line += 1,
                '(' | '[' => nesting += 1,
                ')' | ']' => nesting = nesting.saturating_sub(1),
                ';' if nesting == 0 => signature = None,
                '{' => {
                    depth += 1;
                    if let Some(function) = signature.take() {
                        open.push((depth, function));
                    }
                }
                '}' => {
                    if let Some((_, function)) = open.pop_if(|(body, _)| *body == depth) {
                        found.push(Function { last_line: line, ..function });
                    }
                    depth = depth.saturating_sub(1);
                }
                'f' => {
                    if let Some(name) = function_name(&self.code, at) {
                        signature = Some(Function { name, line, last_line: line });
                        nesting = 0;
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Whether `word` stands at `at` as a word of its own, not as a part of a longer one.
pub(super) fn stands_alone(code: &str, at: usize, word: &str) -> bool {
    let is_joined = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(is_name) && outer.is_some_and(is_name)
    };
    let before = code[..at].chars().next_back();
    let after = code[at + word.len()..].chars().next();
    !is_joined(word.chars().next(), before) && !is_joined(word.chars().next_back(), after)
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The name after a `fn` at `at`; a function pointer has none.
fn function_name(code: &str, at: usize) -> Option<String> {
    let rest = code[at..].strip_prefix("fn")?;
    let name = rest.trim_start();
    let name: String = name.chars().take_while(|c| is_name(*c)).collect();
    (stands_alone(code, at, "fn") && !name.is_empty()).then_some(name)
}

/// A `#[cfg(test)]` on anything but an inline module covers that one item, which stays code.
fn tests_from(code: &str) -> usize {
    let attribute = "#[cfg(test)]";
    for (at, _) in code.match_indices(attribute) {
        let mut item = code[at + attribute.len()..].trim_start();
        while item.starts_with("#[") {
            item = item.split_once(']').map_or("", |(_, rest)| rest.trim_start());
        }
        let head = item.split(['{', ';']).next().unwrap_or_default();
        let is_module = head.split_whitespace().any(|word| word == "mod");
        if is_module && item[head.len()..].starts_with('{') {
            return 1 + code[..at].matches('\n').count();
        }
    }
    usize::MAX
}

struct Scan<'a> {
    rest: &'a str,
    code: String,
    literals: Vec<Literal>,
    line: usize,
}

impl Scan<'_> {
    fn run(&mut self) {
        while !self.rest.is_empty() {
            if self.rest.starts_with("//") {
                self.blank(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.blank(block_comment(self.rest));
            } else if self.rest.starts_with('\'') {
                self.blank(character_literal(self.rest).unwrap_or(1));
            } else if let Some(prefix) = self.string_prefix() {
                self.string(prefix);
            } else {
                let word = self.rest.chars().take_while(|c| is_name(*c)).map(char::len_utf8).sum();
                let first = self.rest.chars().next().map_or(0, char::len_utf8);
                self.keep(first.max(word));
            }
        }
    }

    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length);
        self.line += kept.matches('\n').count();
        self.code.push_str(kept);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (blanked, rest) = self.rest.split_at(length);
        self.line += blanked.matches('\n').count();
        self.code.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    /// How much of the rest is in front of a string's text, if a string begins here.
    fn string_prefix(&self) -> Option<Prefix> {
        let letters = self.rest.chars().take_while(char::is_ascii_alphabetic).count();
        let is_raw = self.rest[..letters].ends_with('r');
        let hashes = self.rest[letters..].chars().take_while(|c| *c == '#').count();
        let known = matches!(&self.rest[..letters], "" | "b" | "c" | "r" | "br" | "cr");
        let opens = self.rest[letters + hashes..].starts_with('"');
        let is_string = letters <= PREFIX_MAX && known && opens && (is_raw || hashes == 0);
        is_string.then_some(Prefix { letters, hashes, is_raw })
    }

    fn string(&mut self, prefix: Prefix) {
        self.keep(prefix.letters + prefix.hashes);
        let at = self.code.len();
        let line = self.line;
        self.keep(1);
        let length = if prefix.is_raw {
            let end = format!("\"{}", "#".repeat(prefix.hashes));
            self.rest.find(&end).unwrap_or(self.rest.len())
        } else {
            string_length(self.rest)
        };
        let text = self.rest[..length].to_owned();
        self.blank(length);
        let last_line = self.line;
        self.literals.push(Literal { text, line, last_line, at, is_raw: prefix.is_raw });
        self.keep((1 + prefix.hashes).min(self.rest.len()));
    }
}

struct Prefix {
    letters: usize,
    hashes: usize,
    is_raw: bool,
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a character literal, or nothing for a lifetime.
fn character_literal(text: &str) -> Option<usize> {
    let inner = &text[1..];
    let first = inner.chars().next()?;
    let shortest =
        if first == '\\' { 1 + inner[1..].chars().next()?.len_utf8() } else { first.len_utf8() };
    if first == '\\' {
        return Some(1 + shortest + inner[shortest..].find('\'')? + 1);
    }
    inner[shortest..].starts_with('\'').then_some(1 + shortest + 1)
}

#[test]
fn comments_and_literals_are_not_code() {
    let source = RustSource::new(concat!(
        "let a = \"x { // y\"; // }\n",
        "/* { /* } */ */ let b: &'a str = r#\"two\n\"lines\"\"#;\n",
        "let c = ['{', '\\'', '\\u{7b}', b'{']; let d = br\"z\";\n",
    ));
    let code: Vec<&str> = source.code.lines().map(str::trim).collect();
    assert_eq!(code[0], "let a = \"        \";");
    assert!(code[1].starts_with("let b: & a str = r#\""), "{}", code[1]);
    assert!(!source.code.contains(['{', '}']), "{}", source.code);
    let texts: Vec<&str> = source.literals.iter().map(|literal| &*literal.text).collect();
    assert_eq!(texts, ["x { // y", "two\n\"lines\"", "z"]);
    assert!(source.is_inside_raw_literal(3) && !source.is_inside_raw_literal(1));
}

#[test]
fn functions_are_measured_from_their_name_to_their_last_brace() {
    let source = RustSource::new(concat!(
        "trait T { fn open(&self) -> [u8; 4]; }\n",
        "fn outer(f: fn(u8) -> u8) {\n    fn inner() {\n        if x { y }\n    }\n}\n",
    ));
    let functions = source.functions();
    let spans: Vec<_> = functions.iter().map(|f| (&*f.name, f.line, f.last_line)).collect();
    assert_eq!(spans, [("inner", 3, 5), ("outer", 2, 6)]);
}

#[test]
fn only_an_inline_module_begins_the_tests() {
    let begins = |text: &str| RustSource::new(text).tests_from;
    assert_eq!(begins("fn f() {}\n#[cfg(test)]\nmod tests {\n}\n"), 2);
    assert_eq!(begins("#[cfg(test)]\n#[expect(x)]\npub(crate) mod t {\n}\n"), 1);
    assert_eq!(begins("#[cfg(test)]\nmod tests;\nfn f() {}\n"), usize::MAX);
    assert_eq!(begins("#[cfg(test)]\nuse x;\nmod y {}\n"), usize::MAX);
}
