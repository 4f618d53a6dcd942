//! Declarations of a header, without comments.

/// A declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declaration {
    /// A type whose content is not declared.
    Handle(String),
    Struct {
        name: String,
        fields: Vec<String>,
    },
    Constants(Vec<String>),
    /// The type of a callback: its name and its declaration.
    Callback {
        name: String,
        text: String,
    },
    Function {
        name: String,
        text: String,
    },
}

/// Parses a header that cbindgen makes.
pub fn parse(header: &str) -> Vec<Declaration> {
    let code = uncommented(header);
    let code: Vec<&str> = code.lines().filter(|line| !line.starts_with('#')).collect();
    let code = code.join("\n").replace("extern \"C\" {", "").replace("}  // extern \"C\"", "");
    statements(&code).iter().map(|statement| declaration(statement)).collect()
}

fn uncommented(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| code + part.split_once("*/").unwrap().1)
}

/// Statements that end with a semicolon outside of braces, with single spaces.
fn statements(code: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut depth = 0;
    for letter in code.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ';' if depth == 0 => statements.push(String::new()),
            letter => statements.last_mut().unwrap().push(letter),
        }
    }
    let spaced = statements.iter().map(|statement| spaced(statement));
    spaced.filter(|statement| !statement.is_empty() && statement != "}").collect()
}

/// The text with single spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(")
}

fn declaration(statement: &str) -> Declaration {
    if let Some(rest) = statement.strip_prefix("typedef enum {") {
        let (body, _) = rest.split_once('}').unwrap();
        return Declaration::Constants(body.split(',').map(spaced).filter(|constant| !constant.is_empty()).collect());
    }
    if let Some(rest) = statement.strip_prefix("typedef struct ") {
        let Some((_, rest)) = rest.split_once('{') else {
            return Declaration::Handle(rest.split(' ').next_back().unwrap().to_owned());
        };
        let (body, name) = rest.rsplit_once('}').unwrap();
        let fields = body.split(';').map(spaced).filter(|field| !field.is_empty()).collect();
        return Declaration::Struct { name: spaced(name), fields };
    }
    if let Some(text) = statement.strip_prefix("typedef ") {
        let (_, rest) = text.split_once("(*").unwrap();
        let name = rest.split(')').next().unwrap().to_owned();
        return Declaration::Callback { name, text: text.to_owned() };
    }
    let before = statement.split('(').next().unwrap();
    let name = before.split([' ', '*']).next_back().unwrap().to_owned();
    Declaration::Function { name, text: statement.to_owned() }
}

/// The name of a field.
pub fn field_name(field: &str) -> &str {
    let declarator = field.split_once("(*").map_or(field, |(_, rest)| rest.split(')').next().unwrap());
    declarator.split([' ', '*']).next_back().unwrap()
}

#[test]
fn each_kind_of_declaration_is_read() {
    let header = "#ifdef X\nextern \"C\" {\n#endif\n/* a; */ typedef enum {\n A = 1,\n /* b */ B = 2,\n} kind;\ntypedef struct h h;\n\
                  typedef struct {\n  int *a;\n int (*f)(int x);\n} s;\ntypedef int (*f)(int a);\nconst char *name(const h *x,\n     int y);\n\
                  #ifdef X\n}  // extern \"C\"\n#endif\n";
    let [constants, handle, fields, callback, function] = parse(header).try_into().unwrap();
    assert_eq!(constants, Declaration::Constants(vec!["A = 1".into(), "B = 2".into()]));
    assert_eq!(handle, Declaration::Handle("h".into()));
    assert_eq!(
        fields,
        Declaration::Struct { name: "s".into(), fields: vec!["int *a".into(), "int (*f)(int x)".into()] }
    );
    assert_eq!(["int *a", "int (*f)(int x)"].map(field_name), ["a", "f"]);
    assert_eq!(callback, Declaration::Callback { name: "f".into(), text: "int (*f)(int a)".into() });
    assert_eq!(
        function,
        Declaration::Function { name: "name".into(), text: "const char *name(const h *x, int y)".into() }
    );
}
