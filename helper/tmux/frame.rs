//! Rows of fields out of tmux, framed so that no name, title or path can forge a row.
//!
//! Names hold any separator, and some versions print a control character as an escape. So each call makes a random mark
//! of plain characters, after every name was chosen: nobody can have put it into one.

use super::client::Failure;

/// One call's mark.
pub(super) struct Frame {
    mark: String,
}

impl Frame {
    /// A fresh mark.
    pub(super) fn new() -> Result<Self, Failure> {
        let number = getrandom::u64().map_err(|error| Failure::Other(format!("no random bytes: {error}")))?;
        Ok(Self { mark: format!("~{:09x}", number & 0xf_ffff_ffff) })
    }

    /// A format that prints one row of this kind.
    pub(super) fn format(&self, kind: char, fields: &[&str]) -> String {
        let mark = &self.mark;
        let mut out = format!("{mark}{kind}");
        for field in fields {
            out.push_str("#{");
            out.push_str(field);
            out.push('}');
            out.push_str(mark);
            out.push(':');
        }
        out
    }

    /// The rows of `output`: each a kind and its fields. `None` if anything stands between rows: the answer is not whole.
    pub(super) fn rows<'a>(&self, output: &'a [u8]) -> Option<Vec<Row<'a>>> {
        let mut rows: Vec<Row<'a>> = Vec::new();
        let mut pieces = split(output, self.mark.as_bytes()).into_iter();
        if !pieces.next()?.is_empty() {
            return None;
        }
        for piece in pieces {
            match piece.split_first()? {
                // The end of a field; the next one begins here, or it is the line break behind the row.
                (b':', rest) => rows.last_mut()?.fields.push(rest),
                (&kind, rest) => rows.push(Row { kind: char::from(kind), fields: vec![rest] }),
            }
        }
        for row in &mut rows {
            // Behind the last field's end stands the line break alone.
            if row.fields.pop()? != b"\n" {
                return None;
            }
        }
        Some(rows)
    }
}

/// One row.
pub(super) struct Row<'a> {
    pub(super) kind: char,
    pub(super) fields: Vec<&'a [u8]>,
}

fn split<'a>(text: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at + mark.len() <= text.len() {
        match text[at..].iter().position(|&byte| byte == mark[0]) {
            None => break,
            Some(ahead) => at += ahead,
        }
        if text[at..].starts_with(mark) {
            pieces.push(&text[start..at]);
            at += mark.len();
            start = at;
        } else {
            at += 1;
        }
    }
    pieces.push(&text[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn print(frame: &Frame, rows: &[(char, Vec<Vec<u8>>)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (kind, fields) in rows {
            out.extend(format!("{}{kind}", frame.mark).bytes());
            for field in fields {
                out.extend(field);
                out.extend(format!("{}:", frame.mark).bytes());
            }
            out.push(b'\n');
        }
        out
    }

    proptest! {
        #[test]
        fn any_fields_come_back_as_they_were(
            rows in proptest::collection::vec(
                (proptest::char::range('A', 'Z'), proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 1..5)),
                0..6,
            )
        ) {
            let frame = Frame { mark: "~0123456789".into() };
            let output = print(&frame, &rows);
            let parsed = frame.rows(&output).unwrap();
            prop_assert_eq!(parsed.len(), rows.len());
            for (row, (kind, fields)) in parsed.iter().zip(&rows) {
                prop_assert_eq!(row.kind, *kind);
                prop_assert_eq!(row.fields.iter().map(|field| field.to_vec()).collect::<Vec<_>>(), fields.clone());
            }
        }

        #[test]
        fn a_cut_answer_is_never_taken_for_a_whole_row(cut in 1..40_usize) {
            let frame = Frame { mark: "~0123456789".into() };
            let output = print(&frame, &[('S', vec![b"a name".to_vec(), b"x".to_vec()])]);
            let short = &output[..output.len() - cut.min(output.len() - 1)];
            prop_assert!(frame.rows(short).is_none());
        }
    }

    #[test]
    fn a_row_has_no_room_for_strangers() {
        let frame = Frame { mark: "~0123456789".into() };
        assert!(frame.rows(b"warning\n~0123456789Sx~0123456789:\n").is_none());
        assert_eq!(frame.rows(b"").map(|rows| rows.len()), Some(0));
        assert_eq!(frame.format('S', &["session_id", "session_name"]), "~0123456789S#{session_id}~0123456789:#{session_name}~0123456789:");
        assert_ne!(Frame::new().unwrap().mark, Frame::new().unwrap().mark);
    }
}
