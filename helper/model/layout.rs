//! A window's layout, free of any tmux version: parsed from either of tmux's two spellings, given out in the old one.

use serde::{Deserialize, Serialize};

/// How a cell's own cells lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Side by side: `{…}` in tmux's old spelling, `"h"` in 3.8's.
    Columns,
    /// One above the other: `[…]`, `"v"`.
    Rows,
}

/// A rectangle of a layout, in character cells; a pane where it holds no other cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Width in columns.
    pub w: u32,
    /// Height in rows.
    pub h: u32,
    /// Columns from the window's left edge.
    pub x: u32,
    /// Rows from the window's top.
    pub y: u32,
    /// How `cells` lie; none for a pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// The cells inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
}

/// The layout of a window. Floating panes (tmux 3.7 and later) lie over it and belong to no cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Layout(pub Cell);

impl Layout {
    /// Reads `#{window_layout}`: `CSUM,WxH,X,Y…` up to tmux 3.7, JSON from 3.8. `None` if it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let layout = if text.starts_with('{') { parse_json(text)? } else { parse_old(text)? };
        layout.is_sane().then_some(layout)
    }

    /// Whether tmux can have made it. Handed a window of 2³¹ columns, tmux 3.5a fills all memory.
    pub fn is_sane(&self) -> bool {
        is_sane(&self.0, 0)
    }

    /// The old spelling with its checksum, which every tmux from 3.2 to 3.8 takes in `select-layout`.
    pub fn to_tmux(&self) -> String {
        let mut body = String::new();
        let mut number = 0;
        print_cell(&self.0, &mut body, &mut number);
        format!("{:04x},{body}", checksum(&body))
    }

    /// How many panes it places.
    pub fn pane_count(&self) -> usize {
        leaves(&self.0)
    }
}

/// tmux's own bound for a window's width and height (`WINDOW_MAXIMUM`).
pub const LARGEST: u32 = 10_000;

/// Deeper trees than this are refused: no real screen has room for one, and the record must stay within what JSON readers nest (128).
const MAX_DEPTH: usize = 50;

fn parse_old(text: &str) -> Option<Layout> {
    let (_checksum, body) = text.split_once(',')?;
    let mut rest = body;
    let cell = parse_cell(&mut rest, 0)?;
    // 3.7 adds the floating panes as `<…>` behind the tree.
    (rest.is_empty() || rest.starts_with('<')).then_some(Layout(cell))
}

fn is_sane(cell: &Cell, depth: usize) -> bool {
    let sizes = [cell.w, cell.h].into_iter().all(|size| (1..=LARGEST).contains(&size));
    let places = [cell.x, cell.y].into_iter().all(|place| place <= LARGEST);
    let inner = if cell.split.is_some() { cell.cells.len() > 1 } else { cell.cells.is_empty() };
    depth <= MAX_DEPTH && sizes && places && inner && cell.cells.iter().all(|cell| is_sane(cell, depth + 1))
}

fn parse_cell(rest: &mut &str, depth: usize) -> Option<Cell> {
    if depth > MAX_DEPTH {
        return None;
    }
    let w = number(rest)?;
    expect(rest, 'x')?;
    let h = number(rest)?;
    expect(rest, ',')?;
    let x = number(rest)?;
    expect(rest, ',')?;
    let y = number(rest)?;
    // A pane's number follows as `,N`; what looks like it may be the next cell's `,WxH`.
    if let Some(after) = rest.strip_prefix(',') {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && !after[digits..].starts_with('x') {
            *rest = &after[digits..];
        }
    }
    let (split, close) = match rest.chars().next() {
        Some('{') => (Split::Columns, '}'),
        Some('[') => (Split::Rows, ']'),
        _ => return Some(Cell { w, h, x, y, split: None, cells: Vec::new() }),
    };
    *rest = &rest[1..];
    let mut cells = vec![parse_cell(rest, depth + 1)?];
    while rest.starts_with(',') {
        *rest = &rest[1..];
        cells.push(parse_cell(rest, depth + 1)?);
    }
    expect(rest, close)?;
    Some(Cell { w, h, x, y, split: Some(split), cells })
}

fn number(rest: &mut &str) -> Option<u32> {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    number.parse().ok()
}

fn expect(rest: &mut &str, wanted: char) -> Option<()> {
    *rest = rest.strip_prefix(wanted)?;
    Some(())
}

/// tmux 3.8's spelling: `{"V":2,"L":{"t":"v|h|p","w","h","x","y","c":[…]}}`.
#[derive(Deserialize)]
struct Version2 {
    #[serde(rename = "L")]
    tree: Node,
}

#[derive(Deserialize)]
struct Node {
    t: String,
    w: u32,
    h: u32,
    x: u32,
    y: u32,
    #[serde(default)]
    c: Vec<Node>,
    /// Present on a floating pane.
    #[serde(default)]
    z: Option<serde_json::Value>,
}

