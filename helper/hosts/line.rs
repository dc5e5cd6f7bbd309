//! What another host is told to run. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Reads the words, finds the helper on the other host, whose PATH for such commands is often poor, and becomes it. It holds nothing of
/// the user's words, and no character that any shell reads inside single quotes. (`x` keeps line breaks at a word's end.)
const FIND: &str = concat!(
    r#"for a; do w=$(printf "%bx" "$a"); shift; set -- "$@" "${w%x}"; done; "#,
    r#"for s in "$(command -v sidecar)" "$HOME/.local/bin/sidecar" "$HOME/.tmux/plugins/sidecar.tmux/bin/sidecar" "#,
    r#""${XDG_CONFIG_HOME:-$HOME/.config}/tmux/plugins/sidecar.tmux/bin/sidecar" "#,
    r#""${CARGO_HOME:-$HOME/.cargo}/bin/sidecar"; "#,
    r#"do if [ -f "$s" ] && [ -x "$s" ]; then exec "$s" "$@"; fi; done; "#,
    r#"echo "error: sidecar is not installed there: neither on PATH nor in ~/.local/bin nor with the plugin" >&2; exit 127"#
);

/// The line for the other host's login shell.
pub fn remote_line(words: &[OsString]) -> OsString {
    let mut line = b"exec /bin/sh -c ".to_vec();
    let words = words.iter().map(|word| encoded(word.as_bytes()));
    for word in [FIND.into(), b"sidecar".to_vec()].into_iter().chain(words) {
        line.extend([b"'", &word[..], b"' "].concat());
    }
    line.pop();
    OsString::from_vec(line)
}

/// A word, whatever stands in it, without what means anything to some shell inside single quotes: a backslash (fish), `!` and a line
/// break (csh), a quote. They, and all that is no printable ASCII, become `\0OOO`, which `printf %b` reads.
fn encoded(word: &[u8]) -> Vec<u8> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !b"'\\!".contains(&byte);
    let encode = |&byte: &u8| if plain(byte) { vec![byte] } else { format!("\\0{byte:03o}").into_bytes() };
    word.iter().flat_map(encode).collect()
}

/// What remains for the other host of this call's words, behind the program's name: all but the options before the command that name
/// the hosts. The command line was read before, so each option has its value.
pub fn remote_words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"--host" | b"--host-timeout" => drop(words.next()),
            own if own.starts_with(b"--host=") || own.starts_with(b"--host-timeout=") => {}
            b"-L" | b"-S" => {
                kept.push(word);
                kept.extend(words.next());
            }
            other => {
                let is_command = !other.starts_with(b"-");
                kept.push(word);
                if is_command {
                    kept.extend(words.by_ref());
                }
            }
        }
    }
    kept
}

/// Whether ssh may be given this as a destination. It comes into the user's own configuration (`ProxyCommand … %h`), which a shell
/// reads, and before that ssh must not take it for an option.
pub fn is_host(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-._@:%[]/+~".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_hosts_alone_are_left_out_and_only_before_the_command() {
        for (all, kept) in [
            ("--host a session status", "session status"),
            ("--host a --host=b -L work --host-timeout 5 shell list --all", "-L work shell list --all"),
            ("-L --host --host b shell list", "-L --host shell list"),
            ("-Swork/x --host b shell list", "-Swork/x shell list"),
            ("--host a shell send --target x --run --host", "shell send --target x --run --host"),
        ] {
            assert_eq!(remote_words(words(all)), words(kept), "{all}");
        }
    }

    #[test]
    fn a_host_is_no_option_and_holds_nothing_that_a_shell_reads() {
        for good in ["web", "me@web-1.example.com", "10.0.0.1", "[::1]", "fe80::1%eth0", "ssh://me@web:22/", "böx"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", "-oProxyCommand=x", "a b", "$(x)", "a;b", "a`b`", "a\nb", "a'b", "a|b", "a&b", "a\"b"] {
            assert!(!is_host(bad), "{bad}");
        }
    }

    #[test]
    fn the_fixed_part_is_one_word_to_any_shell() {
        assert!(!FIND.contains(['\'', '\\', '\n', '!']));
        let line = remote_line(&words("it's"));
        assert!(line.to_str().unwrap().ends_with(r"127' 'sidecar' 'it\0047s'"), "{line:?}");
    }
}
