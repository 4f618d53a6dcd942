//! Translates command lines of squashfs-tools, whose long options have one hyphen.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

/// Returns the words for clap: `-comp xz` becomes `--comp=xz`. clap rejects a word that is not an option of the command, or takes it as
/// an operand. If operands end the options (`trailing_var_arg`), all words from the first operand on are operands.
pub fn with_two_hyphens(parser: &Command, words: &[OsString]) -> Vec<OsString> {
    let mut typed = Vec::new();
    let operands_end = parser.get_positionals().any(Arg::is_trailing_var_arg_set);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some((name, argument)) = option_of(parser, word) else {
            if operands_end && !word.as_encoded_bytes().starts_with(b"-") {
                typed.push(OsString::from("--"));
                typed.push(word.clone());
                typed.extend(words.cloned());
                break;
            }
            typed.push(if is_unknown(word) { [OsStr::new("-"), word].into_iter().collect() } else { word.clone() });
            continue;
        };
        let mut option = OsString::from(format!("--{name}"));
        let values = argument.get_num_args().filter(|_| argument.get_action().takes_values());
        match values.map(|values| values.max_values()) {
            Some(1) => {
                if let Some(value) = words.next() {
                    option.push("=");
                    option.push(value);
                }
                typed.push(option);
            }
            // The values are the words up to the terminator, or all following words.
            Some(_) => {
                typed.push(option);
                let end = argument.get_value_terminator().map(|end| OsStr::new(end.as_str()));
                for value in words.by_ref() {
                    typed.push(value.clone());
                    if Some(value.as_os_str()) == end {
                        break;
                    }
                }
            }
            None => typed.push(option),
        }
    }
    typed
}

/// Returns whether a word looks like a long option with one hyphen; clap would parse it as a cluster of short options.
fn is_unknown(word: &OsStr) -> bool {
    matches!(word.as_encoded_bytes(), [b'-', second, _, ..] if *second != b'-')
}

/// Returns the option whose complete name follows one hyphen.
pub fn option_of<'w, 'p>(parser: &'p Command, word: &'w OsStr) -> Option<(&'w str, &'p Arg)> {
    let name = word.to_str()?.strip_prefix('-')?;
    let has = |argument: &&Arg| {
        argument.get_long() == Some(name) || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    };
    Some((name, parser.get_arguments().find(has)?))
}

#[cfg(test)]
mod tests {
    use clap::ArgAction;

    use super::*;

    #[test]
    fn adds_second_hyphen_and_joins_values() {
        let flag = Arg::new("noappend").long("noappend").action(ArgAction::SetTrue);
        let one = Arg::new("comp").long("comp").alias("c");
        let rest = Arg::new("e").long("e").num_args(1..);
        let parser = Command::new("x").arg(flag).arg(one).arg(rest);
        let line = |parser: &Command, text: &str| {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            let mut parser = parser.clone();
            parser.build();
            with_two_hyphens(&parser, &words).join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(line(&parser, "a - -noappend -comp -9"), "a - --noappend --comp=-9");
        assert_eq!(line(&parser, "-c xz -nonesuch -comp"), "--c=xz --nonesuch --comp");
        assert_eq!(line(&parser, "a -e b -noappend"), "a --e b -noappend");
        let parser = parser.clone().arg(Arg::new("image")).arg(Arg::new("rest").num_args(0..).trailing_var_arg(true));
        assert_eq!(line(&parser, "-noappend a -noappend - b"), "--noappend -- a -noappend - b");
    }
}
