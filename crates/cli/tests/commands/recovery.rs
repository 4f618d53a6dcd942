//! `packline protect` and `packline repair`: files of any kind come back byte for byte, or stay as they are.

use std::os::unix::fs::PermissionsExt;

use packline_testkit::{Random, Sandbox};
use serde_json::Value;

use crate::sandbox;

fn with_file(bytes: usize) -> (Sandbox, Vec<u8>) {
    let (sandbox, content) = (sandbox(), Random::new(23).noise(bytes));
    sandbox.write("f", &content);
    (sandbox, content)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn a_damaged_file_is_repaired_in_place_with_its_attributes() {
    let (sandbox, content) = with_file(300_000);
    std::fs::set_permissions(sandbox.at("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.good(&["protect", "-q", "f"]);
    for workers in ["0", "1", "2"] {
        sandbox.good(&["protect", "-q", "-j", workers, "--mem", "64M", "-o", "again", "-f", "f"]);
        assert!(sandbox.read("again") == sandbox.read("f.recovery"));
    }
    let mut damaged = content.clone();
    damaged[123_456] ^= 1;
    damaged.splice(1000..1000, *b"inserted");
    sandbox.write("f", &damaged);
    let found = sandbox.run(&["verify", "--json", "f"]);
    assert_eq!((found.status, &json(&found.text())["can_be_repaired"]), (1, &Value::from(true)));
    let repaired = json(&sandbox.good(&["repair", "--json", "f"]).text());
    assert!(repaired["lost_shards"] == 2 || repaired["lost_shards"] == 1, "{repaired}");
    assert!(sandbox.read("f") == content);
    assert_eq!(sandbox.at("f").metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(json(&sandbox.good(&["repair", "--json", "f"]).text())["whole"] == true);
}

#[test]
fn nothing_changes_where_too_much_is_lost() {
    let (sandbox, content) = with_file(300_000);
    sandbox.good(&["protect", "-q", "--redundancy", "1%", "f"]);
    let damaged = &content[..200_000];
    sandbox.write("f", damaged);
    let refused = sandbox.bad(1, &["repair", "f"]);
    assert!(refused.contains("of 147 shards of 2048 bytes are lost, and 2 can be repaired"), "{refused}");
    assert!(sandbox.read("f") == damaged);
    sandbox.bad(1, &["repair", "-o", "out", "f"]);
    sandbox.write("f.recovery", &content[..5000]);
    let refused = sandbox.bad(1, &["repair", "f"]);
    assert!(refused.contains("f.recovery: there is no recovery data in it"), "{refused}");
    assert!(!sandbox.at("out").exists() && sandbox.read("f") == damaged);
}

#[test]
fn outputs_are_files_or_streams() {
    let (sandbox, content) = with_file(50_000);
    sandbox.good(&["protect", "-q", "f"]);
    let streamed = sandbox.good(&["protect", "-o", "-", "f"]);
    assert!(streamed.stdout == sandbox.read("f.recovery"));
    let mut damaged = content.clone();
    damaged[1] ^= 1;
    sandbox.write("f", &damaged);
    sandbox.good(&["repair", "-q", "-o", "g", "f"]);
    assert!(sandbox.good(&["repair", "-o", "-", "f"]).stdout == content);
    assert!(sandbox.read("g") == content && sandbox.read("f") == damaged);
    sandbox.bad(1, &["repair", "-o", "g", "f"]);
    sandbox.good(&["repair", "-q", "-f", "-o", "g", "--recovery", "f.recovery", "f"]);
}