fn parse_json(text: &str) -> Option<Layout> {
    let parsed: Version2 = serde_json::from_str(text).ok()?;
    from_node(parsed.tree).map(Layout)
}

/// `None` for a floating pane, which has no place in the tree.
fn from_node(node: Node) -> Option<Cell> {
    if node.z.is_some() {
        return None;
    }
    let Node { w, h, x, y, .. } = node;
    let split = match node.t.as_str() {
        "h" => Split::Columns,
        "v" => Split::Rows,
        _ => return Some(Cell { w, h, x, y, split: None, cells: Vec::new() }),
    };
    let mut cells: Vec<Cell> = node.c.into_iter().filter_map(from_node).collect();
    match cells.len() {
        0 => None,
        // The rest of this split floats.
        1 => cells.pop().map(|only| Cell { w, h, x, y, ..only }),
        _ => Some(Cell { w, h, x, y, split: Some(split), cells }),
    }
}

fn print_cell(cell: &Cell, out: &mut String, number: &mut u32) {
    use std::fmt::Write as _;
    let _ = write!(out, "{}x{},{},{}", cell.w, cell.h, cell.x, cell.y);
    let (open, close) = match cell.split {
        None => {
            let _ = write!(out, ",{number}");
            *number += 1;
            return;
        }
        Some(Split::Columns) => ('{', '}'),
        Some(Split::Rows) => ('[', ']'),
    };
    out.push(open);
    for (at, inner) in cell.cells.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        print_cell(inner, out, number);
    }
    out.push(close);
}

/// tmux's `layout_checksum`: rotate right by one within 16 bits, add the byte.
fn checksum(body: &str) -> u16 {
    body.bytes().fold(0_u16, |sum, byte| sum.rotate_right(1).wrapping_add(u16::from(byte)))
}

fn leaves(cell: &Cell) -> usize {
    if cell.split.is_none() { 1 } else { cell.cells.iter().map(leaves).sum() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Printed by tmux 3.3a for three panes.
    const OLD: &str = "77dd,100x30,0,0{50x30,0,0,0,49x30,51,0[49x15,51,0,1,49x14,51,16,2]}";
    /// Printed by tmux 3.8 for the same three panes.
    const NEW: &str = r#"{"V":2,"L":{"t":"h","w":100,"h":30,"x":0,"y":0,"c":[{"t":"p","w":50,"h":30,"x":0,"y":0,"a":true,"i":0,"I":"%0"},{"t":"v","w":49,"h":30,"x":51,"y":0,"c":[{"t":"p","w":49,"h":15,"x":51,"y":0,"l":1,"i":1,"I":"%1"},{"t":"p","w":49,"h":14,"x":51,"y":16,"l":0,"i":2,"I":"%2"}]}]}}"#;

    #[test]
    fn both_spellings_of_one_window_are_one_layout() {
        let old = Layout::parse(OLD).unwrap();
        assert_eq!(Layout::parse(NEW).unwrap(), old);
        assert_eq!(old.to_tmux(), OLD);
        assert_eq!(old.pane_count(), 3);
    }

    #[test]
    fn floating_panes_are_left_out_of_the_tree() {
        let one = Layout::parse("b25d,80x24,0,0,0<20x5,3,3,1>").unwrap();
        assert_eq!(one.pane_count(), 1);
        let json = r#"{"V":2,"L":{"t":"h","w":80,"h":24,"x":0,"y":0,"c":[{"t":"p","w":80,"h":24,"x":0,"y":0},{"t":"p","w":20,"h":5,"x":3,"y":3,"z":0}]}}"#;
        assert_eq!(Layout::parse(json).unwrap(), one);
    }

    #[test]
    fn what_is_no_layout_is_refused() {
        for bad in ["", "x", "b25d", "b25d,80x24", "b25d,80x24,0,0{", "b25d,80x24,0,0,0}", "{}", r#"{"V":2}"#] {
            assert_eq!(Layout::parse(bad), None, "{bad}");
        }
        let deep = format!("0000,{}", "1x1,0,0{".repeat(100_000));
        assert_eq!(Layout::parse(&deep), None);
    }

    fn any_cell() -> impl Strategy<Value = Cell> {
        let numbers = (1..500_u32, 1..500_u32, 0..500_u32, 0..500_u32);
        let leaf = numbers.clone().prop_map(|(w, h, x, y)| Cell { w, h, x, y, split: None, cells: Vec::new() });
        leaf.prop_recursive(4, 24, 4, move |inner| {
            (numbers.clone(), any::<bool>(), proptest::collection::vec(inner, 2..4)).prop_map(|((w, h, x, y), columns, cells)| {
                let split = Some(if columns { Split::Columns } else { Split::Rows });
                Cell { w, h, x, y, split, cells }
            })
        })
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_the_identity(cell in any_cell()) {
            let layout = Layout(cell);
            prop_assert_eq!(Layout::parse(&layout.to_tmux()), Some(layout));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Layout::parse(&text);
        }
    }
}
