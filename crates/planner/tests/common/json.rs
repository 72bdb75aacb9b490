//! A reader of JSON, as far as EXPLAIN prints it.

#[derive(Debug)]
pub enum Json {
    Text(String),
    /// Numbers, `true`, `false` and `null`, as they are written.
    Word(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// # Panics
    /// If the text is no JSON.
    pub fn parse(text: &str) -> Json {
        let mut rest = text.trim();
        let value = value(&mut rest);
        assert!(rest.trim().is_empty(), "more than one value: {rest}");
        value
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(pairs) => pairs.iter().find(|p| p.0 == key).map(|p| &p.1),
            _ => None,
        }
    }

    /// The value as text; of a list its values, separated by commas; nothing if the key is not there.
    pub fn text(&self, key: &str) -> String {
        fn of(v: &Json) -> String {
            match v {
                Json::Text(t) | Json::Word(t) => t.clone(),
                Json::List(l) => l.iter().map(of).collect::<Vec<_>>().join(","),
                Json::Object(_) => "{}".into(),
            }
        }
        self.get(key).map_or(String::new(), of)
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.text(key) == "true"
    }
}

fn eat(rest: &mut &str, token: char) -> bool {
    *rest = rest.trim_start();
    match rest.strip_prefix(token) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn value(rest: &mut &str) -> Json {
    if eat(rest, '{') {
        let mut pairs = vec![];
        while !eat(rest, '}') {
            assert!(pairs.is_empty() || eat(rest, ','), "no comma before {rest:.40}");
            let Json::Text(key) = value(rest) else { panic!("a key that is no text before {rest:.40}") };
            assert!(eat(rest, ':'), "no colon before {rest:.40}");
            pairs.push((key, value(rest)));
        }
        return Json::Object(pairs);
    }
    if eat(rest, '[') {
        let mut list = vec![];
        while !eat(rest, ']') {
            assert!(list.is_empty() || eat(rest, ','), "no comma before {rest:.40}");
            list.push(value(rest));
        }
        return Json::List(list);
    }
    if eat(rest, '"') {
        let mut text = String::new();
        let mut chars = rest.char_indices();
        loop {
            let (i, c) = chars.next().expect("a text ends");
            match c {
                '"' => {
                    *rest = &rest[i + 1..];
                    return Json::Text(text);
                }
                '\\' => match chars.next().expect("an escape goes on").1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    c => text.push(c),
                },
                c => text.push(c),
            }
        }
    }
    let end = rest.find([',', '}', ']', '\n']).unwrap_or(rest.len());
    let word = rest[..end].trim().to_string();
    assert!(!word.is_empty(), "no value before {rest:.40}");
    *rest = &rest[end..];
    Json::Word(word)
}
